"""A run directory belongs to one process at a time, and its lock touches nobody else's files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import QUIET

import coplay
from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.files.lock import locked
from coplay.runs.train import resume

HOLD = """
import time
from pathlib import Path
from coplay.files.lock import locked
with locked(Path("run")):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def run(finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(finished["tabular"], "run"))


@pytest.fixture
def holder(run: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds the run."""
    environment = {**os.environ, "PYTHONPATH": str(Path(coplay.__file__).parent.parent)}
    process = subprocess.Popen([sys.executable, "-c", HOLD], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_in_one_line(
    run: Path, holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--resume", str(run)]) == 2
    assert capsys.readouterr().err == "coplay: run is in use by another coplay process\n"


def test_a_killed_process_holds_nothing(run: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()  # SIGKILL: it cannot tidy up
    holder.wait()
    assert (run / ".lock").exists()
    resume(run, progress=QUIET)


def test_a_lock_is_free_again_after_an_error(run: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="inside"), locked(run):
            raise RuntimeError("inside")


def test_one_process_cannot_hold_a_run_twice(run: Path) -> None:
    with locked(run), pytest.raises(UsageError, match="run is in use by another coplay process"), locked(run):
        pass
    with locked(run):
        pass


@pytest.mark.parametrize("exists", [True, False])
def test_a_lock_that_is_a_link_is_refused_and_not_followed(
    exists: bool, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious.txt"
    if exists:
        precious.write_text("years of work")
    (run / ".lock").unlink()
    (run / ".lock").symlink_to(precious)
    assert main(["train", "--resume", str(run)]) == 2
    assert capsys.readouterr().err == "coplay: run/.lock is a link, which a run's lock never is; remove it\n"
    assert precious.exists() == exists and (not exists or precious.read_text() == "years of work")
    (run / ".lock").unlink()
    resume(run, progress=QUIET)


def test_a_run_directory_may_itself_be_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(run.resolve())
    with locked(tmp_path / "latest"), pytest.raises(UsageError, match="in use"), locked(run):
        pass
