"""The tokenizer: that of the other embedded model, with other atoms and a template for conversations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tiny.tokenizer import train_tokenizer
from transformers import PreTrainedTokenizerFast

from coplay.text.parsing import MESSAGE, PROPOSAL

_ITEM = "(?:hats|books|balls)"

ATOMS = "|".join(
    (
        *map(re.escape, (*MESSAGE, *PROPOSAL)),
        "<[A-Z]>",
        f"(?:10|(?<![0-9])[0-9]) {_ITEM}(?:, )?",
        f"{_ITEM} (?:10?)(?:, )?",
        "10(?![0-9])|[0-9]",
        "rock|paper|scissors",
    )
)
"""What is always a token of its own wherever it stands: tags, labels, so many of an item, an item's worth, digits and 10, hands."""

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' }}"
    "{{ message['content'] + '<end_of_turn>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)
"""Gemma's turns, the model's own among them."""


def train_talk_tokenizer(prompts: Iterable[str], replies: Iterable[str], *, max_length: int) -> PreTrainedTokenizerFast:
    """Learn the vocabulary from prompts and replies."""

    def texts() -> Iterator[str]:
        yield from prompts
        yield from replies

    return train_tokenizer(texts(), max_length=max_length, atoms=ATOMS, chat_template=CHAT_TEMPLATE)
