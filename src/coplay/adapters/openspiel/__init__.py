"""OpenSpiel, both ways: its games in coplay, coplay's games in it, and coplay's players as its policies."""

from coplay.adapters.openspiel.naming import openspiel_game
from coplay.adapters.openspiel.policies import as_policy
from coplay.adapters.openspiel.pyspiel_games import as_pyspiel

__all__ = ["as_policy", "as_pyspiel", "openspiel_game"]
