"""A byte-level BPE that learns the prompts' boiler-plate as single tokens.

Digits and capitals that stand alone are cut out before BPE sees the text and nothing else is: there is no splitting at spaces. So
whatever the prompts always say between two labels or digits can merge into one token, and a label, wherever it stands, is always
the same token.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, BOS, EOS, TURN, END = "<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"
VOCABULARY = 1024

ATOMS = "[0-9]|[A-Z](?![a-z]|[A-Z ]*>)"
"""A digit, or a capital that neither begins a word nor stands in a tag such as ``<STATE>``."""

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] != 'user' %}{{ raise_exception('This model reads user turns only.') }}{% endif %}"
    "{{ '<start_of_turn>user\\n' + message['content'] + '\\n<end_of_turn>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)
"""The text of ``coplay.text.chat.gemma``."""


def train_tokenizer(
    prompts: Iterable[str],
    *,
    max_length: int,
    atoms: str = ATOMS,
    chat_template: str = CHAT_TEMPLATE,
    vocabulary: int = VOCABULARY,
) -> PreTrainedTokenizerFast:
    """Learn the vocabulary from ``prompts``.

    Args:
        prompts: complete prompts with their chat tags, as varied as those the model will read.
        max_length: the model's number of positions.
        atoms: a pattern of what is cut out before phrases are learnt.
        chat_template: how a conversation becomes a prompt.
        vocabulary: tokens, at most.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(atoms), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, BOS, EOS, TURN, END]
    # The trainer does not cut special tokens out of its corpus, so it is done here: no phrase may reach across one.
    tokenizer.train_from_iterator(
        _without(special, prompts),
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        extra_special_tokens=[TURN, END],
        chat_template=chat_template,
        clean_up_tokenization_spaces=False,
        model_max_length=max_length,
        padding_side="left",
    )


def _without(special: list[str], prompts: Iterable[str]) -> Iterable[str]:
    for prompt in prompts:
        for tag in special:
            prompt = prompt.replace(tag, "\x00")
        yield from (piece for piece in prompt.split("\x00") if piece)
