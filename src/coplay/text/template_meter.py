"""What a chat template may cost: what an operation takes and makes is weighed, before one can take long or fill the memory.

A value weighs its letters and its items, each as often as it is reached: what it takes to write it, to compare it or to look it up. The few
operations that make more than they are given are foreseen by :func:`made`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from jinja2.utils import Namespace

MOST_UNITS = 1_000_000
"""Steps of one rendering: passes, calls, items and letters of values. Two or three seconds at most."""

MOST_MADE = 100_000_000
"""Letters and items that one operation may make, or look at."""

MOST_BITS = 4096
"""Of a whole number."""

_MOST_DIGITS = 6
"""Of a width in a format."""

_LETTERS_PER_UNIT = 64
"""Letters of which the work is about that of an item."""

_ITEMS = (list, tuple, set, frozenset, range, Collection)

IN_NO_TIME = frozenset(
    [
        "length",
        "count",
        "default",
        "d",
        "first",
        "last",
        "list",
        "map",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "reverse",
        "items",
        "attr",
        "safe",
        "defined",
        "undefined",
        "none",
        "boolean",
        "false",
        "true",
        "string",
        "number",
        "integer",
        "float",
        "mapping",
        "iterable",
        "sequence",
        "callable",
        "sameas",
        "escaped",
        "odd",
        "even",
        "divisibleby",
        "filter",
        "test",
    ]
)
"""Filters and tests that do not look into the items of what they are given."""


class TooMuch(Exception):
    """The rendering was stopped."""


class Meter:
    """Counts what one rendering costs."""

    def __init__(self) -> None:
        self.left = 0
        """Units that are left."""

    def take(self, units: int) -> None:
        """Count some units; raises TooMuch if they are too many."""
        self.left -= units
        if self.left < 0:
            raise TooMuch(f"more than {MOST_UNITS:,} steps")

    def weigh(self, value: Any) -> int:
        """The letters and items of a value, which are counted."""
        if isinstance(value, str):
            size = len(value)
            self.take(1 + size // _LETTERS_PER_UNIT)
            return size
        size, waiting = 0, [value]
        while waiting:
            one = waiting.pop()
            inner = _inside(one)
            if inner is None:
                own = _own_size(one)
                size += own
                self.take(1 + own // _LETTERS_PER_UNIT)
            else:
                size += 1 + len(inner)
                self.take(1 + len(inner))
                waiting.extend(inner)
        return size

    def weighed(self, value: Any) -> Any:
        """The value, weighed."""
        self.weigh(value)
        return value

    def counted(self, value: Any) -> Any:
        """The value, its items or letters counted, but not what is in them; those of an iterator as it gives them."""
        if isinstance(value, Iterator):
            return self._stream(value)
        if isinstance(value, str):
            self.take(1 + len(value) // _LETTERS_PER_UNIT)
        elif isinstance(value, int):
            _own_size(value)
            self.take(1)
        else:
            self.take(1 + len(value) if isinstance(value, Collection) else 1)
        return value

    def _stream(self, items: Iterator[object]) -> Iterator[object]:
        for item in items:
            self.take(1)
            yield item

    def charge(self, name: str, values: Sequence[object]) -> None:
        """Count an operation before it is done.

        Args:
            name: the filter, the test, the method or the operator.
            values: what it is applied to, and the arguments.

        Raises:
            TooMuch: if it would make a text, list or number without measure.
        """
        if name in IN_NO_TIME:
            self.take(1)
            return
        sizes = [self.weigh(value) for value in values]
        rule = _RULES.get(name)
        if rule is None or not values:
            return
        most = rule(sizes, values)
        if most > MOST_MADE:
            raise TooMuch(f"{name} makes a text, list or number without measure")
        self.take(most // 1000)


def _inside(value: object) -> Collection[object] | None:
    """What a value holds; None for one that holds nothing."""
    if isinstance(value, str | bytes):
        return None
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, Namespace):
        kept = object.__getattribute__(value, "_Namespace__attrs")
        return [*kept.keys(), *kept.values()]
    return value if isinstance(value, _ITEMS) else None


def _own_size(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise TooMuch(f"a number of {value.bit_length():,} bits")
    return 1


def _product(sizes: Sequence[int], values: Sequence[object]) -> int:
    """Each letter of one may be repeated for each of another, or as often as a number says."""
    found = 1
    for size, value in zip(sizes, values, strict=True):
        times = abs(int(value)) if isinstance(value, int | float) and abs(value) < 1e300 else size
        found *= max(1, times)
        if found > MOST_MADE:
            break
    return found


def _replaced(sizes: Sequence[int], values: Sequence[object]) -> int:
    if len(sizes) < 3:
        return 0
    return (sizes[0] // max(1, sizes[1]) + 1) * max(1, sizes[2])


def _formatted(sizes: Sequence[int], values: Sequence[object]) -> int:
    """Widths stand in the text, or among the arguments."""
    text = values[0] if isinstance(values[0], str) else ""
    if re.search(r"\{[^{}]*\{", text):
        return MOST_MADE + 1  # a width in braces may be put together from several numbers
    widths = [int(digits) if len(digits) <= _MOST_DIGITS else MOST_MADE for digits in re.findall("[0-9]+", text)]
    if "*" in text:
        inner = [one for value in values[1:] for one in (_inside(value) or [value])]
        widths += [abs(one) for one in inner if isinstance(one, int)]
    return (sum(sizes) + sum(widths)) * max(1, text.count("%"), text.count("{"))


def _square(sizes: Sequence[int], values: Sequence[object]) -> int:
    """Passes over the whole for each part of it."""
    return _product(sizes[1:], values[1:]) * sizes[0] * sizes[0] // 100


def _times(sizes: Sequence[int], values: Sequence[object]) -> int:
    left, right = values
    if isinstance(left, int) and isinstance(right, int):
        return MOST_MADE + 1 if left.bit_length() + right.bit_length() > MOST_BITS else 1
    return 1 if isinstance(left, float) or isinstance(right, float) else _product(sizes, values)


def _power(sizes: Sequence[int], values: Sequence[object]) -> int:
    left, right = values
    if isinstance(left, int) and isinstance(right, int):
        return MOST_MADE + 1 if left.bit_length() * max(0, right) > MOST_BITS else 1
    return 1


_REPEATING = (
    "batch slice center indent join round tojson truncate trim xmlattr filesizeformat ljust rjust zfill expandtabs to_bytes translate rfind"
    " rindex rsplit rpartition strip lstrip rstrip removesuffix"
)

_RULES: Mapping[str, Callable[[Sequence[int], Sequence[object]], int]] = {
    **dict.fromkeys(_REPEATING.split(), _product),
    **dict.fromkeys(("sum", "urlize", "striptags", "wordwrap", "pprint", "title", "encode"), _square),
    **dict.fromkeys(("format", "format_map", "%", "strftime"), _formatted),
    "replace": _replaced,
    "*": _times,
    "**": _power,
}
"""The most letters and items that an operation makes or looks at, of those that may make or look at more than they are given."""
