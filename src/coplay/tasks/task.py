"""What a task is: a pure description of work whose result is files in a directory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from coplay.errors import CoplayError
from coplay.terminal.progress import Progress


@dataclass(frozen=True)
class Needs:
    """What a task takes of a machine."""

    cpus: int = 1
    """Processors, and threads."""
    gpus: float = 0.0
    """GPUs; a share of one if several tasks fit on it."""
    memory: int = 2**29
    """Bytes of main memory."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Work that ends with files in a directory, which nobody else writes meanwhile.

    It can be sent to another machine: it holds settings and paths, and no models or open files.
    """

    name: str = ""
    """What to show it as; without one, it is shown by its directory where there are several."""
    directory: Path
    """Where its files go."""
    after: tuple[Path, ...] = ()
    """The directories of the tasks that must be over before."""
    locks: ClassVar[bool] = True
    """Whether the directory is locked while the task works in it; one that is made in one move at the end is not."""

    saves: ClassVar[bool] = True
    """Whether it keeps what it has done so far when it is stopped; else it is done as a whole or not at all."""

    @property
    def title(self) -> str:
        """What to call it among others."""
        return self.name or self.directory.name

    @abstractmethod
    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Do what is not done yet.

        Args:
            progress: is told how far it is.
            again: whether an earlier attempt at this very task, which is over, may have begun it.

        Returns:
            Lines for the person who asked for it.
        """

    def needs(self, cpus: int, gpus: float) -> Needs:
        """What it takes.

        Args:
            cpus: processors of a task that does not say how many.
            gpus: GPUs of a task that can use them.

        Raises:
            UsageError: if it cannot run on that.
        """
        return Needs(cpus)

    def inputs(self) -> tuple[str, ...]:
        """The files and directories that it reads and did not write, by absolute path."""
        return ()

    def is_done(self) -> bool:
        """Whether nothing is left but to check its files."""
        return False

    def step(self) -> int:
        """How far the files are that would survive the process; attempts that end without going further are counted."""
        return 0


class TasksFailed(CoplayError):
    """Tasks that were given up, with their logs; the others are done."""
