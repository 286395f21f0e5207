"""The numbers that ShapeLLM's claims read off training curves."""

from __future__ import annotations

import math

from coplay.evaluation.measures import Curve, SeedCurves, mean


def part(curve: Curve, start: float, end: float) -> Curve:
    """The part of a curve between two fractions of its length; one trial at least, if there is any."""
    first = min(int(start * len(curve)), len(curve) - 1)
    return curve[first : max(first + 1, int(end * len(curve)))]


def steepness_of_the_first_fall(of: SeedCurves) -> float:
    """How much faster row's cooperation falls in the first tenth of training than in the middle third, per trial."""
    cooperation = [cc + cd for cc, cd in zip(of("state/CC"), of("state/CD"), strict=True)]

    def fall(start: float, end: float) -> float:
        piece = part(cooperation, start, end)
        if not piece:
            return math.nan  # a run without trials, which evaluates the start
        return (piece[0] - piece[-1]) / max(1, len(piece) - 1)

    return fall(0.0, 0.1) - fall(1 / 3, 2 / 3)


def final_cooperation(of: SeedCurves) -> float:
    """Row's cooperation in the last tenth of training."""
    return mean(part(of("state/CC"), 0.9, 1.0)) + mean(part(of("state/CD"), 0.9, 1.0))


def late_fall(of: SeedCurves) -> float:
    """How much of row's cooperation is given up between the middle third and the last tenth."""
    middle = mean(part(of("state/CC"), 1 / 3, 2 / 3)) + mean(part(of("state/CD"), 1 / 3, 2 / 3))
    return middle - final_cooperation(of)


def co_player_cooperation(of: SeedCurves) -> float:
    """Column's cooperation in the middle third of training."""
    return mean(part(of("state/CC"), 1 / 3, 2 / 3)) + mean(part(of("state/DC"), 1 / 3, 2 / 3))


def early_advantage(of: SeedCurves) -> float:
    """Row's reward minus column's, at its largest over any tenth of training."""
    gap = [row - column for row, column in zip(of("reward/row"), of("reward/column"), strict=True)]
    return max(mean(part(gap, i / 10, (i + 1) / 10)) for i in range(10))
