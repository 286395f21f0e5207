"""Axelrod, both ways: its strategies as players, and players in its matches and tournaments."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from coplay.adapters.axelrod.strategies import axelrod_player
from coplay.errors import missing_extra
from coplay.players.named import PlayerSpec

__all__ = ["as_axelrod", "axelrod_player"]


def as_axelrod(player: PlayerSpec, *, stochastic: bool = True) -> Any:
    """A player of coplay for Axelrod's matches and tournaments; importing Axelrod takes 15 to 30 seconds.

    Args:
        player: by name or object, for a prisoner's dilemma with the actions ``cooperate`` and ``defect``; a run's name stands for its first seed.
        stochastic: False for a player that always does the same after the same history: Axelrod then plays a pair of such players once.

    Returns:
        An ``axelrod.Player``. Named players can be pickled, so that tournaments can use several processes.

    Raises:
        UsageError: if Axelrod is not installed, with the line that installs it.
    """
    try:
        import_module("axelrod")
    except ImportError:
        raise missing_extra("axelrod", "axelrod") from None
    return import_module("coplay.adapters.axelrod.tournament").CoplayPlayer(player, stochastic)
