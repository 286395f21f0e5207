"""How much memory there is on the device that a run would use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Where a container's limit and what it uses are written, in version 2 and 1."""


LATER = 64 * 2**20
"""Bytes of what a run imports later than this, and of what the allocator keeps."""


@dataclass(frozen=True)
class Device:
    """A device with what is free there."""

    kind: str
    """``cuda`` or ``cpu``."""
    name: str
    """In words, for a reader."""
    free: int
    """Bytes that a run can have."""
    libraries: int
    """Bytes that Python and its libraries take in a process; 0 where they are elsewhere."""


def device_there(kind: str) -> Device:
    """The device of that kind, with what is free at this moment.

    Args:
        kind: ``cuda`` or ``cpu``.
    """
    if kind == "cuda":
        import torch

        free, _ = torch.cuda.mem_get_info()
        return Device(kind, f"GPU {torch.cuda.current_device()} ({torch.cuda.get_device_name()})", free, 0)
    own = _own()
    return Device(kind, "this machine", min(_free_memory() + own, _left_of_container(own)), own + LATER)


def _own() -> int:
    """Bytes of this process that are its alone or its libraries'."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # not Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _free_memory() -> int:
    """Bytes that can be had without swapping; where that is not told, all that the machine has."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _left_of_container(own: int) -> int:
    """Bytes up to the limit of the container that this process is in; without one, more than any machine has."""
    for limit, used in _CGROUPS:
        try:
            most, now = (Path(file).read_text(encoding="ascii").strip() for file in (limit, used))
            return max(0, int(most) - int(now)) + own
        except (OSError, ValueError):  # there is no such file, or no limit ("max")
            continue
    return 2**62
