"""A tournament ranked: mean payoffs, who gets more in a game (Bradley-Terry, on the scale of Elo), and who would be left if the successful were imitated.

The three need not agree. Tit for tat never gets more than its co-player in a game, and often more than all others in the mean.

Shapes: P players.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from coplay.statistics import Z95, Interval
from coplay.terminal.tables import align

if TYPE_CHECKING:
    from coplay.evaluation.cross_play import CrossPlay

Floats = npt.NDArray[np.float64]

ELO = 400.0 / math.log(10.0)
"""Points of Elo's scale in a unit of log-strength: 400 points are odds of ten to one."""

PRIOR = 0.5
"""Games that everybody is taken to have won, and lost, against everybody else it met: whoever never lost keeps a finite rating."""

_STEPS, _CLOSE = 20_000, 1e-13
"""Of iterations: how many at most, as shares may go round for ever, and when nothing moves any more."""


class RankRecord(TypedDict):
    """A player's line in ``ranking`` of ``coplay eval --matrix --json``."""

    player: str
    """The player."""
    per_round: float | None
    """Its mean payoff per round against all others; None where a pair has no number."""
    ci95: float | None
    """Half the width of its interval."""
    elo: float | None
    """Its rating; the mean of all is 0. None where games were not counted."""
    elo_ci95: float | None
    """Half the width of its interval."""
    share: float | None
    """Its share in the end of the replicator dynamics that begin with equal shares; None where a pair has no number."""


@dataclass(frozen=True)
class Rank:
    """A player's place."""

    player: str
    """The player."""
    payoff: Interval
    """Its mean payoff per round against all others."""
    elo: Interval | None
    """Its rating."""
    share: float | None
    """Its share in the end of the replicator dynamics."""

    def to_dict(self) -> RankRecord:
        """As JSON."""
        known = not math.isnan(self.payoff.mean)
        return {
            "player": self.player,
            "per_round": self.payoff.mean if known else None,
            "ci95": self.payoff.half_width if known else None,
            "elo": None if self.elo is None else self.elo.mean,
            "elo_ci95": None if self.elo is None else self.elo.half_width,
            "share": self.share,
        }


def ranking(found: CrossPlay) -> list[Rank]:
    """All players, the largest mean payoff first."""
    number = len(found.players)
    cells = [[found.interval(i, j) for j in range(number)] for i in range(number)]
    payoffs_PP = np.array([[cell.mean for cell in line] for line in cells])
    shares = replicator_shares(payoffs_PP).tolist() if np.isfinite(payoffs_PP).all() else [None] * number
    elo = [None] * number if found.wins is None else elo_ratings(*_counts(found.wins))
    ranks = [
        Rank(name, _mean([cells[i][j] for j in range(number) if j != i]), elo[i], shares[i])
        for i, name in enumerate(found.players)
    ]
    return sorted(ranks, key=lambda one: (math.isnan(one.payoff.mean), -one.payoff.mean))


def elo_ratings(wins_PP: Floats, games_PP: Floats) -> list[Interval]:
    """Ratings with 95 % intervals, from who won how many games against whom; a draw is half a win.

    The model of Bradley and Terry (1952): i wins against j with probability ``1 / (1 + exp(s_j - s_i))``. Strengths s, of mean 0, maximise the
    likelihood with :data:`PRIOR`; intervals come from its curvature.

    Args:
        wins_PP: games that the line's player won against the column's.
        games_PP: independent games that they played.
    """
    met_PP = (games_PP > 0) & ~np.eye(len(games_PP), dtype=bool)
    wins_PP = np.where(met_PP, wins_PP + PRIOR, 0.0)
    games_PP = np.where(met_PP, games_PP + 2 * PRIOR, 0.0)
    strengths_P = np.ones(len(wins_PP))
    for _ in range(_STEPS):  # Hunter (2004), equation 3
        expected_P = (games_PP / (strengths_P[:, None] + strengths_P[None, :])).sum(axis=1)
        following_P = wins_PP.sum(axis=1) / np.where(expected_P > 0, expected_P, 1.0)
        following_P = np.where(expected_P > 0, following_P, 1.0)
        following_P /= np.exp(np.log(following_P).mean())
        moved = float(np.abs(np.log(following_P / strengths_P)).max())
        strengths_P = following_P
        if moved < 1e-10:
            break
    p_PP = strengths_P[:, None] / (strengths_P[:, None] + strengths_P[None, :])
    weights_PP = games_PP * p_PP * (1.0 - p_PP)
    information_PP = np.diag(weights_PP.sum(axis=1)) - weights_PP
    variances_P = np.diag(np.linalg.pinv(information_PP))
    halves_P = Z95 * np.sqrt(np.maximum(variances_P, 0.0))
    games = games_PP.sum(axis=1)
    return [
        Interval(ELO * math.log(s), ELO * half, int(n))
        for s, half, n in zip(strengths_P.tolist(), halves_P.tolist(), games.tolist(), strict=True)
    ]


def replicator_shares(payoffs_PP: Floats) -> Floats:
    """The shares of a population in the end, if players who get more than the mean are imitated, beginning with equal shares.

    ``dx_i/dt = x_i ((M x)_i - x·M x)`` (Taylor & Jonker, 1978), in small steps. What comes out may depend on the beginning.

    Args:
        payoffs_PP: M, what the line's player gets per round from the column's.
    """
    shares_P = np.full(len(payoffs_PP), 1.0 / len(payoffs_PP))
    spread = float(payoffs_PP.max() - payoffs_PP.min())
    if spread == 0.0:
        return shares_P
    scaled_PP = (payoffs_PP - payoffs_PP.min()) / spread
    for _ in range(_STEPS):
        fitness_P = scaled_PP @ shares_P
        following_P = shares_P * (1.0 + 0.2 * (fitness_P - shares_P @ fitness_P))
        following_P /= following_P.sum()
        moved = float(np.abs(following_P - shares_P).max())
        shares_P = following_P
        if moved < _CLOSE:
            break
    return shares_P


def ranking_table(ranks: list[Rank]) -> str:
    """As text for a person."""
    rows = [["", "player", "payoff against the others", "Elo", "share if imitated"]]
    for place, one in enumerate(ranks, 1):
        elo = "-" if one.elo is None else f"{round(one.elo.mean)} ± {one.elo.half_width or 0.0:.0f}"
        share = "-" if one.share is None else f"{100 * one.share:.0f} %"
        rows.append([str(place), one.player, str(one.payoff), elo, share])
    told = (
        "Elo is by who gets more in a game, draws half; the share is that of a population in the end in which players that get more than the mean are"
        " imitated, from equal shares"
    )
    return "\n".join([*align(rows), "", told])


def _counts(wins: tuple[tuple[tuple[float, int], ...], ...]) -> tuple[Floats, Floats]:
    of = np.array(wins, dtype=np.float64)
    return of[:, :, 0], of[:, :, 1]


def _mean(cells: list[Interval]) -> Interval:
    """The mean of independent means."""
    if not cells:
        return Interval(math.nan, None, 0)
    mean = sum(cell.mean for cell in cells) / len(cells)
    halves = [cell.half_width for cell in cells]
    if any(half is None for half in halves):
        return Interval(mean, None, sum(cell.n for cell in cells))
    return Interval(mean, math.hypot(*(half or 0.0 for half in halves)) / len(cells), sum(cell.n for cell in cells))
