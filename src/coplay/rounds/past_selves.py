"""The buffer of past selves: which snapshots are kept, and who meets one.

A fixed number of places holds an even sample of all snapshots ever taken (reservoir sampling, Vitter's algorithm R), so memory does not
grow with their number. What sits where follows from the seed and the trial alone, so a resumed run needs no record of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


class PastSelf(NamedTuple):
    """A past self to play with."""

    place: int
    """Its place in the buffer."""

    @classmethod
    def drawn(cls, chance: Sequence[float], *, share: float, selves: int) -> PastSelf | None:
        """Whom a game is played with, by two uniform numbers: with probability ``share`` a past self, each as likely; else None."""
        whether, which = chance
        return cls(int(which * selves)) if whether < share else None
