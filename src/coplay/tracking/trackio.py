"""Trackio as a sink: a run of its for each seed, in one group, in its own place (TRACKIO_DIR)."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from contextvars import Context
from importlib import import_module
from typing import Any

from coplay.tracking.notes import Notes, numbers_of, seed_of, step_of, texts_of
from coplay.tracking.sink import TrackedRun, TrialRecord

PROJECT = "coplay"
"""Of runs for which TRACKIO_PROJECT names none."""


class Trackio:
    """Writes to Trackio's database on this machine, which ``trackio show`` reads."""

    name = "trackio"

    def __init__(self) -> None:
        self._notes: Notes | None = None
        self._runs: dict[int, Any] = {}

    def open(self, run: TrackedRun) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        with redirect_stdout(sys.stderr):
            init = import_module("trackio").init
            notes = self._notes = Notes(run, self.name)
            for seed in run.seeds:
                self._runs[seed] = Context().run(  # it ends the run that it finds in its context
                    init,
                    project=os.environ.get("TRACKIO_PROJECT", PROJECT),
                    name=f"{run.name}-{notes.identity}-seed{seed}",
                    group=f"{run.name}-{notes.identity}",
                    config={**run.config, "seed": seed},
                    resume="allow",
                    embed=False,
                    auto_log_gpu=False,
                    auto_log_cpu=False,
                )

    def record(self, record: TrialRecord) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        assert self._notes is not None
        if self._notes.is_new(record):
            self._runs[seed_of(record)].log({**numbers_of(record), **texts_of(record)}, step=step_of(record))
            self._notes.delivered(record)

    def close(self, *, finished: bool) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        with redirect_stdout(sys.stderr):
            for one in self._runs.values():
                one.finish()
        if self._notes is not None:
            self._notes.close()
