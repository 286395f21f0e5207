"""Locks: one process works on a directory at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.writing import delete_abandoned

LOCK = ".lock"
"""The name of the lock. The file's presence alone means nothing."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a directory for this process, and delete what processes that died were writing in it and its folders.

    The system lets go of it when the process ends, however it ends.

    Raises:
        UsageError: if another process has it, or if its lock is a link, which may lead to anybody's file.
    """
    file = path / LOCK
    if file.is_symlink():
        raise UsageError(f"{file} is a link, which a run's lock never is; remove it")
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(f"{path} is in use by another coplay process") from None
    try:
        for folder in (path, *(one for one in path.iterdir() if one.is_dir() and not one.is_symlink())):
            delete_abandoned(folder)
        yield
    finally:
        lock.release()
