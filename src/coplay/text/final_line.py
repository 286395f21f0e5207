"""Replies that may reason before they act: the action stands on the last line that is not empty (SEPO, section 3.4).

Thoughts between ``<think>`` and ``</think>`` are no part of a reply, whatever they hold; a reply whose thought does not end has no last line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from coplay.text.rendering import join

ActionT = TypeVar("ActionT")

THINK = ("<think>", "</think>")
"""The tags around a thought."""

_THOUGHT = re.compile(f"{THINK[0]}.*?{THINK[1]}", re.DOTALL)


def without_thoughts(text: str) -> str | None:
    """A reply without its thoughts; None while one is not closed.

    A closing tag without an opening one ends a thought that the prompt began: what stands before it is dropped.
    """
    rest = _THOUGHT.sub("", text)
    if THINK[0] in rest:
        return None
    return rest.rpartition(THINK[1])[2]


def final_line(text: str) -> str | None:
    """The last line that is not empty, trimmed; None if there is none, or while a thought is not closed."""
    said = without_thoughts(text)
    lines = [] if said is None else [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else None


def parse_final(text: str, actions: Mapping[str, ActionT]) -> ActionT | None:
    r"""The action whose word stands on the last line, with anything around it; None if no word does, or more than one.

    Words are matched whole and as they are written: the ``C`` of another word means nothing, and neither does ``cooperate`` in a sentence.

    Args:
        text: the reply as it came.
        actions: word to action.

    Example:
        >>> parse_final("They defected last time, so I do too.\nAction: DEFECT", {"COOPERATE": "cooperate", "DEFECT": "defect"})
        'defect'
    """
    line = final_line(text)
    if line is None:
        return None
    words = "|".join(re.escape(word) for word in sorted(actions, key=len, reverse=True))
    found = re.findall(rf"(?<![\w\-.])(?:{words})(?![\w\-])(?!\.\d)", line) if words else []
    return actions[found[0]] if len(found) == 1 else None


def ask_for(words: Sequence[str]) -> str:
    """The question for a reply that may reason first and ends with one of a few words."""
    return ask_for_line("your action", join(words, "or"))


def ask_for_line(what: str, form: str) -> str:
    """The same for a reply that ends with anything else on a line of its own; ``form`` says how it is written."""
    return f"Give your reason in a sentence or two, then write {what} on a line of its own: {form}."
