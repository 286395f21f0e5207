"""What differs between what two checkouts made of one case: exactly, with no tolerance."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from golden_words import RECORDS, TENSORS, Record, record_of
from safetensors.numpy import load_file

Leaf = str | int | float | bool | None
"""What stands at the end of a path of keys."""

Flat = dict[str, Leaf]
"""A record by paths of keys, e.g. ``seeds.0.seats.row.total``."""

Tensors = dict[str, npt.NDArray[Any]]
"""A file of tensors."""

MISSING = "(nothing)"
"""Stands where one side has no value."""

_SHOWN = 60
"""Characters of a value that are shown, from where two texts part."""


@dataclass(frozen=True)
class Difference:
    """Two values that should be one."""

    place: str
    """File, line and key."""
    before: str
    """As it was written."""
    after: str
    """Likewise."""

    def __str__(self) -> str:
        """In a line."""
        return f"{self.place}: {self.before} before, {self.after} after"


@dataclass
class Tally:
    """What has been compared, and what was different."""

    numbers: int = 0
    """Numbers compared."""
    different: int = 0
    """How many of them differ, or are on one side alone."""
    texts: int = 0
    """Texts and other values that differ, or are on one side alone; files of tensors whose bytes differ although the tensors do not."""
    largest: float = 0.0
    """Largest difference between two numbers."""
    first: Difference | None = None
    """The first one met."""

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.first is None

    def note(self, place: str, before: object, after: object, *, number: bool, count: int = 1) -> None:
        """Count what differs at a place."""
        if number:
            self.different += count
        else:
            self.texts += count
        self.first = self.first or Difference(place, str(before), str(after))

    def part(self, size: float) -> None:
        """Remember a difference between two numbers if there was none as large."""
        self.largest = max(self.largest, math.inf if math.isnan(size) else size)


def compare(before: Path, after: Path, *, new: Mapping[Path, bool]) -> Tally:
    """Compare what a case left in two directories.

    Args:
        before: what the one checkout made.
        after: what the other made.
        new: whether either speaks the new words.
    """
    tally = Tally()
    found = [_files(directory) for directory in (before, after)]
    for file in sorted({*found[0], *found[1]}, key=_order):
        if not all(file in files for files in found):
            names = [f"a file {file}" if file in files else MISSING for files in found]
            tally.note(file, *names, number=False)
        elif file.endswith(".safetensors"):
            _compare_tensors(tally, file, before / file, after / file)
        else:
            _compare_records(tally, file, *(records(side / file, new=new[side]) for side in (before, after)))
    return tally


def records(path: Path, *, new: bool) -> list[Flat]:
    """The records of a file, flat and in old words; none if there is no such file."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    # Not splitlines(): a reply may hold characters that it takes for line ends.
    parts = text.removesuffix("\n").split("\n") if path.suffix == ".jsonl" else [text]
    return [flat(record_of(path.name, json.loads(part), new=new)) for part in parts]


def flat(record: Record) -> Flat:
    """A record by paths of keys."""
    return dict(_leaves(record, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Leaf]]:
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(part, f"{path}.{key}" if path else str(key))


def _files(directory: Path) -> set[str]:
    """What there is to compare, relative to the case's directory."""
    named = [path for name in RECORDS for path in directory.glob(f"**/{name}")]
    tensors = [path for pattern in TENSORS for path in directory.glob(f"**/{pattern}")]
    return {path.relative_to(directory).as_posix() for path in (*named, *tensors)}


def _order(file: str) -> tuple[int, str]:
    """Metrics first, since they say most; then what was played and evaluated; tensors last."""
    name = Path(file).name
    return (RECORDS.index(name) if name in RECORDS else len(RECORDS), file)


def _compare_records(tally: Tally, file: str, before: Sequence[Flat], after: Sequence[Flat]) -> None:
    if len(before) != len(after):
        tally.note(file, f"{len(before)} lines", f"{len(after)} lines", number=False)
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        line = f" line {number}" if file.endswith(".jsonl") else ""
        for key in {**old, **new}:
            _compare_leaves(tally, f"{file}{line}, {key}", old.get(key, MISSING), new.get(key, MISSING))


def _compare_leaves(tally: Tally, place: str, before: Leaf, after: Leaf) -> None:
    numbers = [value for value in (before, after) if isinstance(value, int | float) and not isinstance(value, bool)]
    tally.numbers += bool(numbers)
    written = [json.dumps(value, ensure_ascii=False) for value in (before, after)]
    if written[0] == written[1]:
        return
    if len(numbers) == 2:
        tally.part(abs(numbers[0] - numbers[1]))
    tally.note(place, *_shown(*written), number=bool(numbers))


def _shown(before: str, after: str) -> tuple[str, str]:
    """Two texts, from shortly before where they part if they are long."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, same - _SHOWN // 2) if max(len(before), len(after)) > _SHOWN else 0
    cut = [("…" if start else "") + text[start : start + _SHOWN] for text in (before, after)]
    return (cut[0], cut[1])


def _compare_tensors(tally: Tally, file: str, before: Path, after: Path) -> None:
    old, new = load_file(before), load_file(after)
    was_same = (tally.different, tally.texts)
    for name in sorted({*old, *new}):
        _compare_arrays(tally, f"{file}, {name}", old.get(name), new.get(name))
    if (tally.different, tally.texts) == was_same and before.read_bytes() != after.read_bytes():
        tally.note(file, "the same tensors", "the same tensors in other bytes", number=False)


def _compare_arrays(tally: Tally, place: str, before: npt.NDArray[Any] | None, after: npt.NDArray[Any] | None) -> None:
    tally.numbers += max(array.size for array in (before, after) if array is not None)
    if before is None or after is None or (before.shape, before.dtype) != (after.shape, after.dtype):
        forms = [MISSING if array is None else f"{array.dtype}{list(array.shape)}" for array in (before, after)]
        tally.note(place, *forms, number=False)
        return
    bits = f"u{before.dtype.itemsize}"  # so that -0.0 is not 0.0, and NaN is NaN
    differs = np.ascontiguousarray(before).view(bits) != np.ascontiguousarray(after).view(bits)
    if not differs.any():
        return
    first = tuple(np.argwhere(differs)[0])
    old, new = (array[differs].astype(np.float64) for array in (before, after))
    tally.part(float(np.abs(old - new).max()))
    tally.note(f"{place}{list(map(int, first))}", before[first], after[first], number=True, count=len(old))
