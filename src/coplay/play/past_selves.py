"""The buffer of past selves: which snapshots are kept, and who plays against one.

A fixed number of places holds an even sample of all snapshots ever taken (reservoir sampling, Vitter's algorithm R), so memory does not
grow with their number. Which place holds which snapshot follows from the seed and the trial alone, so a resumed run needs no record of it.
"""

from __future__ import annotations

from coplay.rng import draws


def place_of_snapshot(seed: int, number: int, *, pool_size: int) -> int | None:
    """Where a snapshot goes; None if it is not kept.

    Args:
        seed: the run's seed.
        number: how many were taken before it.
        pool_size: how many places there are.
    """
    if number < pool_size:
        return number
    (uniform,) = draws(seed, "snapshot", number, n=1)
    place = int(uniform * (number + 1))
    return place if place < pool_size else None


def occupied(trial: int, *, snapshot_interval: int, pool_size: int) -> int:
    """How many places hold a snapshot in a trial, the one taken at its beginning included."""
    return min(pool_size, trial // snapshot_interval + 1)


def past_self_drawn(
    trial: int, seed: int, index: int, *names: str, probability: float, snapshot_interval: int, pool_size: int
) -> int | None:
    """The place of the past self that fills a seat of a game, each as likely; None for the present self.

    Args:
        trial: the trial, from 0.
        seed: the run's seed.
        index: the game's number in the trial.
        names: the seat, where more than one seat may be filled by past selves.
        probability: of a past self.
        snapshot_interval: trials between two snapshots.
        pool_size: places in the buffer.
    """
    whether, which = draws(seed, "past self", trial, index, *names, n=2).tolist()
    places = occupied(trial, snapshot_interval=snapshot_interval, pool_size=pool_size)
    return int(which * places) if whether < probability else None
