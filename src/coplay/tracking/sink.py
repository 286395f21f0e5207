"""What a tracker is to a training run, and several of them at once: a tracker that fails is left out, and the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from coplay.terminal.printable import printable

TrialRecord = Mapping[str, object]
"""A seed's line of ``metrics.jsonl`` for a trial: ``step``, ``seed``, and metrics such as ``reward/row``."""

FOLDER = "tracking"
"""The folder of a run directory that trackers write to. It is no part of the run."""


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker is told of a run before its first record."""

    path: Path
    """The run directory."""
    config: Mapping[str, object]
    """The resolved config, as ``config.json`` has it."""
    seeds: tuple[int, ...]
    """The seeds that are trained."""
    done: int = 0
    """Trials that were trained before, of a run that is resumed; the next record is of the trial after these."""

    @property
    def name(self) -> str:
        """What to call the run: its directory's name."""
        return self.path.resolve().name

    @property
    def folder(self) -> Path:
        """Where trackers that write to the run directory do so."""
        return self.path / FOLDER


class Sink(Protocol):
    """A tracker, or anything else that is told of training as it goes on.

    It lives in the process that was started by the user, however many processes train.
    """

    name: str
    """What to call it in a warning."""

    def open(self, run: TrackedRun) -> None:
        """Be ready for the records of a run that begins, or is resumed."""

    def record(self, record: TrialRecord) -> None:
        """A trial of a seed is over. Trials come in order, the seeds of each in the order of the config."""

    def close(self, *, finished: bool) -> None:
        """No more records come: the run is finished, or was stopped."""


class Callback:
    """A function as a sink.

    Args:
        function: is called with each record.
    """

    name = "on_trial"

    def __init__(self, function: Callable[[TrialRecord], None]) -> None:
        self.function = function

    def open(self, run: TrackedRun) -> None:
        """See :class:`Sink`."""

    def record(self, record: TrialRecord) -> None:
        """See :class:`Sink`."""
        self.function(record)

    def close(self, *, finished: bool) -> None:
        """See :class:`Sink`."""


class Sinks:
    """Several sinks as one that never fails: what one of them raises is printed once, and it is told nothing more.

    Args:
        sinks: all of them.
    """

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._alive = list(sinks)

    def open(self, run: TrackedRun) -> None:
        """Open all."""
        self._each("be opened", lambda sink: sink.open(run))

    def record(self, records: Sequence[TrialRecord]) -> None:
        """Tell all of the trial's records."""
        for record in records:
            self._each("take a record", partial(_tell, record=record))

    def close(self, *, finished: bool) -> None:
        """Close all that still work."""
        self._each("be closed", lambda sink: sink.close(finished=finished))

    def _each(self, what: str, tell: Callable[[Sink], None]) -> None:
        for sink in list(self._alive):
            try:
                tell(sink)
            except Exception as error:  # of another library, or a user's function: anything
                self._alive.remove(sink)
                said = printable(" ".join(f"{type(error).__name__}: {error}".split())[:300])
                print(f"coplay: {sink.name} could not {what} ({said}); the run continues without it", file=sys.stderr)


def _tell(sink: Sink, record: TrialRecord) -> None:
    """Tell a sink of a record, in a copy of its own."""
    sink.record(dict(record))


@contextmanager
def tracked(sinks: Sequence[Sink], run: TrackedRun) -> Iterator[Sinks]:
    """Open sinks, and close them however the block ends."""
    found = Sinks(sinks)
    found.open(run)
    try:
        yield found
    except BaseException:
        found.close(finished=False)
        raise
    found.close(finished=True)
