"""Initial policies of tables: the games that they fit, and tables that start from uniform in all others."""

from __future__ import annotations

from collections.abc import Collection

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.runs.config import Config
from coplay.runs.games import game_of


def initial_length(game: Game, seat: str) -> int | None:
    """How many probabilities an initial policy of a seat has: one at the start, and one after each state of a round.

    None in games where a seat has not two actions a round; tables start from uniform there.
    """
    if game.actions is None or len(game.conducts(seat)) != 2:
        return None
    return 1 + len(game.own_states(seat))


def fitting(config: Config, given: Collection[str] = ()) -> Config:
    """The config after its game has changed: tables whose recipe gives them an initial policy that does not fit the game start from uniform.

    Args:
        config: the config, with the new game.
        given: keys of settings that somebody named; an initial policy among them is left to be refused.
    """
    try:
        game = game_of(config)
    except CoplayError:  # told when the config is checked
        return config
    learners = dict(config.learners)
    for name, learner in config.learners.items():
        if learner.initial is None or {f"{name}.initial", name, "learners"} & {
            key.removeprefix("learners.") for key in given
        }:
            continue
        seats = [seat for seat in config.seats if name in config.sits_in(seat) and seat in game.seats]
        if any(initial_length(game, seat) != len(learner.initial) for seat in seats):
            learners[name] = learner.model_copy(update={"initial": None, "reciprocity": 1.0})
    return config.model_copy(update={"learners": learners})
