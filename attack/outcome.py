"""What a try may end in: held, or falls of named classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

FallClass = Literal[
    "silent",  # done, says the exit status; but it is unfinished, or other than it should be, and nobody was told
    "traceback",  # the program failed where it should have said what is wrong
    "hang",  # not over in its time
    "crash",  # ended by a signal that nobody sent
    "memory",  # took more than MOST_MEMORY
    "unnamed",  # refused without a line that names the file, the key or the thing
    "lost",  # what was done before is gone, doubled, or cannot be resumed
    "litter",  # files are left that belong to nothing
    "budget",  # more requests or tokens than were allowed
    "outside",  # a file outside its directory was written
    "executed",  # code of data was run
    "leaked",  # a key was printed or written
    "terminal",  # control characters of data reached the terminal
    "attack",  # the attack itself failed
]
"""Classes of falls."""

CLASSES: tuple[str, ...] = get_args(FallClass)
"""All of them, in the order of the report."""

MOST_MEMORY = 2**30
"""Bytes that a verb may take at its peak."""


@dataclass(frozen=True)
class Fall:
    """A promise that was not kept."""

    kind: FallClass
    """Which."""
    detail: str
    """What was seen, in a line."""


@dataclass(frozen=True)
class Finished:
    """A command that is over."""

    argv: tuple[str, ...]
    """The words after ``coplay``."""
    status: int
    """Its exit status; minus the signal's number if a signal ended it."""
    out: str
    """Standard output."""
    err: str
    """Standard error."""
    seconds: float
    """How long it took."""
    peak: int
    """Most bytes it held."""
    timed_out: bool = False
    """Whether it was ended for taking too long."""
    deaf: bool = False
    """Whether SIGTERM did not end it then."""

    def messages(self) -> list[str]:
        """The lines that are addressed to the person at the terminal."""
        return [line for line in self.err.splitlines() if line.startswith(("coplay:", "interrupted"))]

    def says(self, *names: str) -> bool:
        """Whether a line of the program names one of these."""
        return any(name in line for line in self.messages() for name in names)


@dataclass(frozen=True)
class Result:
    """A try that is over."""

    kind: str
    """The kind of attack."""
    index: int
    """Its number there, for ``--only``."""
    title: str
    """What was done."""
    falls: tuple[Fall, ...]
    """Nothing if it held."""
    commands: tuple[str, ...]
    """The command lines, for whoever repeats it."""
    said: str
    """The end of the last command's standard error."""
    seconds: float
    """How long it took."""
    verbs: tuple[str, ...] = ()
    """The verbs that were run."""
