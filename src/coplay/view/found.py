"""What is in a directory: runs and all else that coplay writes, each under a short identifier, which is all that an address of the page can name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.kinds import MARKERS, Owner
from coplay.files.store import MANIFEST
from coplay.runs.directory import is_of_a_run, walk

ID_BYTES = 6
"""Length of an identifier, which is shown as twice as many hexadecimal digits."""

PAGE = "report.html"
"""The page that reports and audits write."""

_MARKED: tuple[tuple[str, Owner], ...] = (
    *((marker, owner) for owner, (marker, _) in MARKERS.items() if owner != "run"),
    ("probe.json.gz", "probe"),
)
"""Files of which one says what a directory holds; published results have some in another form. A run has several that say so."""

Stamp = tuple[tuple[str, int, int, int], ...]
"""Name, time, length and inode of each file of a directory: what is read from them is the same while this is."""


@dataclass(frozen=True)
class Found:
    """A directory of a kind that coplay writes."""

    id: str
    """Its identifier: of its path below the directory that is shown."""
    path: Path
    """Where it is."""
    name: str
    """Its path below the directory that is shown, or its own name if it is that one."""
    kind: Owner
    """What it holds."""
    within: str | None
    """The identifier of the experiment or sweep that it is a part of; None if it stands alone."""

    @property
    def has_page(self) -> bool:
        """Whether a report or a card has been written."""
        return (self.path / PAGE).is_file()


def find(root: Path) -> dict[str, Found]:
    """Everything in a directory, at any depth, by identifier, in the order of the paths.

    Raises:
        UsageError: if there is no such directory.
    """
    if not root.is_dir():
        raise UsageError(f"there is no directory {root}; train a run first (coplay train --help), or name another DIR")
    kinds = {folder: kind for folder, files in walk(root) if (kind := kind_of_folder(files)) is not None}
    found: dict[str, Found] = {}
    for folder in sorted(kinds):
        inner = folder.relative_to(root)
        name = inner.as_posix() if inner.parts else folder.resolve().name
        found[id_of(inner)] = Found(id_of(inner), folder, shown(name), kinds[folder], _within(root, folder, kinds))
    return found


def kind_of_folder(files: Iterable[str]) -> Owner | None:
    """What a folder with these files holds; None for nothing of coplay's."""
    names = set(files)
    for marker, owner in _MARKED:
        if marker in names:
            return owner
    return "run" if is_of_a_run(names) else None


def id_of(inner: Path) -> str:
    """The identifier of a path below the directory that is shown."""
    return hashlib.blake2b(os.fsencode(inner.as_posix()), digest_size=ID_BYTES).hexdigest()


def shown(name: str) -> str:
    """A file's name as text that any page can hold."""
    return name.encode("utf-8", "replace").decode()


def _within(root: Path, folder: Path, kinds: dict[Path, Owner]) -> str | None:
    """The nearest experiment or sweep that a folder lies in."""
    for parent in folder.parents if folder != root else ():
        if kinds.get(parent) in ("experiment", "sweep"):
            return id_of(parent.relative_to(root))
        if parent == root:
            return None
    return None


_STAMPED = (
    MANIFEST,
    "config.json",
    *("metrics.jsonl", "metrics.jsonl.gz", "episodes.jsonl", "episodes.jsonl.gz", "eval.json"),
    *("games.jsonl", "games.jsonl.gz", "claims.json", PAGE),
    *(marker for marker, _ in MARKERS.values()),
)


def stamp_of(path: Path) -> Stamp:
    """What tells whether anything in a directory has changed; empty if it is gone."""
    return tuple(one for name in _STAMPED if (one := stamp_of_file(path, name)) is not None)


def stamp_of_file(path: Path, name: str) -> tuple[str, int, int, int] | None:
    """The same of one file; None if there is none."""
    try:
        about = os.lstat(f"{path}/{name}")
    except (OSError, ValueError):
        return None
    return (name, about.st_mtime_ns, about.st_size, about.st_ino)
