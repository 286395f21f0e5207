"""Directories that know what they consist of.

``manifest.json`` lists every file that counts, with its length and checksum. It is written last and in one move: until then, what was
written beside it does not count. So a directory is always in one of the states that somebody committed, whenever its process died; and a
file that was damaged, lost or exchanged is refused with its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from coplay.errors import UsageError
from coplay.files.kinds import Owner, kind_of, marker_of, newest_version
from coplay.files.reading import MOST_BYTES, MOST_TENSOR_BYTES, as_object, parse_json, parse_lines, plain, read_bytes
from coplay.files.writing import TEMPORARY, append, json_text, open_to_write, refuse_outside, write_file

if TYPE_CHECKING:
    from hashlib import _Hash

MANIFEST = "manifest.json"
"""The name of the file that says what a directory consists of."""


@dataclass(frozen=True)
class Entry:
    """What a file must be."""

    length: int
    """Its length."""
    sha256: str
    """Its checksum."""
    was: str | None = None
    """While it is being replaced: the checksum of what it held before, which it may still hold after a crash."""

    def fits(self, data: bytes) -> bool:
        """Whether this is the file's content."""
        return checksum(data) in (self.sha256, self.was)


class Store:
    """A directory and its manifest.

    Args:
        root: the directory.
        owner: the kind of directory.
    """

    def __init__(self, root: Path, owner: Owner) -> None:
        self.root, self.owner = root, owner
        self.entries: dict[str, Entry] = {}
        self.finished = False
        self.step = 0
        self.failed: str | None = None
        """Why what is made here cannot be finished, if that is known."""
        self.has_manifest = True
        self._growing: dict[str, _Hash] = {}

    @classmethod
    def open(cls, root: Path, owner: Owner) -> Store:
        """Read a directory's manifest. Directories of older versions have none: their files count if they are there, unchecked.

        Raises:
            UsageError: if the manifest is damaged, or is missing where there must be one.
        """
        store = cls(root, owner)
        try:
            data = read_bytes(root / MANIFEST, follow=False)
        except FileNotFoundError:
            store.has_manifest = False
            store._refuse_without_manifest()
            return store
        found = unsealed(parse_json(data, root / MANIFEST), root / MANIFEST)
        store.finished, store.step = bool(found.get("finished")), int(found.get("step", 0))
        store.failed = None if found.get("failed") is None else str(found["failed"])
        store.entries = entries_from(found.get("files"), root / MANIFEST)
        return store

    def _refuse_without_manifest(self) -> None:
        marker, version = marker_of(self.owner)
        try:
            found = self.read_object(marker)
        except FileNotFoundError:
            return
        if found.get("version", 1) >= version:
            raise UsageError(f"{self.root / MANIFEST} is missing, so nothing says what belongs there. {self.remedy()}")

    # ------------------------------------------------------------------ reading

    def has(self, name: str) -> bool:
        """Whether a file belongs to the directory."""
        return name in self.entries if self.has_manifest else os.path.lexists(self.root / name)

    def names(self, pattern: str) -> list[str]:
        """The files that belong to the directory and whose paths match, in order; a pattern names each folder, as in ``meetings/*.json``."""
        if self.has_manifest:
            return sorted(
                name
                for name in self.entries
                if PurePosixPath(name).match(pattern) and name.count("/") == pattern.count("/")
            )
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(pattern) if path.is_file())

    def read(self, name: str) -> bytes:
        """A file's content, checked.

        Raises:
            FileNotFoundError: if no such file belongs to the directory.
            UsageError: if it is missing, damaged or another.
        """
        path, kind = self.root / name, kind_of(self.owner, name)
        most = MOST_TENSOR_BYTES if kind is not None and kind.form == "tensors" else MOST_BYTES
        if not self.has_manifest:
            return read_bytes(path, most=most, follow=False)
        entry = self.entries.get(name)
        if entry is None:
            raise FileNotFoundError(path)
        try:
            data = read_bytes(path, most=most, follow=False)
        except FileNotFoundError:
            raise UsageError(f"{path} is missing. {self.remedy()}") from None
        counted = data[: entry.length] if kind is not None and kind.grows and not self.finished else data
        if not entry.fits(counted):
            raise UsageError(
                f"{path} is damaged or another file: its {len(data):,} bytes do not have the checksum in {MANIFEST}. {self.remedy()}"
            )
        return data

    def entry(self, name: str) -> Entry:
        """What a file is known to be, or, in a directory without a manifest, is found to be."""
        return self.entries[name] if self.has_manifest else entry_of(self.read(name))

    def plain_or_compressed(self, name: str) -> str:
        """The name itself, or ``NAME.gz`` where that is what the directory has."""
        return f"{name}.gz" if not self.has(name) and self.has(f"{name}.gz") else name

    def can_read(self, name: str) -> bool:
        """Whether the directory has ``NAME`` or ``NAME.gz``."""
        return self.has(self.plain_or_compressed(name))

    def read_object(self, name: str) -> dict[str, Any]:
        """A JSON object, checked, of a version that is known, from ``NAME`` or ``NAME.gz``; raises as :meth:`read` does."""
        found = self.plain_or_compressed(name)
        path = self.root / found
        return as_object(parse_json(plain(self.read(found), path), path), path, newest=newest_version(found))

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The objects of a ``.jsonl`` file, checked, or of ``NAME.gz``; empty without either. Raises as :meth:`read` does."""
        found = self.plain_or_compressed(name)
        return parse_lines(self.read(found), self.root / found) if self.has(found) else []

    def check_lengths(self) -> None:
        """Raise UsageError for the first file that is missing or of another length: contents are checked when they are read."""
        for name, entry in self.entries.items():
            length = _length(f"{self.root}/{name}")
            if length is None:
                raise UsageError(f"{self.root / name} is missing. {self.remedy()}")
            if length == entry.length or entry.was is not None:
                continue
            kind = kind_of(self.owner, name)
            if length < entry.length or self.finished or kind is None or not kind.grows:
                told = f"it has {length:,} bytes instead of {entry.length:,}"
                raise UsageError(f"{self.root / name} is damaged: {told}. {self.remedy()}")

    def check(self) -> None:
        """Check every file; raises UsageError for the first that is damaged."""
        for name in self.entries:
            self.read(name)

    def remedy(self) -> str:
        """What to do about a damaged file."""
        latest = max((path.name for path in self.root.glob("checkpoints/trial-*")), default=None, key=_number)
        resumed = f"or resume from {latest} or an earlier checkpoint: coplay train --resume {self.root} --from {latest}"
        return {
            "run": f"Restore it from a copy, {resumed if latest else 'or train anew'}.",
            "alignment": "Restore it from a copy, or align anew into another directory.",
            "demonstrations": "Restore it from a copy, or make the data anew: coplay demonstrate.",
            "sft": "Restore it from a copy, or train anew into another directory.",
            "experiment": "Restore it from a copy, or reproduce into another --out.",
            "sweep": "Restore it from a copy, or sweep into another --out.",
            "recording": "Restore it from a copy, or record into another --record.",
            "probe": "Restore it from a copy, or probe into another --out.",
            "audit": "Restore it from a copy, or audit into another --out.",
            "page": "Write the page again.",
        }[self.owner]

    # ------------------------------------------------------------------ writing

    def write(self, name: str, data: bytes | str) -> None:
        """Write a file that did not belong to the directory. It does once :meth:`commit` was called."""
        content = data.encode("utf-8", "replace") if isinstance(data, str) else data
        write_file(self.root, name, content)
        self.entries[name] = entry_of(content)

    def replace(self, name: str, data: bytes | str) -> None:
        """Write a file and commit. After a crash at any moment either the old or the new content belongs to the directory."""
        content = data.encode("utf-8", "replace") if isinstance(data, str) else data
        before = self.entries.get(name)
        new = entry_of(content)
        if before is not None and before != new:
            was = before.sha256 if before.was is None else checksum(self.read(name))
            self.entries[name] = Entry(new.length, new.sha256, was)
            self.commit()
        write_file(self.root, name, content)
        self.entries[name] = new
        self.commit()

    def append(self, name: str, text: str) -> None:
        """Add to a file that grows. What was added belongs to the directory once :meth:`commit` was called."""
        data = append(self.root, name, text)
        before = self.entries.get(name, Entry(0, checksum(b"")))
        running = self._growing.setdefault(name, hashlib.sha256())
        running.update(data)
        self.entries[name] = Entry(before.length + len(data), running.hexdigest())

    def cut_back(self, name: str) -> None:
        """Drop what a file that grows has beyond its entry, and be ready to append to it."""
        entry = self.entries[name]
        content = self.read(name)[: entry.length]
        self._growing[name] = hashlib.sha256(content)
        with open(open_to_write(self.root / name, 0), "r+b") as file:
            file.truncate(entry.length)

    def sync(self) -> None:
        """Have the files that grow written to the disk."""
        for name in self._growing:
            with open(self.root / name, "rb") as file:
                os.fsync(file.fileno())

    def commit(self, *, step: int | None = None, finished: bool | None = None, failed: str | None = None) -> None:
        """Write the manifest: from now on the directory consists of what was written. Directories of before manifests get none.

        Args:
            step: how far it is; by default as far as before.
            finished: whether it is finished; by default as before.
            failed: why it cannot be finished; what is committed later has not failed.
        """
        if not self.has_manifest:
            return
        self.step = self.step if step is None else step
        self.finished = self.finished if finished is None else finished
        self.sync()
        files = {name: entry_record(self.entries[name]) for name in sorted(self.entries)}
        record: dict[str, object] = {"version": newest_version(MANIFEST), "finished": self.finished, "step": self.step}
        record |= {"files": files, **({} if failed is None else {"failed": failed})}
        self.failed = failed
        write_file(self.root, MANIFEST, json_text(sealed(record)))

    def tidy(self) -> None:
        """Delete what a process that died left behind: unfinished files, and files of known kinds that do not belong to the directory.

        A file that it was replacing belongs to the directory as it is now, the old or the new one.
        """
        replaced = [name for name, entry in self.entries.items() if entry.was is not None]
        self.entries |= {name: entry_of(self.read(name)) for name in replaced}
        if replaced:
            self.commit()
        folders = []
        for folder, inner, files in os.walk(self.root):
            if folder != str(self.root) and MANIFEST in files:  # a directory of its own, such as a sweep's cell
                inner.clear()
                continue
            folders.append(Path(folder))
            for file in files:
                name = (folders[-1] / file).relative_to(self.root).as_posix()
                kind = kind_of(self.owner, name)
                stray = kind is not None and name != MANIFEST and name not in self.entries
                if file.startswith(TEMPORARY) or stray:
                    (self.root / name).unlink(missing_ok=True)
        for path in reversed(folders):
            if path.relative_to(self.root).parts[:1] in (("checkpoints",), ("adapters",)) and not any(path.iterdir()):
                path.rmdir()


def check_listed_adapter(directory: Path) -> None:
    """Check the files of an adapter, if it is one of a run, an alignment or a fine-tuning; one from elsewhere has nothing to be checked against.

    Raises:
        UsageError: naming the file that is damaged.
    """
    run = directory.resolve().parents[1] if len(directory.resolve().parents) > 1 else directory
    if (run / MANIFEST).exists():
        store = Store.open(run, "run")
        for name in store.names(f"adapters/{directory.resolve().name}/*"):
            store.read(name)
    made_by: Owner = "sft" if os.path.lexists(directory / marker_of("sft")[0]) else "alignment"
    Store.open(directory, made_by).check()


def checksum(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sealed(record: Mapping[str, object]) -> dict[str, object]:
    """A record with its own checksum, under ``seal``."""
    return {**record, "seal": _seal(record)}


def unsealed(found: object, where: Path) -> dict[str, Any]:
    """A record that was sealed, without its seal; raises UsageError if it was changed since, or is of a later version."""
    record = as_object(found, where, newest=newest_version(where.name))
    seal = record.pop("seal", None)
    if seal != _seal(record):
        raise UsageError(f"{where} is damaged: its content does not have its checksum")
    return record


def _seal(record: Mapping[str, object]) -> str:
    return checksum(json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def entry_of(content: bytes) -> Entry:
    """What a file of this content is."""
    return Entry(len(content), checksum(content))


def entry_record(entry: Entry) -> dict[str, object]:
    """An entry as JSON holds it."""
    return {key: value for key, value in asdict(entry).items() if value is not None}


def entries_from(found: object, where: Path) -> dict[str, Entry]:
    """Entries by name, from JSON; raises UsageError for another shape."""
    try:
        entries = {name: Entry(**about) for name, about in cast("Mapping[str, Mapping[str, Any]]", found).items()}
        for name in entries:
            refuse_outside(where.parent, name)
        return entries
    except (AttributeError, TypeError):
        raise UsageError(f"{where} is damaged: its list of files is of another form") from None


def _number(name: str) -> int:
    """The number at the end of a name; -1 without one."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def _length(path: str) -> int | None:
    try:
        return os.lstat(path).st_size
    except OSError:
        return None
