"""How a conversation is put to a chat template, and whether all of it is in the text that the template makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from coplay.text.chat import ChatMessage, Role
from coplay.text.final_line import THINK

MARK = "Qzx{}jkv"
"""A text that no template writes."""


class Arrangement(NamedTuple):
    """How messages are put to a template."""

    folded: bool = False
    """The system's message at the head of the first turn, for templates without a system turn."""
    merged: bool = False
    """Messages of one role that follow one another in one turn, for templates in which roles alternate."""
    parts: bool = False
    """Contents as lists of parts, for templates of models that also read pictures."""


def arrangements(shape: Sequence[str]) -> list[Arrangement]:
    """The ways to put a conversation to a template, the plainest first."""
    folds = [False, True] if shape[0] == "system" and len(shape) > 1 else [False]
    return [
        Arrangement(folded, merged, parts)
        for parts in (False, True)
        for merged in (False, True)
        for folded in folds
        if not merged or any(a == b for a, b in pairwise(shape[folded:]))
    ]


def arranged(messages: Sequence[ChatMessage], arrangement: Arrangement, glue: str) -> list[ChatMessage]:
    """The messages as they are put to a template; ``glue`` stands between the rules and what they are folded into."""
    found = list(messages)
    if arrangement.folded and found[0].role == "system":
        rules, first, *later = found
        head = first._replace(text=f"{rules.text}{glue}{first.text}")
        found = [head, *later] if first.role == "user" else [ChatMessage("user", rules.text), first, *later]
    if arrangement.merged:
        groups = [(role, [one.text for one in group]) for role, group in groupby(found, key=lambda one: one.role)]
        found = [ChatMessage(role, "\n\n".join(texts)) for role, texts in groups]
    return found


def marks_of(shape: Sequence[Role]) -> list[ChatMessage]:
    """A conversation of messages that are found wherever a template puts them."""
    return [ChatMessage(role, MARK.format(i)) for i, role in enumerate(shape)]


def missing(messages: Sequence[ChatMessage], text: str) -> str | None:
    """The beginning of a message that a text does not hold, white space around it aside; None for none.

    Of what a model has said itself, a thought may be missing: templates leave out those of earlier turns.
    """
    wanted = [one.text.rpartition(THINK[1])[2] if one.role == "assistant" else one.text for one in messages]
    for one in sorted((one.strip() for one in wanted), key=len, reverse=True):
        before, found, behind = text.partition(one) if one else (text, "", "")
        if one and not found:
            return repr(one[:60])
        text = f"{before}\0{behind}" if one else text
    return None


def fault(shape: Sequence[Role], text: str) -> str | None:
    """What is wrong with the text that a template makes of marks; None for nothing. A system's message may stand anywhere."""
    conversation = f"a conversation of {', '.join(shape)}"
    if missing(marks_of(shape), text):
        return f"leaves out or changes a message (of {conversation})"
    places = [text.index(one.text) for one in marks_of(shape) if one.role != "system"]
    return None if places == sorted(places) else f"puts the turns of {conversation} in another order"
