"""Tasks whose result is one JSON document, which the command that asked for them puts together: the parts of an audit, the pairs of a cross-play."""

from __future__ import annotations

import json
import shutil
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from coplay.errors import UsageError
from coplay.files.kinds import newest_version
from coplay.files.lock import locked
from coplay.files.reading import expected_shape, parse_json, read_bytes
from coplay.files.store import sealed, unsealed
from coplay.files.writing import TEMPORARY, json_text, write_file
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.task import Task
from coplay.tasks.versions import versions
from coplay.terminal.progress import Progress

RESULT = "result.json"
"""The file of a task's directory: what was asked for, and what came of it, with a checksum."""


@dataclass(frozen=True, kw_only=True)
class ResultTask(Task):
    """Work whose result is a JSON document. What is there already is not computed again."""

    locks: ClassVar[bool] = False
    saves: ClassVar[bool] = False

    @abstractmethod
    def asked(self) -> dict[str, object]:
        """All that the result depends on but versions, as JSON has it: a result that was kept counts for nothing else."""

    @abstractmethod
    def compute(self, progress: Progress) -> dict[str, object]:
        """The result, as JSON has it."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Compute the result and write it, or check the one that is there. Returns no lines."""
        if self.is_done():
            self.result()
        else:
            record = {"version": newest_version(RESULT), "asked": self._asked(), "result": self.compute(progress)}
            write_file(self.directory, RESULT, json_text(sealed(record)))
        return []

    def is_done(self) -> bool:
        """Whether there is a result."""
        return (self.directory / RESULT).exists()

    def result(self) -> dict[str, Any]:
        """The result that was written.

        Raises:
            UsageError: if it is damaged, or of something else that was asked for.
        """
        file = self.directory / RESULT
        found = unsealed(parse_json(read_bytes(file), file), file)
        with expected_shape(file):
            asked, result = dict(found["asked"]), dict(found["result"])
        if asked != json.loads(json.dumps(self._asked())):
            raise UsageError(
                f"{self.directory.parent} has parts of something else: of another command, other files or another version; remove it, or choose another directory"
            )
        return result

    def _asked(self) -> dict[str, object]:
        return {**self.asked(), "versions": versions()}


def parts_folder(out: Path) -> Path:
    """Where the results lie from which a command makes a directory: beside it, until it is there."""
    return out.with_name(f"{out.name}.parts")


@contextmanager
def results(
    executor: TaskExecutor, tasks: Sequence[ResultTask], folder: Path, *, quiet: bool = False
) -> Iterator[list[dict[str, Any]]]:
    """Carry out tasks, for a block that puts their results together. Where it succeeds, they are deleted; else the same command continues with them.

    Args:
        executor: who carries them out.
        tasks: at least one; those whose results are there are not carried out again.
        folder: where their directories lie, which holds nothing else.
        quiet: show no progress.

    Yields:
        The results, in the order of the tasks.

    Raises:
        UsageError: if something else is there, or the executor cannot be used, before anything is computed.
        Interrupted: on Ctrl-C.
    """
    executor.prepare(folder.parent, quiet=quiet)
    _refuse_other(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for task in tasks:
            if task.is_done():
                task.result()
        for _ in executor.run(tasks, resume="the same command continues with what is left", quiet=quiet):
            pass
        yield [task.result() for task in tasks]
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_other(folder: Path) -> None:
    """Refuse a folder that would be deleted with what is not a task's."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another directory")
    for path in folder.glob("*"):
        if not path.name.startswith(".") and not _is_part(path):
            raise UsageError(f"{folder} holds {path.name}, which is no part of this; choose another directory")


def _is_part(path: Path) -> bool:
    """Whether a path is a task's directory, perhaps of one that died before it was done."""
    return path.is_dir() and all(one.name == RESULT or one.name.startswith(TEMPORARY) for one in path.iterdir())
