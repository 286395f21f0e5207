"""The game of a run."""

from __future__ import annotations

from coplay.games import make_game
from coplay.games.base import Game
from coplay.runs.config import Config


def game_of(config: Config) -> Game:
    """The game that a config names, for episodes of as many rounds as the config says."""
    return make_game(config.game).lasting(config.rounds)
