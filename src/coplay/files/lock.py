"""Locks: one process works on a directory at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.fence import check_grant, has_grant, revoke
from coplay.files.writing import delete_abandoned

LOCK = ".lock"
"""The name of the lock. The file's presence alone means nothing."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a directory for this process, and delete what processes that died were writing in it and its folders.

    The system lets go of it when the process ends, however it ends. Tasks of a cluster that were writing there are shut out; a process that is
    such a task has its grant instead of the lock, which whoever started it holds (:mod:`coplay.files.fence`).

    Raises:
        UsageError: if another process has it, or if its lock is a link, which may lead to anybody's file.
    """
    if has_grant(path):
        check_grant()
        _tidy(path)
        yield
        return
    release = hold(path)
    try:
        revoke(path.absolute())
        _tidy(path)
        yield
    finally:
        release()


def hold(path: Path) -> Callable[[], None]:
    """Take a directory's lock; returns what lets go of it. Raises as :func:`locked` does."""
    file = path / LOCK
    if file.is_symlink():
        raise UsageError(f"{file} is a link, which a run's lock never is; remove it")
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(f"{path} is in use by another coplay process") from None
    return lock.release


def _tidy(path: Path) -> None:
    for folder in (path, *(one for one in path.iterdir() if one.is_dir() and not one.is_symlink())):
        delete_abandoned(folder)


def held_locks() -> frozenset[int] | None:
    """The files on which any process holds a lock now, by inode; None where the system does not tell (others than Linux).

    It asks the system and takes no lock: a lock that a reader takes, even for a moment, would refuse whoever is just about to resume a run.
    """
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    # `1: FLOCK  ADVISORY  WRITE 812 fe:00:5555300 0 EOF`. Devices are not compared: some file systems give two numbers for one.
    places = [line.split()[5].rpartition(":")[2] for line in lines if " FLOCK " in line and "->" not in line]
    return frozenset(int(inode) for inode in places if inode.isdecimal())


def is_held(path: Path, held: frozenset[int]) -> bool:
    """Whether a directory's lock is among those that are held."""
    try:
        return os.lstat(path / LOCK).st_ino in held
    except OSError:
        return False
