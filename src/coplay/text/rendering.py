"""Small pieces of text: numbers, lists, lines."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float) -> str:
    """A payoff as a person writes it: ``3``, ``-1``, ``0.5``."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def lines(*parts: str) -> str:
    """The parts that are not empty, a line each."""
    return "\n".join(part for part in parts if part)


def counted(n: int, word: str) -> str:
    """``1 seed``, ``2 seeds``, ``2 processes``."""
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{n:,} {word if n == 1 else plural}"


def spans(numbers: Sequence[int]) -> str:
    """``0 to 4, 7``: whole numbers that follow one another as a span, two of them as ``0, 1``."""
    found: list[list[int]] = []
    for one in numbers:
        if found and one == found[-1][1] + 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    return ", ".join(str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in found)


def in_round(index: int, *, dated: bool, word: str = "round") -> str:
    """How a sentence about a round begins: ``In the last round``, or ``In round 3`` of the one with index 2; ``word`` is what a round is called."""
    return f"In {word} {index + 1}" if dated else f"In the last {word}"


def join(words: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
