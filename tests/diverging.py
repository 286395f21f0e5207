"""Seeds that diverge: their numbers are spoilt in the middle of a run."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from coplay.runs.state import TrainingState

BAD_TRIAL = 1
"""The trial, from 0, in which something is not finite."""


def spoil(tensor: Any, slot: int, bad: float) -> None:
    with torch.no_grad():
        tensor[slot].view(-1)[0] = bad


def parameter(learner: Any, slot: int, bad: float) -> None:
    spoil(learner.policy.parameters()[1 if len(learner.policy.parameters()) > 1 else 0], slot, bad)
    learner.policy.bump_version([slot])


def diverging(monkeypatch: pytest.MonkeyPatch, *seeds: int, at: int = BAD_TRIAL) -> None:
    """In this process, have the first learner's parameters of these seeds spoilt when a trial (from 0) begins."""
    whole = TrainingState.run_trial

    def spoilt(self: TrainingState, trial: int) -> Any:
        learner: Any = next(iter(self.learners.values()))
        for seed in set(seeds) & set(self.alive) if trial == at else ():
            parameter(learner, learner.slots[seed], math.nan)
        return whole(self, trial)

    monkeypatch.setattr(TrainingState, "run_trial", spoilt)
