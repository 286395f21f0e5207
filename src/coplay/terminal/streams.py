"""Streams whose reader may leave."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import TextIO, cast


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


class Lasting:
    r"""A standard stream of the command line. Whatever becomes of it, what is printed raises no error, so that work goes on and ends.

    When the stream breaks, its file descriptor is put on ``/dev/null``. A reader who leaves has seen what it wanted; any other error is
    kept in ``error``, for the exit status. Letters that the stream's encoding lacks are written as in JSON: ``\u00e9``.

    Args:
        out: the stream.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> object:
        """All else is as the stream has it."""
        return getattr(self._out, name)

    def write(self, text: str) -> int:
        """Write a text, as a file does."""
        try:
            self._out.write(text)
        except UnicodeEncodeError:
            self._out.write(_escaped(text, self._out.encoding))
        except (OSError, ValueError) as error:
            self._broken(error)
        return len(text)

    def flush(self) -> None:
        """Send what was written, as a file does."""
        try:
            self._out.flush()
        except (OSError, ValueError) as error:
            self._broken(error)

    def _broken(self, error: OSError | ValueError) -> None:
        if isinstance(error, OSError) and error.errno not in (errno.EPIPE, errno.ESHUTDOWN, errno.ECONNRESET):
            self.error = self.error or error
        with contextlib.suppress(OSError, ValueError):  # a stream without a file descriptor, or a closed one
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._out.fileno())
            os.close(null)


def _escaped(text: str, encoding: str) -> str:
    """A text with the letters that an encoding lacks as JSON writes them."""

    def shown(letter: str) -> str:
        try:
            letter.encode(encoding)
        except UnicodeEncodeError:
            units = letter.encode("utf-16-be", "surrogatepass")
            return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
        return letter

    return "".join(map(shown, text))


@contextlib.contextmanager
def lasting_streams() -> Iterator[list[OSError]]:
    """In the block, standard output and error are :class:`Lasting`; the list that is yielded has, after it, why the output was not written."""
    before, failed = (sys.stdout, sys.stderr), list[OSError]()
    # The types are right: TextIO, which a stream in Python's library need not inherit from, has these methods and more.
    out, err = (None if stream is None else Lasting(stream) for stream in before)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    try:
        yield failed
    finally:
        for stream in (out, err):
            if stream is not None:
                stream.flush()
        if out is not None and out.error is not None:
            failed.append(out.error)
        sys.stdout, sys.stderr = before


def tell(line: str) -> None:
    """Print a line on standard error; see :class:`Watched`."""
    Watched(sys.stderr).print(line)


def clock(seconds: float) -> str:
    """``1:05``: minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
