"""Results that a command puts together: kept until it has, never those of something else, and never among other files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.files.lock import locked
from coplay.tasks import results as module
from coplay.tasks.executors import LOCAL
from coplay.tasks.results import RESULT, ResultTask, parts_folder, results
from coplay.terminal.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Square(ResultTask):
    """A number's square."""

    number: float

    def asked(self) -> dict[str, object]:
        return {"number": self.number}

    def compute(self, progress: Progress) -> dict[str, object]:
        return {"square": self.number**2}


def squares(folder: Path, *numbers: float) -> list[Square]:
    return [Square(directory=folder / f"part-{i}", number=one) for i, one in enumerate(numbers)]


def test_they_come_in_the_order_of_the_tasks_and_are_deleted_then(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path / "out")
    with results(LOCAL, squares(folder, 3.0, 0.1), folder, quiet=True) as found:
        assert found == [{"square": 9.0}, {"square": 0.1**2}]  # the float itself
        assert folder == tmp_path / "out.parts" and (folder / "part-1" / RESULT).is_file()
    assert list(tmp_path.iterdir()) == []


def test_they_are_kept_if_what_is_made_of_them_fails(tmp_path: Path) -> None:
    def write() -> None:
        with results(LOCAL, squares(tmp_path / "parts", 3.0), tmp_path / "parts", quiet=True):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write()
    (task,) = squares(tmp_path / "parts", 3.0)
    assert task.is_done() and task.result() == {"square": 9.0} and task.run(Progress(quiet=True)) == []


def test_those_of_something_else_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = squares(tmp_path, 3.0)
    task.run(Progress(quiet=True))
    (other,) = squares(tmp_path, 4.0)
    with pytest.raises(UsageError, match="has parts of something else"):
        other.run(Progress(quiet=True))
    monkeypatch.setattr(module, "versions", lambda: {"coplay": "another"})
    with pytest.raises(UsageError, match="or another version; remove it, or choose another directory"):
        task.result()


@pytest.mark.parametrize("damage", ["{", "[]", json.dumps({"version": 1, "asked": {}, "result": {"square": 8.0}})])
def test_a_damaged_one_is_refused(damage: str, tmp_path: Path) -> None:
    (task,) = squares(tmp_path, 3.0)
    task.run(Progress(quiet=True))
    (task.directory / RESULT).write_text(damage)
    with pytest.raises(UsageError, match=r"result\.json"):
        task.result()


def test_what_an_attempt_left_that_died_is_no_obstacle_and_other_files_are(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    tasks = squares(folder, 3.0)
    tasks[0].directory.mkdir(parents=True)
    (tasks[0].directory / ".coplay-99999999-elsewhere.tmp").touch()
    with results(LOCAL, tasks, folder, quiet=True) as found:
        assert found == [{"square": 9.0}]
    (folder / "part-0").mkdir(parents=True)
    (folder / "part-0" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="holds part-0, which is no part of this"), results(LOCAL, tasks, folder):
        pass
    assert (folder / "part-0" / "thesis.tex").exists()
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match="is a file; choose another directory"),
        results(LOCAL, tasks, tmp_path / "file"),
    ):
        pass


def test_one_command_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    with (
        locked(folder),
        pytest.raises(UsageError, match="in use by another"),
        results(LOCAL, squares(folder, 1.0), folder),
    ):
        pass
