"""Text from outside as a terminal may be shown it."""

from __future__ import annotations

import unicodedata

_HARMLESS = frozenset("\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}")
"""Format characters that words and emoji are made with."""


def printable(text: str, *, keep: str = "") -> str:
    r"""Text in which whatever could act on a terminal or hide from a reader is spelled out: escape sequences, line ends, text that runs backwards.

    Letters, marks, spaces and emoji of every script stay as they are. ``\x1b[2J`` becomes the characters ``\``, ``x``, ``1``, ``b``, ``[2J``.

    Args:
        text: what somebody else wrote.
        keep: control characters that may stay, such as a line end in a message of several lines.
    """
    if text.isprintable():  # most texts
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep or is_harmless(letter) else repr(letter)[1:-1]
        for letter in text
    )


def is_harmless(letter: str) -> bool:
    """Whether a character that Python does not print is one of ordinary text."""
    return letter in _HARMLESS or unicodedata.category(letter) == "Zs"
