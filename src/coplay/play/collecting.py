"""The garbage collector while games are played: records are many, stay, and hold no cycles, so it looks through them in vain."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

SELDOM = (100_000, 50, 50)
"""The collector's thresholds: it runs after every 100,000 new objects instead of 700."""


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """In the block, the garbage collector runs seldom; as before where it does already, or is off."""
    before = gc.get_threshold()
    if not 0 < before[0] < SELDOM[0]:
        yield
        return
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
