"""Strict parsing of replies. A reply that is not exactly in the requested form gives None, which is data, not an error.

A reply is untrusted text. Nothing in it is evaluated, numbers outside the offered range are refused, and what it may carry to another seat's
prompt is one line without tags.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TypeVar

ActionT = TypeVar("ActionT")

MESSAGE = ("<<message_start>>", "<<message_end>>")
"""The tags around a message."""

PROPOSAL = ("<<proposal_start>>", "<<proposal_end>>")
"""The tags around a proposal."""

MAX_MESSAGE_CHARACTERS = 500
"""Characters a message may have."""

_NUMBER = (
    "(?:0|[1-9][0-9]{0,2})"  # one spelling a number: 010 is none; ASCII alone: \d would take digits of every script
)
_SPACE = "[ \t\n]*"  # ASCII alone, as above


def parse_label(reply: str, labels: Mapping[str, ActionT]) -> ActionT | None:
    """The action whose label the reply is, e.g. ``<A>``; white space around it is ignored.

    Args:
        reply: as it came.
        labels: label to action.
    """
    return labels.get(reply.strip(" \t\n"))


def parse_message(reply: str, *, max_characters: int = MAX_MESSAGE_CHARACTERS) -> str | None:
    """The text between the tags of a message, as one line.

    Refused are: anything but white space outside the tags, tags within, more than ``max_characters`` characters, and characters that are not shown
    (control and format characters, surrogates, private ones), with which a text can look like another one. Runs of white space become one
    space, so no message can pose as a further line of a prompt.
    """
    text = _between(reply, MESSAGE)
    if text is None or len(text) > max_characters or "<<" in text or ">>" in text:
        return None
    return shown_line(text)


def shown_line(text: str) -> str | None:
    """A text as one line with single spaces; None if it holds characters that are not shown, such as control and format characters."""
    line = " ".join(text.split())
    return line if all(_is_shown(character) for character in line) else None


def parse_amount(reply: str, *, most: int) -> int | None:
    """The number between the tags of a proposal for a single item, 0 to ``most``."""
    text = _between(reply, PROPOSAL)
    if text is None or not re.fullmatch(_NUMBER, text):
        return None
    return int(text) if int(text) <= most else None


def parse_amounts(reply: str, items: Sequence[str], *, most: int) -> dict[str, int] | None:
    """The numbers between the tags of a proposal for several items, e.g. ``10 hats, 0 books, 5 balls``: every item once, in any order."""
    text = _between(reply, PROPOSAL)
    if text is None:
        return None
    found: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(f"{_SPACE}({_NUMBER}) ([a-z]+){_SPACE}", part)
        if match is None or match[2] in found or match[2] not in items or int(match[1]) > most:
            return None
        found[match[2]] = int(match[1])
    return found if len(found) == len(items) else None


def _between(reply: str, tags: tuple[str, str]) -> str | None:
    """The text between two tags, trimmed, if the reply is that and white space only, and each tag occurs once."""
    start, end = tags
    text = reply.strip(" \t\n")
    if not (text.startswith(start) and text.endswith(end) and text.count(start) == text.count(end) == 1):
        return None
    return text[len(start) : -len(end)].strip(" \t\n")


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
