"""Which share of the machine's fastest matrix product a trial reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Job = Callable[[int], Any]
"""Runs the trial of that number."""


def products(job: Job, trial: int, precision: str) -> dict[str, float]:
    """The floating-point operations of one trial of coplay in one process, the seconds of the next one, and the machine's :func:`peak`."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        job(trial)
    start = time.perf_counter()
    job(trial + 1)
    seconds = time.perf_counter() - start
    return {"operations": counter.get_total_flops(), "seconds": seconds, "peak": peak(precision)}


def peak(precision: str) -> float:
    """Operations a second of the fastest matrix product: 545 tokens by a matrix of SmolLM2's MLP, with torch's number of threads."""
    import torch

    x = torch.randn(545, 576, dtype=getattr(torch, precision))
    weight = torch.randn(3072, 576, dtype=x.dtype)
    repeats, best = 50, 0.0
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(repeats):
            torch.nn.functional.linear(x, weight)
        best = max(best, repeats * 2 * x.numel() * len(weight) / (time.perf_counter() - start))
    return best
