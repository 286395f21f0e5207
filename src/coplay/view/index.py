"""The directory that is shown: its rows, read anew where files have changed."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.lock import held_locks, is_held
from coplay.view.found import Found, Stamp, find, stamp_of
from coplay.view.reading import Gone, Kept
from coplay.view.rows import JUST_NOW, Row, row_of

REST = 0.5
"""Seconds for which a walk through the directory is good."""

MOST = 10_000
"""Rows that are kept."""


class Index:
    """What is in a directory.

    Args:
        root: the directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._rows: Kept[Row] = Kept(MOST)
        self._lock = threading.Lock()
        self._walked = float("-inf")
        self._found: dict[str, Found] = {}
        self._held: frozenset[int] | None = None

    def all(self) -> dict[str, Found]:
        """Everything that is there, by identifier; nothing if the directory itself is gone."""
        with self._lock:
            if time.monotonic() - self._walked > REST:
                try:
                    self._found = find(self.root)
                except UsageError:
                    self._found = {}
                self._held = held_locks()
                self._walked = time.monotonic()
            return self._found

    def rows(self) -> list[Row]:
        """A row for each directory, what belongs to an experiment or a sweep after it."""
        found = []
        for one in self.all().values():
            try:
                found.append(self.row(one))
            except Gone:
                continue
        return found

    def row(self, found: Found) -> Row:
        """The row of a directory; raises Gone if it is no longer there."""
        stamp, held = stamp_of(found.path), self.held(found)
        if not stamp:
            raise Gone(f"{found.name} is no longer there")
        now = time.time()
        recent = held is None and now - max(changed for _, changed, _, _ in stamp) / 1e9 < JUST_NOW
        made = self._rows.get(found.id, (stamp, held, recent), lambda: row_of(found, stamp, held=held, now=now))
        return replace(made, has_page=found.has_page)

    def held(self, found: Found) -> bool | None:
        """Whether a process works on a directory; None where the system does not tell."""
        return None if self._held is None else is_held(found.path, self._held)

    def state(self, found: Found) -> tuple[Stamp, bool | None]:
        """What a page about a directory depends on."""
        return stamp_of(found.path), self.held(found)

    def get(self, identifier: str) -> Found:
        """The directory with an identifier; raises Gone if there is none."""
        found = self.all().get(identifier)
        if found is None or not found.path.is_dir():
            raise Gone(
                "There is nothing of that name here. It may have been deleted or moved; the list has all that is there now."
            )
        return found
