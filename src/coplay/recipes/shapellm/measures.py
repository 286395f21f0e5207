"""What ShapeLLM's claims measure on training curves and evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from coplay.evaluation.claims import Measure, Results, per_round

Curve = Sequence[float]
"""A metric over training, a number a trial."""


def _mean(curve: Curve) -> float:
    values = [value for value in curve if not math.isnan(value)]
    return sum(values) / len(values) if values else float("nan")


def part(curve: Curve, start: float, end: float) -> Curve:
    """The part of a curve between two fractions of its length; one trial at least."""
    first = min(int(start * len(curve)), len(curve) - 1)
    return curve[first : max(first + 1, int(end * len(curve)))]


def steepness_of_the_first_fall(of: Callable[[str], Curve]) -> float:
    """How much faster row's cooperation falls in the first tenth of training than in the middle third, per trial."""
    cooperation = [cc + cd for cc, cd in zip(of("state/CC"), of("state/CD"), strict=True)]

    def fall(start: float, end: float) -> float:
        piece = part(cooperation, start, end)
        return (piece[0] - piece[-1]) / max(1, len(piece) - 1)

    return fall(0.0, 0.1) - fall(1 / 3, 2 / 3)


def final_cooperation(of: Callable[[str], Curve]) -> float:
    """Row's cooperation in the last tenth of training."""
    return _mean(part(of("state/CC"), 0.9, 1.0)) + _mean(part(of("state/CD"), 0.9, 1.0))


def late_fall(of: Callable[[str], Curve]) -> float:
    """How much of row's cooperation is given up between the middle third and the last tenth."""
    middle = _mean(part(of("state/CC"), 1 / 3, 2 / 3)) + _mean(part(of("state/CD"), 1 / 3, 2 / 3))
    return middle - final_cooperation(of)


def co_player_cooperation(of: Callable[[str], Curve]) -> float:
    """Column's cooperation in the middle third of training."""
    return _mean(part(of("state/CC"), 1 / 3, 2 / 3)) + _mean(part(of("state/DC"), 1 / 3, 2 / 3))


def early_advantage(of: Callable[[str], Curve]) -> float:
    """Row's reward minus column's, at its largest over any tenth of training."""
    gap = [row - column for row, column in zip(of("reward/row"), of("reward/column"), strict=True)]
    return max(_mean(part(gap, i / 10, (i + 1) / 10)) for i in range(10))


def distance_to_a_pure_equilibrium(arm: str) -> Measure:
    """Chicken: how far row's reward is from 1 or 3, whichever is nearer."""

    def measure(results: Results) -> list[float]:
        return [min(abs(value - 1.0), abs(value - 3.0)) for value in per_round(arm, "row")(results)]

    return measure


def share_at(arm: str, reward: float) -> Measure:
    """For each seed, 1 if row's reward is within 0.2 of this, else 0."""

    def measure(results: Results) -> list[float]:
        return [float(abs(value - reward) <= 0.2) for value in per_round(arm, "row")(results)]

    return measure
