"""Games: rules and words. They know nothing of players or models."""

from coplay.games.base import Game
from coplay.games.catalogue import GAMES, make_game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Joint

__all__ = ["GAMES", "Game", "Joint", "MatrixGame", "make_game"]
