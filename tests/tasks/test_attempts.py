"""An attempt at a task, in this process: its outcome, its log, and what keeps a machine from it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coplay.errors import Interrupted, Stopped, UsageError
from coplay.files.fence import grant, task_folder
from coplay.files.writing import write_file
from coplay.tasks.ray_attempt import LOG, Sent, attempt, read_report
from coplay.tasks.task import Task
from coplay.tasks.versions import versions
from coplay.terminal.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Work(Task):
    """What the tests ask for."""

    error: BaseException | None = None
    takeover: bool = False

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        print("printed by Python")
        os.write(2, b"printed by a library\n")
        if self.takeover:
            grant(self.directory, "another")
        write_file(self.directory, "file", "content")
        with progress.running(4, done=1):
            progress.advance(3, 4, numbers="reward 1.00")
        if self.error is not None:
            raise self.error
        return [f"again={again}", os.environ["OMP_NUM_THREADS"], sys.argv[-1]]


def sent(directory: Path, **settings: object) -> Sent:
    grant(directory, "mine")
    argv = ["coplay", "train"]
    task = Work(directory=directory, **settings)  # type: ignore[arg-type]
    return Sent(task, "mine", 1, 3, dict(versions()), argv=argv, cwd=str(directory.parent), path=[])


def test_what_is_done_is_told_and_all_is_as_before(tmp_path: Path) -> None:
    before = dict(os.environ), os.getcwd(), list(sys.argv), list(sys.path)
    wanted = sent(tmp_path / "run")
    assert attempt(wanted) == {"done": ["again=False", "3", "train"]}
    assert attempt(replace(wanted, number=2)) == {"done": ["again=True", "3", "train"]}
    assert (dict(os.environ), os.getcwd(), list(sys.argv), list(sys.path)) == before
    log = (task_folder(tmp_path / "run") / LOG).read_text()
    assert log.count("printed by Python") == log.count("printed by a library") == 2
    report = read_report(tmp_path / "run")
    assert report is not None and (report["step"], report["steps"], report["numbers"]) == (3, 4, "reward 1.00")
    assert report["token"] == "mine" and report["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (UsageError("wrong"), {"refused": ("UsageError", "wrong")}),
        (Stopped("gone"), {"refused": ("Stopped", "gone")}),
        (Interrupted("saved"), {"interrupted": "saved"}),
        (KeyboardInterrupt(), {"interrupted": ""}),
        (ZeroDivisionError("by zero"), {"failed": "ZeroDivisionError: by zero"}),
    ],
)
def test_how_it_can_end(error: BaseException, outcome: dict[str, object], tmp_path: Path) -> None:
    assert attempt(sent(tmp_path / "run", error=error)) == outcome
    log = (task_folder(tmp_path / "run") / LOG).read_text()
    assert ("Traceback" in log) == ("failed" in outcome)


def test_whoever_was_replaced_writes_nothing(tmp_path: Path) -> None:
    outcome = attempt(sent(tmp_path / "run", takeover=True))
    assert "run belongs to another process by now" in outcome["superseded"]
    assert not (tmp_path / "run").exists()


def test_a_machine_that_joined_late_is_looked_at(tmp_path: Path) -> None:
    wanted = sent(tmp_path / "run")
    other = attempt(replace(wanted, versions={**wanted.versions, "torch": "1.0"}))
    assert f"has torch {versions()['torch']} instead of 1.0" in other["failed"]
    assert "is its storage the same?" in attempt(replace(wanted, token="of a driver elsewhere"))["failed"]
    assert not (tmp_path / "run").exists()
