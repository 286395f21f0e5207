"""Numbers in files: what JSON and TOML can write and no float holds is refused, by its key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_LONG = re.compile(r"[0-9][0-9_]{308}")
"""So many digits in a row may be a whole number that no float holds; the largest float has 309."""

_STRIDE = 30
"""Of a first look, which takes little time: of so many digits in a row, at least ten are among every thirtieth character of a text."""

_SEEN = re.compile(r"[0-9_]{10}")

_BITS = 1024
"""Of the largest whole numbers that floats hold."""

_SHOWN = 20
"""Characters of a number that an error shows."""


@dataclass(frozen=True)
class Unheld:
    """A number that no float holds."""

    text: str
    """As it was written."""

    def __str__(self) -> str:
        if self.text in ("NaN", "Infinity", "-Infinity"):
            return f"{self.text} is no JSON number"
        if self.text.strip("+-") in ("nan", "inf"):
            return f"{self.text} is no finite number"
        return f"{self.text[:_SHOWN]}{'...' * (len(self.text) > _SHOWN)} is too large for a number"


class UnheldError(ValueError):
    """A text has a number that no float holds; its message names the key."""


def loads_finite(text: str) -> object:
    """Parse JSON whose numbers are all finite and held by floats.

    Raises:
        UnheldError: naming the number and its key.
        ValueError: if it is not JSON.
        RecursionError: if it is nested too deeply.
    """
    try:
        found: object = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except UnheldError:
        found = json.loads(text, parse_constant=Unheld, parse_float=_float_or_not, parse_int=_int_or_not)
    except ValueError:
        if _long(text) is None:
            raise
        found = json.loads(text, parse_constant=Unheld, parse_float=_float_or_not, parse_int=_int_or_not)
    else:
        if _long(text) is None:
            return found
    refuse_unheld(found)
    return found


def refuse_unheld(value: object) -> None:
    """Raise UnheldError, naming the key, if there is a number that no float holds somewhere in lists and mappings."""
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        key, one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += [(f"{key}.{name}" if key else str(name), inner) for name, inner in reversed(list(one.items()))]
        elif isinstance(one, list):
            waiting += [(f"{key}[{i}]", inner) for i, inner in reversed(list(enumerate(one)))]
        elif (number := _unheld(one)) is not None:
            raise UnheldError(f"{key[:200]}: {number}" if key else str(number))


def long_number(text: str) -> str | None:
    """Where a text has a number of more digits than Python reads: what an error says of it; None if there is none."""
    found = _long(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return f"line {line}: {Unheld(found.group())}"


def _long(text: str) -> re.Match[str] | None:
    """The first long row of digits in a text."""
    return _LONG.search(text) if _SEEN.search(text[::_STRIDE]) else None


def _unheld(value: object) -> Unheld | None:
    if isinstance(value, Unheld):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return Unheld(str(value))
    if isinstance(value, int) and value.bit_length() >= _BITS:
        try:
            float(value)
        except OverflowError:
            return Unheld(_written(value))
    return None


def _written(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more decimal digits than Python writes; TOML has whole numbers in other bases
        return hex(value)


def _refused(constant: str) -> float:
    raise UnheldError(constant)


def _finite(number: str) -> float:
    found = float(number)
    if not math.isfinite(found):
        raise UnheldError(number)
    return found


def _float_or_not(number: str) -> float | Unheld:
    found = float(number)
    return found if math.isfinite(found) else Unheld(number)


def _int_or_not(number: str) -> int | Unheld:
    return Unheld(number) if len(number) > 310 or not math.isfinite(float(number)) else int(number)
