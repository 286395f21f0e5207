"""A pseudo-terminal to write to, and what one sees on it."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import TextIO

HIDES_CURSOR = "\x1b[?25l"


class Terminal:
    """A terminal, read as it is written to."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        self.text = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side is closed
            while data := os.read(self.master, 4096):
                self.text += data.decode(errors="replace")

    def stream(self) -> TextIO:
        """What a program writes to."""
        return os.fdopen(os.dup(self.slave), "w", encoding="utf-8", buffering=1)

    def ended(self) -> str:
        """All that was written, once nobody writes any more."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1
            self._reader.join(timeout=60)
            os.close(self.master)
        return self.text

    def lines(self) -> list[str]:
        """What one sees in the end: of what was written over one another the last."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.ended())
        return [line.rpartition("\r")[2].rstrip() for line in plain.split("\r\n")]


@contextlib.contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal that is closed in the end."""
    opened = Terminal()
    try:
        yield opened
    finally:
        opened.ended()
