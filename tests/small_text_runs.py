"""Text runs and n-seat runs of a few seconds."""

from __future__ import annotations

from typing import Any

from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config, with_overrides
from coplay.runs.factory import build
from coplay.runs.state import TrainingState

SMALL_TEXT = ["rounds=3", "games=6", "group_size=3", "trials=3", "eval_games=3", "threads=1", "checkpoint_every=1"]
"""Overrides that make a run of a text game small."""


def small_text(recipe: str, *overrides: str) -> Config:
    """A recipe of a text game, small, at a rate that changes something in a few trials."""
    rate = "learner.group.learning_rate=0.01"
    return with_overrides(make_config(f"adalign/{recipe}"), [*SMALL_TEXT, "seeds=[0]", rate, *overrides])


def text_state(recipe: str, *overrides: str) -> TrainingState:
    """The same, built."""
    return build(small_text(recipe, *overrides))


def tables_config(game: str, learners: dict[str, dict[str, Any]], seats: dict[str, Any], **more: Any) -> Config:
    """A small run of tables in any game with few actions.

    Args:
        game: the game.
        learners: settings of each learner, beyond its being a table.
        seats: who sits in each seat.
        more: further settings of the run.
    """
    data = {
        "recipe": "test",
        "game": game,
        "seeds": [0],
        "trials": 3,
        "episodes": 2,
        "rounds": 4,
        "games": 6,
        "eval_games": 3,
        "threads": 1,
        "checkpoint_every": 1,
        "learners": {name: {"policy": "tabular", **own} for name, own in learners.items()},
        "seats": seats,
        **more,
    }
    return parse_config(data)
