"""How well a fitted player predicts games that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coplay.evaluation.response_fit import Fit, Floats, fit
from coplay.games.decisions import Decisions
from coplay.statistics import Z95

HELD_OUT = 0.25
"""The share of the games."""

BINS = 5
"""Of predictions, from 0 to 1, whose mean is compared with what was done."""


@dataclass(frozen=True)
class Data:
    """The decisions of one player."""

    x: Floats
    """Features [N, F]."""
    y: Floats
    """Decisions [N]."""
    games: list[int]
    """The game of each."""

    def of(self, games: set[int]) -> Data:
        """Those of these games."""
        rows = [i for i, game in enumerate(self.games) if game in games]
        return Data(self.x[rows], self.y[rows], [self.games[i] for i in rows])


def held_out_games(games: Sequence[int], seed: int) -> set[int]:
    """The games that are held out, by a seeded draw."""
    names = sorted(set(games))
    order = np.random.default_rng(seed).permutation(len(names))
    return {names[i] for i in order[: max(1, round(HELD_OUT * len(names)))]}


def quality(data: Data, features: Sequence[str], decisions: Decisions, seed: int) -> dict[str, object] | None:
    """Loss on held-out games of the model, of the last action alone and of a constant; and calibration. None if either part has no decisions."""
    held = held_out_games(data.games, seed)
    test, train = data.of(held), data.of(set(data.games) - held)
    if not len(test.y) or not len(train.y):
        return None
    found = {
        "model": list(range(len(features))),
        "last_action": [i for i, name in enumerate(features) if name in decisions.baseline],
        "constant": [0],
    }
    fits = {name: fit(train.x[:, of], train.y, train.games, decisions.kind) for name, of in found.items()}
    losses = {name: float(fits[name].log_losses(test.x[:, of], test.y).mean()) for name, of in found.items()}
    return {
        "seed": seed,
        "games": {"fitted": len(set(train.games)), "held_out": len(set(test.games))},
        "decisions": {"fitted": len(train.y), "held_out": len(test.y)},
        "log_loss": losses,
        **_calibration(fits["model"], test),
    }


def _calibration(found: Fit, test: Data) -> dict[str, object]:
    """Of decisions of two kinds the predicted and the true share in bins; of numbers the error and how many lie in the 95 % interval."""
    predicted = found.predicted(test.x)
    if found.kind == "number":
        inside = np.abs(test.y - predicted) <= Z95 * (found.spread or 0.0)
        error = float(np.sqrt(((test.y - predicted) ** 2).mean()))
        return {"root_mean_square_error": error, "within_95": float(inside.mean())}
    bins = []
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    for one in range(BINS):
        rows = place == one
        if rows.any():
            bins.append(
                {"n": int(rows.sum()), "predicted": float(predicted[rows].mean()), "done": float(test.y[rows].mean())}
            )
    error = sum(abs(one["predicted"] - one["done"]) * one["n"] for one in bins) / len(test.y)
    return {"calibration_error": error, "calibration": bins}
