"""A vector of whole numbers on the last line of a reply, e.g. ``[2, 0, 1]`` (SEPO, appendix F)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coplay.text.final_line import final_line

_NUMBER = "(?:0|[1-9][0-9]{0,2})"  # one spelling a number, ASCII alone
_SPACE = "[ \t]*"
_VECTOR = re.compile(rf"\[{_SPACE}(-?{_NUMBER}(?:{_SPACE},{_SPACE}-?{_NUMBER})*){_SPACE}\]")


def parse_vector(text: str, most: Sequence[int]) -> tuple[int, ...] | None:
    r"""The one vector on the last line, with anything around it; None if there is none, or more than one.

    Brackets that hold anything but whole numbers are no vector, so ``[books, hats, balls] = [2, 0, 1]`` has one.

    Args:
        text: the reply as it came.
        most: the largest number allowed at each place; the smallest is 0. Any other length, or a number out of range, gives None.

    Example:
        >>> parse_vector("They like hats.\nI demand [2, 0, 1].", most=(3, 1, 4))
        (2, 0, 1)
    """
    line = final_line(text)
    found = [] if line is None else _VECTOR.findall(line)
    if len(found) != 1:
        return None
    numbers = tuple(int(part) for part in found[0].split(","))
    fits = len(numbers) == len(most) and all(0 <= one <= top for one, top in zip(numbers, most, strict=True))
    return numbers if fits else None


def show_vector(numbers: Sequence[object]) -> str:
    """``[2, 0, 1]``."""
    return f"[{', '.join(map(str, numbers))}]"
