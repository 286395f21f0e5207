"""Threads and memory of a process that computes with models."""

from __future__ import annotations

import ctypes
import os

from coplay.errors import CoplayError


def set_threads(threads: int | None) -> int:
    """Fix torch's thread count (results are reproducible for one count) and return it."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return int(torch.get_num_threads())


def keep_freed_memory() -> None:
    """Let the process keep up to 256 MB that it has freed, instead of giving it back to the system after every large tensor.

    Getting it again costs a page fault for every 4 KB, more than the arithmetic of small networks. Only with glibc; elsewhere nothing changes.
    """
    trim_threshold, mmap_threshold, megabyte = -1, -3, 2**20  # as in malloc.h
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 32 * megabyte)
        libc.mallopt(trim_threshold, 256 * megabyte)
    except (AttributeError, OSError, TypeError):  # pragma: no cover - another C library
        return


def available_threads() -> int:
    """Threads this process may use: as many as it may use cores, and no more than ``OMP_NUM_THREADS`` says."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError as error:  # pragma: no cover - not on Linux
        count = os.cpu_count()
        if count is None:
            raise CoplayError("the number of cores cannot be told; set threads=N") from error
        cores = count
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # a list is of nested levels
    return min(cores, int(wanted)) if wanted.isdecimal() and int(wanted) > 0 else cores
