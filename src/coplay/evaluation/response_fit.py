"""Regressions by which a player is fitted: logistic for decisions of two kinds, linear for numbers; with errors that count games, not rounds.

Both minimise, with a small ridge on all coefficients but the intercept (``lambda/2 |w|^2``), the negative log-likelihood, by Newton's method.
Standard errors are clustered sandwiches: decisions of one game are not independent. With H the Hessian and s_g the sum of a game's scores,
``Cov = G/(G-1) H^-1 (sum_g s_g s_g') H^-1``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from coplay.statistics import Z95

Floats = npt.NDArray[np.float64]

RIDGE = 0.1
"""Lambda. It keeps the coefficients of a player that always does the same finite."""

_MOST_STEPS, _CLOSE = 200, 1e-9
"""Newton's method ends after so many steps, or when no coefficient moves by more."""

_LEAST_SPREAD = 1e-3
"""Of numbers around their prediction: a player that always asks the same has a finite log-likelihood too."""


@dataclass(frozen=True)
class Fit:
    """A regression."""

    kind: Literal["yes_or_no", "number"]
    """Logistic or linear."""
    weights: Floats
    """The coefficients."""
    covariance: Floats
    """Theirs, clustered by game."""
    spread: float | None
    """The standard deviation of numbers around their prediction; None for decisions of two kinds."""

    def predicted(self, x: Floats) -> Floats:
        """The probability of a 1, or the expected number, for each row of features."""
        score = x @ self.weights
        return _sigmoid(score) if self.kind == "yes_or_no" else score

    def log_losses(self, x: Floats, y: Floats) -> Floats:
        """Minus the log-likelihood of each decision, in nats."""
        found = self.predicted(x)
        if self.kind == "yes_or_no":
            p = np.clip(found, 1e-12, 1 - 1e-12)
            return -(y * np.log(p) + (1 - y) * np.log(1 - p))
        spread = self.spread or _LEAST_SPREAD
        return 0.5 * ((y - found) / spread) ** 2 + math.log(spread * math.sqrt(2 * math.pi))

    def errors(self) -> Floats:
        """Standard errors of the coefficients."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit(
    x: Floats, y: Floats, games: Sequence[int], kind: Literal["yes_or_no", "number"], *, ridge: float = RIDGE
) -> Fit:
    """Fit a regression.

    Args:
        x: features [N, F], the intercept first.
        y: decisions [N].
        games: the game of each.
        kind: logistic or linear.
        ridge: lambda.
    """
    penalty = np.full(x.shape[1], ridge)
    penalty[0] = 1e-6  # of the intercept: just enough to keep it finite
    if kind == "number":
        hessian = x.T @ x + np.diag(penalty)
        weights: Floats = np.asarray(np.linalg.solve(hessian, x.T @ y), dtype=np.float64)
        left = y - x @ weights
        freedom = max(1, len(y) - x.shape[1])
        spread = max(_LEAST_SPREAD, math.sqrt(float(left @ left) / freedom))
        return Fit(kind, weights, _clustered(hessian, x * left[:, None], games), spread)
    weights = np.zeros(x.shape[1], dtype=np.float64)
    penalty[0] = max(1e-6, ridge / 10)  # one that always does the same would have an infinite intercept
    value = _objective(x, y, weights, penalty)
    for _ in range(_MOST_STEPS):
        p = _sigmoid(x @ weights)
        gradient = x.T @ (p - y) + penalty * weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (after := _objective(x, y, weights - size * step, penalty)) > value + 1e-12 and size > 1e-8:
            size /= 2
        weights, value = np.asarray(weights - size * step, dtype=np.float64), after
        if float(np.abs(size * step).max()) < _CLOSE:
            break
    p = _sigmoid(x @ weights)
    hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty)
    return Fit(kind, weights, _clustered(hessian, x * (y - p)[:, None], games), None)


def mean_effect(found: Fit, without: Floats, with_it: Floats) -> tuple[float, float]:
    """What a change of features does to the prediction, averaged over rows, and half its 95 % interval (delta method)."""
    before, after = found.predicted(without), found.predicted(with_it)
    if found.kind == "yes_or_no":
        slope = ((after * (1 - after))[:, None] * with_it - (before * (1 - before))[:, None] * without).mean(axis=0)
    else:
        slope = (with_it - without).mean(axis=0)
    return float((after - before).mean()), Z95 * math.sqrt(max(0.0, float(slope @ found.covariance @ slope)))


def _objective(x: Floats, y: Floats, weights: Floats, penalty: Floats) -> float:
    score = x @ weights
    return float((np.logaddexp(0.0, score) - y * score).sum() + 0.5 * (penalty * weights**2).sum())


def _clustered(hessian: Floats, scores: Floats, games: Sequence[int]) -> Floats:
    inverse: Floats = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    names = sorted(set(games))
    place = {name: i for i, name in enumerate(names)}
    sums = np.zeros((len(names), scores.shape[1]))
    np.add.at(sums, [place[game] for game in games], scores)
    factor = len(names) / (len(names) - 1) if len(names) > 1 else 1.0
    found: Floats = factor * inverse @ (sums.T @ sums) @ inverse
    return found


def _sigmoid(score: Floats) -> Floats:
    found: Floats = 0.5 * (1.0 + np.tanh(0.5 * score))
    return found
