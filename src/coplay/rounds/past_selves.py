"""The buffer of past selves: which snapshots are kept, and who meets one.

A fixed number of places holds an even sample of all snapshots ever taken (reservoir sampling, Vitter's algorithm R), so memory does not
grow with their number. What sits where follows from the seed and the trial alone, so a resumed run needs no record of it.
"""

from __future__ import annotations

from coplay.rng import draws
from coplay.rounds.config import PastSelves


def place_of_snapshot(seed: int, number: int, *, kept: int) -> int | None:
    """Where a snapshot goes; None if it is not kept.

    Args:
        seed: the run's seed.
        number: how many were taken before it.
        kept: how many places there are.
    """
    if number < kept:
        return number
    (uniform,) = draws(seed, "snapshot", number, n=1)
    place = int(uniform * (number + 1))
    return place if place < kept else None


def occupied(trial: int, settings: PastSelves) -> int:
    """How many places hold a snapshot in a trial, the one taken at its beginning included."""
    return min(settings.kept, trial // settings.every + 1)


def past_self_met(trial: int, seed: int, index: int, settings: PastSelves) -> int | None:
    """The place of the past self that a game is played with, each as likely; None if it is played with the present self.

    Args:
        trial: the trial, from 0.
        seed: the run's seed.
        index: the game's number in the trial.
        settings: the buffer.
    """
    whether, which = draws(seed, "past self", trial, index, n=2).tolist()
    return int(which * occupied(trial, settings)) if whether < settings.share else None
