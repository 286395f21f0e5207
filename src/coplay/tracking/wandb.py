"""Weights & Biases as a sink: a run of its for each seed, in one group; offline unless WANDB_MODE says otherwise."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from coplay.tracking.notes import Notes, numbers_of, seed_of, step_of, texts_of
from coplay.tracking.sink import TrackedRun, TrialRecord

PROJECT = "coplay"
"""Of runs for which WANDB_PROJECT names none."""


class WandB:
    """Writes ``tracking/wandb/``, from where ``wandb sync`` sends it; with WANDB_MODE=online it is sent at once."""

    name = "wandb"

    def __init__(self) -> None:
        self._notes: Notes | None = None
        self._runs: dict[int, Any] = {}

    def open(self, run: TrackedRun) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        wandb = import_module("wandb")
        notes = self._notes = Notes(run, self.name)
        mode = os.environ.get("WANDB_MODE", "offline")
        for seed in run.seeds:
            self._runs[seed] = wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=f"{run.name}-seed{seed}",
                group=f"{run.name}-{notes.identity}",
                id=f"{notes.identity}-{seed}",
                resume="allow"
                if mode == "online"
                else None,  # offline it only warns; `wandb sync --append` joins the parts
                mode=mode,
                dir=str(run.folder),
                config={**run.config, "seed": seed},
                reinit="create_new",
                settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
            )

    def record(self, record: TrialRecord) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        assert self._notes is not None
        if self._notes.is_new(record):
            self._runs[seed_of(record)].log({**numbers_of(record), **texts_of(record)}, step=step_of(record))
            self._notes.delivered(record)

    def close(self, *, finished: bool) -> None:
        """See :class:`coplay.tracking.sink.Sink`."""
        for one in self._runs.values():
            one.finish(exit_code=0 if finished else 1)
        if self._notes is not None:
            self._notes.close()
