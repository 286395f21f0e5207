"""Streams whose reader may leave."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class Watched:
    """A stream whose reader may leave. What is written afterwards is dropped.

    A reader who leaves (``coplay train 2>&1 | head``) or a closed terminal must not end a run.

    Args:
        out: the stream; None where the process has none.
    """

    def __init__(self, out: TextIO | None) -> None:
        self.out = out

    @property
    def is_terminal(self) -> bool:
        """Whether a bar can be drawn and drawn again."""
        known = os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
        return known and self.out is not None and not self.out.closed and self.out.isatty()

    @property
    def encoding(self) -> str:
        """Which letters it can show."""
        return getattr(self.out, "encoding", None) or "utf-8"

    def print(self, line: str) -> None:
        """Write a line."""
        self.write(line + "\n")
        self.flush()

    def write(self, text: str) -> int:
        """Write a text, as a file does."""
        try:
            if self.out is not None:
                self.out.write(text)
        except (OSError, ValueError):  # closed at the other end, or at this one
            self.out = None
        return len(text)

    def flush(self) -> None:
        """Send what was written, as a file does."""
        try:
            if self.out is not None:
                self.out.flush()
        except (OSError, ValueError):
            self.out = None


def tell(line: str) -> None:
    """Print a line on standard error; see :class:`Watched`."""
    Watched(sys.stderr).print(line)


def clock(seconds: float) -> str:
    """``1:05``: minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
