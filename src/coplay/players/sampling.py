"""From a distribution and a uniform number to a choice."""

from __future__ import annotations

from collections.abc import Sequence


def sample(probs: Sequence[float], draw: float) -> int:
    """The index that a uniform ``draw`` in [0, 1) picks from a distribution, by inverting its cumulative sum.

    Never picks an index of probability 0, however the sum was rounded.
    """
    total = 0.0
    last = 0
    for i, p in enumerate(probs):
        if p > 0.0:
            total += p
            last = i
            if draw < total:
                return i
    return last
