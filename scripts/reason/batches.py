"""What is demonstrated in a step of the training."""

from __future__ import annotations

from functools import cache

from talk.demonstrations import Demonstration

from reason.demonstrations import Lessons, demonstrations, lessons_of

GAMES_A_STEP = {"ipd-8": 2, "auction": 3, "negotiation-v1": 4, "negotiation-v2": 9, "kuhn": 4}
"""Games played for a step's demonstrations: the more, the harder a game is."""


@cache
def lessons() -> dict[str, Lessons]:
    """The lessons of all games."""
    return {name: lessons_of(name) for name in GAMES_A_STEP}


def batch_of(seed: int, step: int, *, early: bool) -> list[Demonstration]:
    """A step's demonstrations, of all games."""
    return [
        one
        for name, games in GAMES_A_STEP.items()
        for one in demonstrations(lessons()[name], seed=seed, batch=step, games=games, early=early)
    ]
