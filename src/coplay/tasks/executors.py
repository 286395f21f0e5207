"""Who carries out tasks: this process, one after the other; or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from coplay.tasks.task import Task
from coplay.terminal.progress import Progress

T = TypeVar("T", bound=Task)


class TaskExecutor(Protocol):
    """Whoever carries out tasks. Each is carried out to one end."""

    is_elsewhere: bool
    """Whether tasks run in other processes, so that they must be sent."""
    option: str
    """What to add to a command that is to use it."""

    def prepare(self, out: Path, *, quiet: bool = False) -> None:
        """Find what is wrong with the place where tasks run, before anything is written.

        Args:
            out: where their files will go.
            quiet: do not tell what was found.

        Raises:
            UsageError: saying what is wrong with what.
        """
        ...

    def run(self, tasks: Sequence[T], *, resume: str, quiet: bool = False) -> Iterator[tuple[T, list[str]]]:
        """Carry out all tasks, each after those that it needs.

        Args:
            tasks: what to do; those that another one needs come before it.
            resume: what to say after Ctrl-C, e.g. ``the same command with --out DIR resumes it``.
            quiet: show no progress.

        Yields:
            Each task that is over, with what it returned, as soon as it is.

        Raises:
            Interrupted: on Ctrl-C, after saving.
            UsageError: if they cannot be carried out there, before any has begun.
            TasksFailed: at the end, if some were given up.
        """
        ...


class Local:
    """One task after the other in this process. What one raises ends them all."""

    is_elsewhere = False
    option = ""

    def prepare(self, out: Path, *, quiet: bool = False) -> None:
        """See :class:`TaskExecutor`: what this process lacks shows when the first task begins."""

    def run(self, tasks: Sequence[T], *, resume: str, quiet: bool = False) -> Iterator[tuple[T, list[str]]]:
        """See :class:`TaskExecutor`. Tasks say themselves how they are resumed where ``resume`` is not known to them."""
        for task in tasks:
            yield task, task.run(Progress(task.name, quiet=quiet))


LOCAL = Local()
"""The executor that is meant where none is named."""
