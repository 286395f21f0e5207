"""Welfare of a one-round game: its bounds, what its equilibria come to, and what selfish play costs.

Welfare is the sum of the payoffs that the playing seats expect. The price of anarchy is the most welfare that any plans reach over that of the worst
pure equilibrium, the price of stability over that of the best one (Koutsoupias & Papadimitriou 1999; Anshelevich et al. 2004). Between the two lies
what the choice of an equilibrium is worth, which is all that a mediator without power over payoffs can bring about.
"""

from __future__ import annotations

from dataclasses import dataclass

from coplay.games.base import Game
from coplay.games.stage_equilibria import Equilibrium, Stage, equilibria_of, stage_of


@dataclass(frozen=True)
class StageWelfare:
    """Welfare of a game's first round, per round."""

    least: float
    """The least that pure plans come to."""
    most: float
    """The most."""
    equilibria: tuple[Equilibrium, ...]
    """All pure equilibria."""
    at_equilibria: tuple[float, ...]
    """The welfare of each of them."""

    @property
    def worst(self) -> float | None:
        """Welfare of the worst pure equilibrium; None if there is none."""
        return min(self.at_equilibria, default=None)

    @property
    def best(self) -> float | None:
        """Welfare of the best pure equilibrium; None if there is none."""
        return max(self.at_equilibria, default=None)

    @property
    def price_of_anarchy(self) -> float | None:
        """``most / worst``; None without a pure equilibrium, and where welfare is not above 0, of which there are no shares."""
        return _ratio(self.most, self.worst)

    @property
    def price_of_stability(self) -> float | None:
        """``most / best``; None as for :attr:`price_of_anarchy`."""
        return _ratio(self.most, self.best)


def _ratio(most: float, reached: float | None) -> float | None:
    return None if reached is None or reached <= 0 else most / reached


def stage_welfare(game: Game) -> StageWelfare:
    """The welfare of a game's first round.

    Raises:
        UsageError: if the game's equilibria cannot be enumerated; see :func:`coplay.games.stage_equilibria.stage_equilibria`.

    Example:
        >>> from coplay.games import make_game
        >>> found = stage_welfare(make_game("stag-hunt-3:talk=0"))
        >>> len(found.equilibria), found.worst, found.best, found.price_of_anarchy
        (8, 12.0, 24.0, 2.0)
    """
    stage = stage_of(game)
    found = equilibria_of(game, stage)
    least, most = _bounds(stage, game)
    return StageWelfare(least, most, tuple(found), tuple(sum(one.payoffs.values()) for one in found))


def _bounds(stage: Stage, game: Game) -> tuple[float, float]:
    """The least and the most welfare of any profile."""
    sums = [sum(stage.value(profile, seat) for seat in range(len(game.seats))) for profile in stage.profiles()]
    return min(sums), max(sums)
