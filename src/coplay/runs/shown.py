"""Which of a run's trials are kept as complete games for reading."""

from __future__ import annotations

from functools import cache

SHOWN_TRIALS = 5
"""Trials, evenly spread from first to last, of which complete games are kept for reading."""


@cache
def shown_trials(trials: int) -> frozenset[int]:
    """The trials, from 1, of which complete games are kept: the first, the last and some evenly spread between."""
    if trials <= SHOWN_TRIALS:
        return frozenset(range(1, trials + 1))
    return frozenset(1 + round(i * (trials - 1) / (SHOWN_TRIALS - 1)) for i in range(SHOWN_TRIALS))
