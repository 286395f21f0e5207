
from coplay.adapters.openspiel.naming import openspiel_game

__all__ = ["openspiel_game"]
