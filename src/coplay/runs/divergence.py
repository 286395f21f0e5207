"""Divergence: a seed with a number that is not finite is ended and recorded, and the others train on as if it had never been there.

What is checked in every trial, seed by seed: the log-probability of each reply, the gradients (by the learners), the metrics, and at its end all
that a checkpoint would hold. So NaN and infinity never outlive the trial in which they arise, wherever they come from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from coplay.errors import AllDiverged
from coplay.evaluation.summary import Divergence, told_of
from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, SeedState, UpdateMetrics

if TYPE_CHECKING:
    from torch import Tensor


class Divergences:
    """The seeds that have diverged: in which trial, and why."""

    def __init__(self) -> None:
        self.by_seed: dict[int, Divergence] = {}

    def note(self, seed: int, trial: int, reason: str) -> None:
        """Record that a seed has diverged in a trial, from 1; only its first reason is kept."""
        self.by_seed.setdefault(seed, {"step": trial, "reason": reason})

    def note_replies(self, games: Iterable[Episode], trial: int, where: str) -> None:
        """Record the seeds of games in which the log-probability of a reply is not finite."""
        for game in games:
            for seat, turns in game.turns.items():
                if not math.isfinite(sum([x for turn in turns for x in turn.reply.logprobs])):
                    who = game.seated[seat]
                    self.note(
                        game.seed, trial, f"{who.learner or who.name}: a reply's log-probability is not finite, {where}"
                    )

    def note_update(self, learner: str, update: UpdateMetrics, trial: int, where: str) -> None:
        """Record the seeds for which an update says so."""
        for seed, figures in update.items():
            if DIVERGED in figures:
                self.note(seed, trial, f"{learner}: {figures[DIVERGED]}, {where}")

    def note_metrics(self, seed: int, line: Mapping[str, object], trial: int) -> None:
        """Record the seed if a number of its metrics is not finite."""
        for name, value in line.items():
            if isinstance(value, float) and not math.isfinite(value):
                self.note(seed, trial, f"the metric {name} is {value}")

    def note_state(self, seed: int, state: Mapping[str, Tensor], trial: int) -> None:
        """Record the seed if a tensor of what it has learnt is not finite."""
        for name, tensor in state.items():
            # the sum is finite if all are, but for sums that overflow, and takes a fraction of the time
            if not math.isfinite(tensor.sum()) and not bool(tensor.isfinite().all()):
                self.note(seed, trial, f"{name} is not finite after the last update")

    def refuse_all_of(self, seeds: Iterable[int]) -> None:
        """Raise AllDiverged, naming each with its reason, if all of these seeds have diverged."""
        if all(seed in self.by_seed for seed in seeds):
            told = "; ".join(told_of(seed, one) for seed, one in sorted(self.by_seed.items()))
            raise AllDiverged(f"every seed has diverged, so there is nothing to evaluate: {told}")


def diverged_in(lines: Iterable[Mapping[str, Any]]) -> dict[str, Divergence]:
    """The seeds whose last line in ``metrics.jsonl`` says that they diverged; all of a run's, even if it has no evaluation."""
    return {
        str(line["seed"]): {"step": line["step"], "reason": str(line[DIVERGED])} for line in lines if DIVERGED in line
    }


def as_state(divergence: Divergence) -> SeedState:
    """What a checkpoint holds of a seed that has diverged: this and nothing else."""
    import torch

    return {DIVERGED: torch.frombuffer(bytearray(json.dumps(divergence).encode()), dtype=torch.uint8)}


def from_state(state: Mapping[str, Tensor]) -> Divergence | None:
    """The inverse of :func:`as_state`; None if the state is of a seed that has not diverged."""
    if DIVERGED not in state:
        return None
    return cast("Divergence", json.loads(bytes(state[DIVERGED].tolist())))
