"""Best responses to earlier policies of a learner as co-players: which are kept, and who meets which.

The newest ones are kept, the oldest is replaced first. Each group of games that meets them draws one, all equally likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coplay.rng import draws


def place_of_response(number: int, *, kept: int) -> int:
    """Where a response goes, if ``number`` were computed before it and ``kept`` are kept."""
    return number % kept


def response_drawn(seed: int, trial: int, group: int, *, places: int) -> int:
    """The place of the response that a group of games meets.

    Args:
        seed: the run's seed.
        trial: the trial, from 0.
        group: the group's number in the trial.
        places: how many places hold a response.
    """
    (uniform,) = draws(seed, "best response", trial, group, n=1)
    return int(uniform * places)


@dataclass(frozen=True)
class ResponseSeating:
    """How best responses take the seat of the co-player that stands for them."""

    name: str
    """The co-player's."""
    places: Callable[[int], int]
    """From the run's seed to how many places hold a response."""
    slot: Callable[[int, int], int]
    """From the run's seed and a place to the slot of the response that is there."""
