"""Trackio as a sink: a run of its for each seed, in one group, in its own place (TRACKIO_DIR)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from contextvars import Context
from importlib import import_module
from typing import Any

from coplay.tracking.notes import Appending
from coplay.tracking.sink import TrackedRun

PROJECT = "coplay"
"""Of runs for which TRACKIO_PROJECT names none."""


class Trackio(Appending):
    """Writes to Trackio's database on this machine, which ``trackio show`` reads."""

    name = "trackio"

    def begin(self, run: TrackedRun, identity: str) -> Mapping[int, Any]:
        """See :class:`coplay.tracking.notes.Appending`."""
        with redirect_stdout(sys.stderr):
            init = import_module("trackio").init
            return {
                seed: Context().run(  # it ends the run that it finds in its context
                    init,
                    project=os.environ.get("TRACKIO_PROJECT", PROJECT),
                    name=f"{run.name}-{identity}-seed{seed}",
                    group=f"{run.name}-{identity}",
                    config={**run.config, "seed": seed},
                    resume="allow",
                    embed=False,
                    auto_log_gpu=False,
                    auto_log_cpu=False,
                )
                for seed in run.seeds
            }

    def end(self, run: Any, *, finished: bool) -> None:
        """See :class:`coplay.tracking.notes.Appending`."""
        with redirect_stdout(sys.stderr):
            run.finish()
