"""Values of JSON files that may be cut off, damaged or of another version: looked up without assuming their shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

Record = Mapping[str, object]
"""One object of a run's files. Nothing is assumed of its values: files may be cut off or written by other versions."""


def at(data: object, *path: str) -> object:
    """The value at a path of keys in nested objects; None where there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def section(data: object, *path: str) -> Record:
    """The object at a path of keys; empty where there is none."""
    found = at(data, *path)
    return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}


def items(value: object) -> Sequence[object]:
    """The items of a list; none if the value is something else."""
    return value if isinstance(value, list | tuple) else ()


def is_number(value: object) -> TypeGuard[float]:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def whole(record: Record, key: str, missing: int) -> int:
    """A whole number of a record; ``missing`` where there is none."""
    value = record.get(key)
    return int(value) if is_number(value) else missing


def estimate(value: object) -> float | None:
    """The number in a summary: given plainly, or as the ``mean`` of an estimate over seeds; None for anything else."""
    number = value.get("mean") if isinstance(value, Mapping) else value
    return float(number) if is_number(number) else None
