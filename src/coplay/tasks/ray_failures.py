"""What becomes of tasks that a cluster could not carry out, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coplay.errors import AllDiverged, CoplayError, DamagedCheckpoint, Stopped, UsageError
from coplay.files.fence import task_folder
from coplay.files.reading import read_end
from coplay.files.writing import Taken
from coplay.tasks.ray_attempt import LOG
from coplay.tasks.task import TasksFailed

LOG_LINES = 12
"""Of a task that was given up, shown with the error."""

_MOST_LOG_BYTES = 2**16
"""Of a log, from its end, in which these lines are sought."""

FINAL: dict[str, type[CoplayError]] = {
    kind.__name__: kind for kind in (AllDiverged, DamagedCheckpoint, Stopped, Taken, UsageError)
}
"""Errors that another attempt would meet again."""


def raise_failures(failed: Mapping[Path, CoplayError], *, of: int, resume: str) -> None:
    """Tell which tasks were given up, with the ends of their logs.

    Args:
        failed: their errors, by directory.
        of: how many tasks there were.
        resume: what begins them again.

    Raises:
        TasksFailed: if there are any, among several.
        CoplayError: its own, if it was the only task.
    """
    if not failed:
        return
    if of == 1:
        (directory, error), *_ = failed.items()
        if type(error) is CoplayError:
            raise CoplayError(f"{directory.name}: {error}{_log_of(directory)}")
        raise error
    lines = [f"{directory}: {error}{_log_of(directory)}" for directory, error in failed.items()]
    raise TasksFailed(f"{len(lines)} of {of} failed; the others are done, and {resume}\n" + "\n".join(lines))


def _log_of(directory: Path) -> str:
    """Where a task's log is, and its last lines."""
    file = task_folder(directory) / LOG
    try:
        lines = read_end(file, most=_MOST_LOG_BYTES).decode("utf-8", "replace").rstrip().splitlines()
    except (OSError, CoplayError):
        return ""
    return "\n".join([f". Its log is {file}, which ends:", *(f"    {line}" for line in lines[-LOG_LINES:])])


def reason_of(error: Exception) -> str:
    """What became of an attempt that the cluster lost, in a few words."""
    kinds = {
        "NodeDiedError": "its machine is gone",
        "WorkerCrashedError": "its process died",
        "OutOfMemoryError": "its machine had no memory left",
        "LocalRayletDiedError": "its machine is gone",
    }
    name = type(error).__name__
    return kinds.get(name) or f"{name}: {' '.join(str(error).split())[:200]}"
