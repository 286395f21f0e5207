"""The numbers that ShapeLLM's claims read off training curves."""

from __future__ import annotations

import math
from collections.abc import Callable

from coplay.evaluation.measures import Curve, SeedCurves, best_tenth, last_tenth, mean


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


def swerving_left(of: SeedCurves) -> float:
    """What is left of row's first action after a fifth of training: its share over the tenth that follows, relative to that in the first trial."""
    shares = first_action(of, "SS", "SG")
    return mean(part(shares, 0.2, 0.3)) / shares[0] if shares and shares[0] > 0.0 else math.nan


def rarer_of_two(first: str, second: str) -> Callable[[SeedCurves], float]:
    """The share of the less frequent of two joint actions over the last tenth of training: near ½ only if there are no others and both are equal."""
    return lambda of: min(mean(last_tenth(of(f"state/{first}"))), mean(last_tenth(of(f"state/{second}"))))


def first_action(of: SeedCurves, *states: str) -> Curve:
    """The share of rounds in which row plays its first action, trial by trial; ``states`` are the joint actions that begin with it."""
    return [sum(shares) for shares in zip(*(of(f"state/{state}") for state in states), strict=True)]


def time_to_half(*states: str) -> Callable[[SeedCurves], float]:
    """How much of training passes until row plays its first action in fewer than half of a trial's rounds; 1 if it never does."""

    def share(of: SeedCurves) -> float:
        played = first_action(of, *states)
        if not played:
            return math.nan
        return next((trial for trial, value in enumerate(played) if value < 0.5), len(played)) / len(played)

    return share


def final_share(*states: str) -> Callable[[SeedCurves], float]:
    """The share of rounds in which row plays its first action over the last tenth of training."""
    return lambda of: mean(last_tenth(first_action(of, *states)))


def initial_share(*states: str) -> Callable[[SeedCurves], float]:
    """The share of rounds in which row plays its first action in the first trial."""
    return lambda of: next(iter(first_action(of, *states)), math.nan)


AHEAD = 0.1
"""A lead in reward per step that counts as one: a trial of 500 rounds between equal players seldom has a larger one."""


def time_ahead(of: SeedCurves) -> float:
    """The share of trials in which row's reward is larger than column's by :data:`AHEAD` at least."""
    leads = [row - column for row, column in zip(of("reward/row"), of("reward/column"), strict=True)]
    return mean([float(lead >= AHEAD) for lead in leads if math.isfinite(lead)])


def cooperation_of_both(of: SeedCurves) -> float:
    """The mean rate of cooperation of the two players over all of training."""
    return mean(of("state/CC")) + (mean(of("state/CD")) + mean(of("state/DC"))) / 2.0


def worst_tenth(of: SeedCurves) -> float:
    """Row's reward per step in the worst tenth of training."""
    return -best_tenth([-reward for reward in of("reward/row")])


def extortion_bound(*, temptation: float, reward: float, punishment: float, sucker: float) -> float:
    """The most that a zero-determinant extortion strategy can get a round in the long run, whoever its co-player is.

    Such a strategy enforces s_X - P = χ (s_Y - P) with χ ≥ 1 (Press & Dyson 2012, eq. 13), so s_X > P only if s_Y > P: whoever extorts leaves
    its co-player mutual defection's payoff at least. A pair of payoffs lies in the hull of (R, R), (S, T), (T, S) and (P, P), where the largest
    s_X at a given s_Y ≤ R lies between (R, R) and (T, S). It falls in s_Y, so the bound is its value at s_Y = P. There the co-player meets
    cooperation with probability q = (P - S) / (R - S), while it always cooperates, and

        s_X = q R + (1 - q) T.

    It is approached as χ grows, against a co-player that always cooperates. In coplay's dilemma (T, R, P, S = 4, 3, 1, 0) it is 11/3.

    Args:
        temptation: T, for defecting against a cooperator.
        reward: R, for mutual cooperation.
        punishment: P, for mutual defection.
        sucker: S, for cooperating with a defector.

    Raises:
        ValueError: unless T > R > P > S.
    """
    if not temptation > reward > punishment > sucker:
        raise ValueError(f"a dilemma has T > R > P > S, got {temptation}, {reward}, {punishment}, {sucker}")
    q = (punishment - sucker) / (reward - sucker)
    return q * reward + (1.0 - q) * temptation


def early_advantage(of: SeedCurves) -> float:
    """Row's reward minus column's, at its largest over any tenth of training."""
    gap = [row - column for row, column in zip(of("reward/row"), of("reward/column"), strict=True)]
    return max(mean(part(gap, i / 10, (i + 1) / 10)) for i in range(10))
