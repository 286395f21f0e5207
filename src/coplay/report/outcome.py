"""How a run ended: rewards and joint actions, from its evaluation or, before there is one, from the end of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from coplay.report.data import RunData, interval_of
from coplay.report.values import at, estimate, section
from coplay.statistics import Interval

LAST_SHARE = 0.1
"""Share of training whose mean is used if there is no evaluation."""


@dataclass(frozen=True)
class Outcome:
    """Where a run ended."""

    source: str
    """Where the numbers come from, in words: ``100 games after training``."""
    evaluated: bool
    """Whether they are an evaluation's; otherwise they are the end of training."""
    rewards: Mapping[str, Mapping[int, float]]
    """Each seat's mean reward per step, by seed."""
    states: Mapping[str, float]
    """Share of each joint action, mean over seeds."""
    seed_states: Mapping[int, Mapping[str, float]]
    """Share of each joint action, by seed."""

    def reward(self, seat: str) -> Interval | None:
        """A seat's reward per step: mean and 95% t-interval over seeds."""
        return interval_of(list(self.rewards.get(seat, {}).values()))

    @property
    def n_seeds(self) -> int:
        """Number of seeds that have a reward."""
        return max((len(by_seed) for by_seed in self.rewards.values()), default=0)


def outcome(run: RunData) -> Outcome:
    """How ``run`` ended: its evaluation if it has one with numbers in it, else the last tenth of training."""
    evaluated = _evaluated(run)
    return evaluated if evaluated is not None and evaluated.n_seeds else _end_of_training(run)


def _evaluated(run: RunData) -> Outcome | None:
    if run.eval is None:
        return None
    rewards: dict[str, dict[int, float]] = {seat: {} for seat in run.seats}
    seed_states = {}
    for seed, record in section(run.eval, "seeds").items():
        for seat, result in section(record, "seats").items():
            reward = estimate(at(result, "per_round"))
            if reward is not None:
                rewards.setdefault(seat, {})[int(seed)] = reward
        seed_states[int(seed)] = _shares(record)
    source = f"{run.eval.get('episodes', 'the')} games a seed after training"
    return Outcome(source, True, rewards, _shares(run.eval), seed_states)


def _end_of_training(run: RunData) -> Outcome:
    first = _late_start(run)
    rewards = {seat: late_means(run, f"reward/{seat}") for seat in run.seats}
    by_state = {state: late_means(run, f"state/{state}") for state in run.states}
    seeds = sorted({seed for shares in by_state.values() for seed in shares})
    seed_states = {seed: {state: shares.get(seed, 0.0) for state, shares in by_state.items()} for seed in seeds}
    states = {state: float(np.mean(list(shares.values()))) for state, shares in by_state.items() if shares}
    span = f"trial {run.last_step}" if first >= run.last_step else f"trials {first} to {run.last_step}"
    return Outcome(f"{span} of training", False, rewards, states, seed_states)


def late_means(run: RunData, metric: str) -> dict[int, float]:
    """Each seed's mean of a metric over the last tenth of training."""
    series = run.series(metric)
    late = series.values[:, series.steps >= _late_start(run)]
    return {
        seed: float(np.nanmean(row)) for seed, row in zip(series.seeds, late, strict=True) if np.isfinite(row).any()
    }


def _late_start(run: RunData) -> int:
    return run.last_step - max(1, round(run.last_step * LAST_SHARE)) + 1


def _shares(evaluation: object) -> dict[str, float]:
    """The share of each joint action in an evaluation."""
    shares = {name: estimate(share) for name, share in section(evaluation, "states").items()}
    return {name: share for name, share in shares.items() if share is not None}
