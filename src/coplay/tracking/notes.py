"""Trackers that only append, and what coplay remembers of them: under which identity one knows a run, and which records it has."""

from __future__ import annotations

import contextlib
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from coplay.files.reading import read_bytes
from coplay.tracking.sink import TrackedRun, TrialRecord

_IDENTITY = re.compile(r"[0-9a-f]{8}")
_DELIVERED = re.compile(r"(\d+) (\d+)")


def _content(path: Path) -> bytes:
    """What is in a file; nothing if it is not there."""
    try:
        return read_bytes(path, follow=False)
    except FileNotFoundError:
        return b""


class Notes:
    """A text file in the run directory: the identity, then a line ``SEED STEP`` for each record that was delivered.

    A run that is resumed trains the trials after its last checkpoint again; their records are the same, and are not delivered twice.
    What cannot be read is taken for not there.

    Args:
        run: the run.
        tracker: the tracker's name.
    """

    def __init__(self, run: TrackedRun, tracker: str) -> None:
        run.folder.mkdir(exist_ok=True)
        path = run.folder / f"{tracker}.txt"
        lines = _content(path).decode("utf-8", "replace").splitlines()
        known = bool(lines) and _IDENTITY.fullmatch(lines[0]) is not None
        self.identity = lines[0] if known else secrets.token_hex(4)
        """Tells the run apart from others of its name."""
        self._last: dict[int, int] = {}
        for line in lines[1:] if known else ():
            if found := _DELIVERED.fullmatch(line):
                seed, step = int(found[1]), int(found[2])
                self._last[seed] = max(step, self._last.get(seed, 0))
        self._file: TextIO = path.open("a" if known else "w", encoding="utf-8")
        if not known:
            self._write(self.identity)

    def is_new(self, record: TrialRecord) -> bool:
        """Whether a record has not been delivered yet."""
        return step_of(record) > self._last.get(seed_of(record), 0)

    def delivered(self, record: TrialRecord) -> None:
        """Remember that a record was delivered."""
        self._last[seed_of(record)] = step_of(record)
        self._write(f"{seed_of(record)} {step_of(record)}")

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n")
        self._file.flush()


class Appending(ABC):
    """A sink for a tracker that has a run for each seed and can only append to it: no record is delivered twice.

    Subclasses say what the tracker is called (``name``), how its runs begin (:meth:`begin`) and end (:meth:`end`).
    """

    name: str
    """What to call it in a warning, and its file of notes."""

    def __init__(self) -> None:
        self._notes: Notes | None = None
        self._runs: Mapping[int, Any] = {}

    @abstractmethod
    def begin(self, run: TrackedRun, identity: str) -> Mapping[int, Any]:
        """The tracker's run for each seed; each has ``log(metrics, step=...)``.

        Args:
            run: the run.
            identity: tells it apart from others of its name; the same when it is resumed.
        """

    @abstractmethod
    def end(self, run: Any, *, finished: bool) -> None:
        """End one of the tracker's runs."""

    def open(self, run: TrackedRun) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        self._notes = Notes(run, self.name)
        self._runs = self.begin(run, self._notes.identity)

    def record(self, record: TrialRecord) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        assert self._notes is not None
        if self._notes.is_new(record):
            self._runs[seed_of(record)].log({**numbers_of(record), **texts_of(record)}, step=step_of(record))
            self._notes.delivered(record)

    def close(self, *, finished: bool) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        for one in self._runs.values():
            self.end(one, finished=finished)
        if self._notes is not None:
            self._notes.close()


def seed_of(record: TrialRecord) -> int:
    """The seed of a record."""
    return int(str(record["seed"]))


def step_of(record: TrialRecord) -> int:
    """The trial of a record, from 1."""
    return int(str(record["step"]))


def numbers_of(record: TrialRecord) -> dict[str, float]:
    """The metrics of a record that are numbers."""
    return {
        key: float(value)
        for key, value in record.items()
        if isinstance(value, int | float) and key not in ("step", "seed", "version")
    }


def texts_of(record: TrialRecord) -> dict[str, str]:
    """The metrics of a record that are text, such as ``diverged``."""
    return {key: value for key, value in record.items() if isinstance(value, str)}
