"""Where replies end: at tokens of the model's files and of its template, or at texts where these are no tokens."""

from typing import Any

import pytest
import torch
from text.family_templates import ENDS, FAMILIES
from text.small_tokenizers import byte_tokenizer, family
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from coplay.errors import UsageError
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.ends import ends_of
from coplay.models.generation import Generator
from coplay.models.loading import encode
from coplay.models.scoring import Scorer
from coplay.text.chat import ChatMessage
from coplay.text.model_chat import Chat

CHATS = {name: Chat(family(name)) for name in FAMILIES}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_reply_ends_with_what_the_template_puts_behind_one(name: str) -> None:
    tokenizer, chat = family(name), CHATS[name]
    assert tokenizer.convert_ids_to_tokens(chat.closing) == [ENDS[name]]
    assert {ENDS[name], tokenizer.eos_token} == set(tokenizer.convert_ids_to_tokens(sorted(chat.stop)))


def test_all_ends_of_the_generation_config_count() -> None:
    tokenizer = family("phi3")
    ids = tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|user|>"])
    found = Chat(tokenizer, ends=ends_of(ids)).stop
    assert set(tokenizer.convert_ids_to_tokens(sorted(found))) == {"<|endoftext|>", "<|user|>", "<|end|>"}
    assert [ends_of(one) for one in (None, [], 3, [3, 4.0])] == [set(), set(), {3}, {3, 4}]
    assert ends_of(3, "END") == {3, "END"} and ends_of(None, ["a", "b"]) == {"a", "b"}


@pytest.mark.parametrize("given", [True, "2", [None], [[3]], 2.5, float("inf"), {"a": 1}])
def test_ends_that_are_no_tokens_are_refused(given: object) -> None:
    with pytest.raises(UsageError, match="eos_token_id must be a token's number"):
        ends_of(given)


def test_tokens_that_the_model_does_not_have_end_nothing() -> None:
    tokenizer = family("phi3")
    end = tokenizer.convert_tokens_to_ids("<|end|>")
    assert Chat(tokenizer, ends=[-1, 99_999], size=len(tokenizer)).stop == Chat(tokenizer).stop
    fewer = Chat(tokenizer, ends=[-1, 5, 99_999], size=end)
    assert end not in fewer.stop and 5 in fewer.stop and max(fewer.closing) < end


BARE = "{% for m in messages %}{{ m.content ~ '\n' }}{% endfor %}"


def test_a_model_whose_replies_nothing_ends_is_refused() -> None:
    chat = Chat(byte_tokenizer([], BARE))
    assert (chat.stop, chat.stop_texts) == (frozenset(), ())
    with pytest.raises(UsageError, match="nothing ends the model's replies"):
        chat.closing  # noqa: B018
    other = Chat(byte_tokenizer([], BARE), ends=[7])
    assert other.closing == (7,) and other.stop == {7}


TEXT_ENDS = {  # the template, and the texts that end a reply
    "words of the next turn": (FAMILIES["falcon"], ("\nUser:",), "<|endoftext|>"),
    "an end of text that is text": (FAMILIES["zephyr"].replace("eos_token", "'</s>'"), ("</s>",), "</s>"),
    "ChatML in plain text": (FAMILIES["chatml"], ("<|im_end|>",), "<|im_end|>"),
    "headings": (
        "{% for m in messages %}{{ '### ' + ('Human' if m.role != 'assistant' else 'Assistant') + ': ' + m.content + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '### Assistant:' }}{% endif %}",
        ("\n### Human:",),
        "<|endoftext|>",
    ),
    "Llama 2's": (
        FAMILIES["llama2"].replace("eos_token", "''").replace("bos_token", "''"),
        ("[INST]",),
        "<|endoftext|>",
    ),
    "a role and a mark": (BARE.replace("m.content", "m.role ~ ': ' ~ m.content"), ("\nuser:",), "<|endoftext|>"),
}


@pytest.mark.parametrize("case", TEXT_ENDS)
def test_ends_that_are_no_token_are_texts(case: str) -> None:
    """They end a reply where it is sampled, and behind one in training unless nothing but another turn brings them."""
    template, texts, closing = TEXT_ENDS[case]
    tokenizer = byte_tokenizer(["<|endoftext|>"], template, eos="<|endoftext|>")
    chat = Chat(tokenizer)
    assert tuple(text if text in texts else text.strip() for text in chat.stop_texts) == texts
    assert chat.stop == {tokenizer.eos_token_id} and tokenizer.decode(chat.closing) == closing


def test_families_with_a_token_behind_replies_need_no_text() -> None:
    assert {name: CHATS[name].stop_texts for name in FAMILIES if CHATS[name].stop_texts} == {"falcon": ("\nUser:",)}


@pytest.mark.parametrize("name", ["phi3", "phi4", "chatml", "gemma3", "llama3", "zephyr"])
def test_replies_end_where_those_of_generate_end(name: str) -> None:
    """Random models that say letters and ends: each reply is the one of ``generate`` with the template's end, token by token."""
    tokenizer = family(name)
    lengths = {length for seed in range(12) for length in reply_lengths(tokenizer, ENDS[name], seed)}
    assert min(lengths) < 20


def reply_lengths(tokenizer: Any, tag: str, seed: int) -> list[int]:
    """The tokens of the replies of a random model, each the same as that of ``generate``."""
    end = tokenizer.convert_tokens_to_ids(tag)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    model = LlamaForCausalLM(config).eval()
    said = [end, tokenizer.eos_token_id, *(encode(tokenizer, letter)[0] for letter in "abcdef")]
    with torch.no_grad():
        some_4H = torch.randn(4, 16) * 10
        model.lm_head.weight.zero_()
        model.lm_head.weight[said] = torch.cat([some_4H, -some_4H])  # one of them is above all other tokens
    options = GenerationConfig(
        eos_token_id=[end, tokenizer.eos_token_id], pad_token_id=0, max_new_tokens=20, do_sample=False
    )
    chat = Chat(tokenizer)
    generator = Generator(
        Scorer(model, AdapterBank(model, [SlotName("x", 0)], rank=1, alpha=1.0, targets=["q_proj"], top_layers=None)),
        stop=chat.stop,
    )
    lengths = []
    for i in range(2):
        prompt = encode(tokenizer, chat.conversation([ChatMessage("user", f"Question {i * 37}?")]))
        theirs = model.generate(torch.tensor([prompt]), generation_config=options)[0, len(prompt) :].tolist()
        (ours,) = generator.generate([-1], [prompt], torch.full((1, 20), 0.5, dtype=torch.float64), temperature=1e-4)
        assert list(ours.tokens) == theirs
        lengths.append(len(theirs))
    return lengths
