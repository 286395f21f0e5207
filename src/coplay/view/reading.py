"""Reading directories that others write at the same time, and keeping what was read until they change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from coplay.errors import CoplayError, UsageError
from coplay.files.store import MANIFEST
from coplay.view.found import stamp_of_file

T = TypeVar("T")

TRIES = 6
"""How often a directory is read that is committed anew while it is read."""

PAUSE = 0.03
"""Seconds before it is read again."""


class Gone(CoplayError):
    """What was asked for is no longer there, or never was."""


def steadily(path: Path, read: Callable[[], T]) -> T:
    """What a directory says, read again if it was committed anew meanwhile.

    A run that is resumed commits a shorter file and then truncates it; between the two a reader who has the manifest of before would find the
    file damaged. An error counts only if the manifest is the same before and after.

    Raises:
        Gone: if the directory is no longer there.
        UsageError: if a file is damaged.
    """
    for attempt in range(TRIES):
        before = stamp_of_file(path, MANIFEST)
        try:
            return read()
        except (UsageError, FileNotFoundError) as error:
            if not path.is_dir():
                raise Gone(f"{path} is no longer there") from None
            if attempt == TRIES - 1 or (stamp_of_file(path, MANIFEST) == before and attempt):
                raise error if isinstance(error, UsageError) else UsageError(f"{error.filename} is missing") from None
        time.sleep(PAUSE)
    raise AssertionError("the last try returns or raises")


class Kept(Generic[T]):
    """What was made last for each key, with the state of the files that it was made from; the oldest are forgotten.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, tuple[Hashable, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, state: Hashable, make: Callable[[], T]) -> T:
        """What was made for a key in this state; it is made now if there is none."""
        with self._lock:
            kept = self._made.get(key)
            if kept is not None and kept[0] == state:
                self._made.move_to_end(key)
                return kept[1]
        made = make()
        self.put(key, state, made)
        return made

    def put(self, key: Hashable, state: Hashable, made: T) -> None:
        """Keep what was made for a key in this state."""
        with self._lock:
            self._made[key] = (state, made)
            self._made.move_to_end(key)
            while len(self._made) > self._most:
                self._made.popitem(last=False)
