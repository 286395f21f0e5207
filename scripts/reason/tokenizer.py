r"""The tokenizer: that of the other embedded models, with other atoms and a larger vocabulary, so that a reason is a token or a few.

A line break is always a token of its own, and so is each action, so that an action can be told from its reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from talk.tokenizer import CHAT_TEMPLATE
from tiny.tokenizer import train_tokenizer
from transformers import PreTrainedTokenizerFast

VOCABULARY = 3072
"""Tokens, at most."""

LINES = ("- you", "You are", "In every round", "Both of you", "The deck", "Whoever", "Each of you", "Give your reason")
"""How the lines begin that hold words of actions or numbers and are the same in all rounds: rules and questions."""

ATOMS = "|".join(
    (
        "\n",
        f"(?:{'|'.join(LINES)})[^\n]*",
        "COOPERATE|DEFECT|LOW|MEDIUM|HIGH|BET|PASS|CALL|FOLD",
        "(?<![A-Za-z])[JQK](?![A-Za-z])",
        "[0-9] (?:books?|hats?|balls?)",
        "(?:books|hats|balls) [0-9]",
        r"\[(?=[0-9])",
        "(?<=[0-9]), (?=[0-9])",
        r"(?<=[0-9])\]",
        "(?<!-)(?:10|[0-9])",
    )
)
"""What is cut out before phrases are learnt: line breaks and lines of rules, and besides, always a token of its own: the words of actions, cards, so many of
an item, an item's worth, what a demand of several items is written with, numbers up to 10. The numbers of seats are part of their names."""


def train_reason_tokenizer(
    prompts: Iterable[str], replies: Iterable[str], *, max_length: int
) -> PreTrainedTokenizerFast:
    """Learn the vocabulary from prompts and replies."""
    texts = [*prompts, *replies]
    return train_tokenizer(
        texts, max_length=max_length, atoms=ATOMS, chat_template=CHAT_TEMPLATE, vocabulary=VOCABULARY
    )
