"""Conversations and prompts as models read them, with every message in them, and the tokens at which replies end."""

import contextlib
from datetime import date
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from text.family_templates import ENDS, FAMILIES
from text.small_tokenizers import byte_tokenizer, family
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from coplay.conformance.players import example_requests
from coplay.errors import UsageError
from coplay.games.catalogue import GAMES
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory, Observation
from coplay.games.normal_form import NormalFormGame
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.ends import ends_of
from coplay.models.generation import Generator
from coplay.models.loading import encode, load_tokenizer
from coplay.models.scoring import Scorer
from coplay.text.chat import DAY, ChatFormat, ChatMessage, PromptParts, gemma, llama
from coplay.text.model_chat import Chat

MESSAGES = [
    ChatMessage("user", "Rules.\nSay something."),
    ChatMessage("assistant", "<A>"),
    ChatMessage("user", "And now?"),
]
TOLD = [ChatMessage("system", "Be brief."), *MESSAGES]
PARTS = PromptParts("Rules.", "Counts.", "Last round.", "Reply with A or B.", ("A", "B"))
CHATS = {name: Chat(family(name)) for name in FAMILIES}


def with_template(template: Any, *special: str) -> Chat:
    return Chat(byte_tokenizer([*special, "</s>"], template, eos="</s>"))


# --- Printed forms -----------------------------------------------------------------------------------------------------------


def test_gemmas_turns() -> None:
    assert Chat(None, ChatFormat.GEMMA).conversation(MESSAGES) == (
        "<bos><start_of_turn>user\nRules.\nSay something.<end_of_turn>\n<start_of_turn>model\n<A><end_of_turn>\n"
        "<start_of_turn>user\nAnd now?<end_of_turn>\n<start_of_turn>model\n"
    )
    told = Chat(None, ChatFormat.GEMMA).conversation(TOLD)
    assert told.startswith("<bos><start_of_turn>user\nBe brief.\n\nRules.\nSay something.<end_of_turn>\n")


def test_llamas_turns() -> None:
    text = Chat(None, ChatFormat.LLAMA).conversation(TOLD)
    assert text.startswith("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>")
    assert text.endswith("And now?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")


def test_a_named_form_is_printed_whatever_the_model_has() -> None:
    for name in FAMILIES:
        assert Chat(family(name), ChatFormat.GEMMA).prompt(PARTS) == gemma(PARTS)
        assert Chat(family(name), ChatFormat.LLAMA).prompt(PARTS) == llama(PARTS)


def test_the_models_own_template_is_used_unless_a_form_is_named() -> None:
    """Also of Gemma and Llama."""
    assert (
        CHATS["gemma2"].prompt(PARTS) == f"<bos><start_of_turn>user\n{PARTS.text}<end_of_turn>\n<start_of_turn>model\n"
    )
    assert all(chat.format is ChatFormat.TEMPLATE for chat in CHATS.values())


def test_no_form_is_told_by_the_vocabulary() -> None:
    base = byte_tokenizer(["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"], None, bos="<bos>", eos="<eos>")
    for form in (None, ChatFormat.TEMPLATE):
        with pytest.raises(
            UsageError, match="has no chat template; use an instruction-tuned model, or set chat=gemma"
        ) as caught:
            Chat(base, form)
        assert "\n" not in str(caught.value)
    assert Chat(base, ChatFormat.GEMMA).prompt(PARTS) == gemma(PARTS)
    assert base.convert_ids_to_tokens(sorted(Chat(base, ChatFormat.GEMMA).stop)) == ["<eos>", "<end_of_turn>"]


def test_of_several_templates_it_is_the_default() -> None:
    several = {"default": FAMILIES["zephyr"], "tool_use": FAMILIES["chatml"]}
    assert with_template(several).prompt(PARTS) == with_template(FAMILIES["zephyr"]).prompt(PARTS)
    with pytest.raises(UsageError, match="several chat templates"):
        with_template({"rag": FAMILIES["zephyr"], "tool_use": FAMILIES["chatml"]})


# --- Every message is in the text --------------------------------------------------------------------------------------------


def left_out(messages: list[ChatMessage], text: str) -> list[str]:
    return [one.text for one in messages if one.text.strip() not in text]


@cache
def conversations() -> list[tuple[str, list[ChatMessage]]]:
    """The rules, and what is read with a system prompt, in every game, seat and phase."""
    return [
        (game.rules(seat).strip(), [ChatMessage("system", "You are kind."), *chat_messages(game, request, memory)])
        for game in GAMES.values()
        for seat in game.seats
        for memory in (Memory.CHAT, Memory.LAST_ROUND)
        for request in example_requests(game, seat, memory)
    ]


@pytest.mark.parametrize("name", ["llama2", "gemma2", "mistral3", "qwen3", "zephyr", "phi3_no_system", "parts_only"])
def test_rules_and_messages_of_every_game_are_in_the_text(name: str) -> None:
    chat = CHATS[name]
    for rules, messages in conversations():
        text = chat.conversation(messages)
        assert left_out(messages, text) == [] and rules in text
    for game in GAMES.values():
        if isinstance(game, NormalFormGame):
            parts = game.prompt_parts(game.seats[0], Observation())
            text = chat.prompt(parts, system="You are kind.")
            assert all(one.strip() in text for one in (parts.rules, parts.situation, "You are kind."))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_conversation_ends_where_a_reply_begins(name: str) -> None:
    chat = CHATS[name]
    begun, said = chat.conversation(MESSAGES[:1]), chat.conversation(MESSAGES)
    assert said.count("Rules.") == said.count("And now?") == 1
    if name not in ("qwen3", "deepseek"):
        opening = begun.partition("something.")[2].rstrip()
        assert said.rstrip().endswith(opening[opening.rfind("\n") + 1 :])


