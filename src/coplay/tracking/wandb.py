"""Weights & Biases as a sink: a run of its for each seed, in one group; offline unless WANDB_MODE says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coplay.tracking.notes import Appending
from coplay.tracking.sink import TrackedRun

PROJECT = "coplay"
"""Of runs for which WANDB_PROJECT names none."""


class WandB(Appending):
    """Writes ``tracking/wandb/``, from where ``wandb sync`` sends it; with WANDB_MODE=online it is sent at once."""

    name = "wandb"

    def begin(self, run: TrackedRun, identity: str) -> Mapping[int, Any]:
        """See :class:`coplay.tracking.notes.Appending`."""
        wandb = import_module("wandb")
        mode = os.environ.get("WANDB_MODE", "offline")
        return {
            seed: wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=f"{run.name}-seed{seed}",
                group=f"{run.name}-{identity}",
                id=f"{identity}-{seed}",
                # offline it only warns; `wandb sync --append` joins the parts
                resume="allow" if mode == "online" else None,
                mode=mode,
                dir=str(run.folder),
                config={**run.config, "seed": seed},
                reinit="create_new",
                settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
            )
            for seed in run.seeds
        }

    def end(self, run: Any, *, finished: bool) -> None:
        """See :class:`coplay.tracking.notes.Appending`."""
        run.finish(exit_code=0 if finished else 1)
