"""How many processes a run's seeds are shared out over, if its config does not say."""

from __future__ import annotations

import os

from coplay.runs.config import Config

LARGEST_SHARED_MODEL = 500_000_000
"""Parameters of a model up to which every worker may hold a copy of it. Larger ones keep all threads of one process busy anyway."""

_SHARE_OF_MEMORY = 0.25
"""Of the machine's, which the workers' copies of a model may take."""

_BYTES_PER_PARAMETER = 4

FEWEST_TRIALS = 10
"""Runs of fewer trials are over before a second process has started."""


def workers_for(config: Config, threads: int, *, alone: bool, size: int, on_cpu: bool) -> int:
    """The same, from what it depends on.

    Args:
        config: the run.
        threads: CPU threads of all processes together.
        alone: whether all seeds must be in one process.
        size: parameters of its language model; 0 without one.
        on_cpu: whether models are on the CPU.
    """
    if alone:
        return 1
    if config.workers is not None:
        return min(config.workers, len(config.seeds))
    if config.trials < FEWEST_TRIALS:
        return 1
    wanted = min(threads, len(config.seeds))
    if not size:
        return wanted
    if not on_cpu or size > LARGEST_SHARED_MODEL:
        return 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(wanted, int(_SHARE_OF_MEMORY * memory) // (_BYTES_PER_PARAMETER * size)))