SILENT = {
    "no system turn": "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "raises at one": "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "trims": "{% for m in messages %}[{{ m.role }}]{{ m.content.strip() }}</s>{% endfor %}[assistant]",
}

CUTTING = {
    "drops earlier turns": "{% for m in messages[-1:] %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "drops replies": "{% for m in messages if m.role != 'assistant' %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "cuts": "{% for m in messages %}[{{ m.role }}]{{ m.content[:9] }}</s>{% endfor %}[assistant]",
    "in small letters": "{% for m in messages %}[{{ m.role }}]{{ m.content|lower }}</s>{% endfor %}[assistant]",
    "escapes": "{% for m in messages %}[{{ m.role }}]{{ m.content|e }}</s>{% endfor %}[assistant]",
    "one line": "{% for m in messages %}[{{ m.role }}]{{ m.content.split()|join(' ') }}</s>{% endfor %}[assistant]",
    "nothing": " ",
}


@pytest.mark.parametrize("case", SILENT)
def test_a_system_prompt_without_a_turn_heads_the_first_message(case: str) -> None:
    chat = with_template(SILENT[case])
    first = "[system]Be brief.</s>[user]" if case == "trims" else "[user]Be brief.\n\n"
    assert chat.conversation(TOLD) == (
        f"{first}Rules.\nSay something.</s>[assistant]<A></s>[user]And now?</s>[assistant]"
    )
    assert "Rules." in chat.prompt(PARTS) and "Kind." in chat.prompt(PARTS, system="Kind.")


@pytest.mark.parametrize("case", CUTTING)
def test_a_template_that_leaves_out_or_changes_a_message_is_refused(case: str) -> None:
    with pytest.raises(UsageError, match="leaves out or changes a message") as caught:
        with_template(CUTTING[case]).conversation(TOLD)
    assert "\n" not in str(caught.value)


def test_a_short_reply_that_is_left_out_is_missed_though_its_letter_is_everywhere() -> None:
    with pytest.raises(UsageError, match="leaves out or changes a message"):
        with_template(CUTTING["drops replies"]).conversation([MESSAGES[0], ChatMessage("assistant", "a"), MESSAGES[2]])


def test_a_message_that_a_template_changes_by_its_content_is_refused_then() -> None:
    chat = with_template(
        "{% for m in messages %}[{{ m.role }}]{{ m.content.split('STOP')[0] }}</s>{% endfor %}[assistant]"
    )
    assert "go on" in chat.conversation([ChatMessage("user", "go on")])
    with pytest.raises(UsageError, match="leaves out or changes"):
        chat.conversation([ChatMessage("user", "go STOP on")])


def test_turns_of_one_role_are_joined_where_roles_alternate() -> None:
    twice = [*MESSAGES, ChatMessage("user", "Well?")]
    assert "And now?\n\nWell?" in CHATS["mistral1"].conversation(twice)
    assert "And now?<|im_end|>\n<|im_start|>user\nWell?" in CHATS["chatml"].conversation(twice)


def test_a_template_that_refuses_is_reported() -> None:
    chat = Chat(load_tokenizer("tiny"))
    with pytest.raises(UsageError, match="chat template does not take this conversation"):
        chat.conversation(MESSAGES)
    single = [{"role": "user", "content": MESSAGES[0].text}]
    assert chat.conversation(MESSAGES[:1]) == load_tokenizer("tiny").apply_chat_template(
        single, tokenize=False, add_generation_prompt=True
    )


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(FAMILIES)),
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), min_size=1, max_size=5),
    system=st.booleans(),
)
def test_any_conversation_is_whole_or_refused(name: str, texts: list[str], system: bool) -> None:
    chat = CHATS[name]
    roles = ["user", "assistant"] * len(texts)
    messages = [ChatMessage("system", "Be brief.")] * system
    messages += [ChatMessage(role, chat.defused(text)) for role, text in zip(roles, texts, strict=False)]  # type: ignore[arg-type]
    with contextlib.suppress(UsageError):
        assert left_out(messages, chat.conversation(messages)) == []


# --- Dates ---------------------------------------------------------------------------------------------------------------------


def test_dates_are_the_configs() -> None:
    assert "Today Date: 01 Jan 2025" in Chat(family("llama3")).prompt(PARTS) and DAY == "2025-01-01"
    assert "Today Date: 28 Feb 2031" in Chat(family("llama3"), day="2031-02-28").conversation(MESSAGES)
    assert str(date.today().year) not in "".join(chat.conversation(MESSAGES) for chat in CHATS.values())


def test_a_template_that_tells_the_time_is_the_same_at_any_time() -> None:
    chat = with_template(
        "{{ strftime_now('%Y-%m-%d %H:%M:%S.%f') }}{% for m in messages %}{{ m.content }}</s>{% endfor %}"
    )
    assert chat.conversation(MESSAGES[:1]).startswith("2025-01-01 00:00:00.000000")


# --- Where replies end ---------------------------------------------------------------------------------------------------------


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
