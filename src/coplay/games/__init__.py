"""Games: rules only. They know nothing of prompts, players or models."""

from coplay.games.catalog import GAMES, make_game
from coplay.games.matrix import Joint, MatrixGame

__all__ = ["GAMES", "Joint", "MatrixGame", "make_game"]
