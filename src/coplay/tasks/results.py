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
from coplay.files.writing import json_text, write_file
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
                f"{self.directory.parent} has parts of something else: of another command, other files or another version; remove it, or choose another --out"
            )
        return result

    def _asked(self) -> dict[str, object]:
        return {**self.asked(), "versions": versions()}


def parts_folder(out: Path) -> Path:
    """Where the results lie from which a command makes ``out``: beside it, until it is there."""
    return out.with_name(f"{out.name}.parts")


@contextmanager
def results(
    executor: TaskExecutor, tasks: Sequence[ResultTask], out: Path, *, quiet: bool = False
) -> Iterator[list[dict[str, Any]]]:
    """Carry out tasks that lie in :func:`parts_folder`, for a block that makes ``out`` of their results. Where it succeeds, they are deleted.

    Args:
        executor: who carries them out.
        tasks: at least one; those whose results are there are not carried out again.
        out: what is made of them.
        quiet: show no progress.

    Yields:
        The results, in the order of the tasks.

    Raises:
        UsageError: if parts of something else are there, or the executor cannot be used, before anything is computed.
        Interrupted: on Ctrl-C.
    """
    executor.prepare(out.parent, quiet=quiet)
    folder = parts_folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for task in tasks:
            if task.is_done():
                task.result()
        for _ in executor.run(tasks, resume=f"the same command with --out {out} resumes it", quiet=quiet):
            pass
        yield [task.result() for task in tasks]
        shutil.rmtree(folder, ignore_errors=True)
