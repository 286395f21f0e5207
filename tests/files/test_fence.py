"""Of several processes that were granted a directory one after the other, only the last one writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.files import fence
from coplay.files.fence import Superseded, grant, granted, revoke, task_folder
from coplay.files.lock import hold, locked
from coplay.files.writing import append, new_directory, write_file


def write_all(directory: Path) -> None:
    """Write in every way that there is."""
    write_file(directory, "file", "1")
    append(directory, "lines", "1\n")
    with new_directory(directory / "inner") as inner:
        write_file(inner, "file", "1")


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_whoever_has_the_grant_writes(run: Path) -> None:
    grant(run, "first")
    with granted(run, "first"):
        write_all(run)
    assert set(contents(run)) == {"file", "lines", "inner/file"}
    assert (task_folder(run) / fence.GRANT).read_text() == "first"


@pytest.mark.parametrize("shut_out", ["another grant", "revoked", "locked", "folder removed"])
@pytest.mark.parametrize("way", ["file", "append", "directory"])
def test_whoever_was_shut_out_writes_nothing(run: Path, shut_out: str, way: str) -> None:
    grant(run, "first")
    with granted(run, "first"):
        write_file(run, "file", "before")
        append(run, "lines", "before\n")
        if shut_out == "another grant":
            grant(run, "second")
        elif shut_out == "revoked":
            revoke(run)
        elif shut_out == "folder removed":
            (task_folder(run) / fence.GRANT).unlink()
        else:
            fence._held, kept = [], fence._held
            with locked(run):  # another command
                pass
            fence._held = kept
        before = contents(run)
        with pytest.raises(Superseded, match="run belongs to another process by now"):
            {
                "file": lambda: write_file(run, "file", "late"),
                "append": lambda: append(run, "lines", "late\n"),
                "directory": lambda: write_all(run),
            }[way]()
    assert {name: data for name, data in contents(run).items() if name != ".lock"} == {
        name: data for name, data in before.items() if name != ".lock"
    }


def test_a_write_that_was_under_way_does_not_land(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hung after its first look, and wakes up before the file takes its place."""
    grant(run, "first")
    sync = fence.check_grant
    looks = iter([lambda: None, sync])
    monkeypatch.setattr("coplay.files.writing.check_grant", lambda: next(looks)())
    revoke(run)
    with granted(run, "first"), pytest.raises(Superseded):
        write_file(run, "file", "late")
    assert contents(run) == {}


def test_a_task_needs_no_lock_for_the_holder_of_its_grant_has_it(run: Path) -> None:
    release = hold(run)
    with pytest.raises(UsageError, match="in use"), locked(run):
        pass
    grant(run, "first")
    with granted(run, "first"), locked(run):
        write_all(run)
    release()


def test_without_a_grant_nothing_is_looked_at(run: Path) -> None:
    write_all(run)
    with locked(run):
        assert not task_folder(run).exists()
