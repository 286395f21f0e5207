"""Commands that measure and prepare, with a cluster and without: the same files and the same answers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import Waiting, meanwhile, steps, wait_until
from shell import Shell
from small_runs import files

from coplay.errors import Interrupted
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.results import results

RAY = ["--executor", "ray"]
AUDIT = ["audit", "random", "--against", "scripted,best_response,ppo,q_learning", "--rounds", "3", "--episodes", "4"]


@pytest.fixture
def shell(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_audit(shell: Shell) -> None:
    command = [*AUDIT, "--budget", "8", "--n-seeds", "2"]
    assert shell(*command, "--out", "here") == 0
    here = shell.out
    assert shell(*command, "--out", "there", *RAY) == 0
    assert shell.out == here and "learners: ppo: done (" in shell.err and "(4 of 4)" in shell.err
    for name in files(Path("here")):
        assert Path("there", name).read_bytes() == Path("here", name).read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["here", "there"]


def test_all_pairs(shell: Shell) -> None:
    command = ["eval", "always_bet", "uniform", "--game", "kuhn", "--matrix", "--episodes", "2", "--rounds", "3"]
    assert shell(*command) == 0
    here = shell.out
    assert shell(*command, *RAY, "--parts", "parts") == 0
    assert shell.out == here and "uniform with 1 player: done (" in shell.err
    assert list(Path().iterdir()) == []


def test_demonstrations(shell: Shell) -> None:
    command = ["demonstrate", "ipd-8", "--examples", "20"]
    assert shell(*command, "--out", "here") == 0
    here = shell.out
    assert shell(*command, "--out", "there", *RAY) == 0
    assert shell.out == here.replace("here", "there")
    for name in files(Path("here")):
        assert Path("there", name).read_bytes() == Path("here", name).read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["here", "there"]


def test_a_simulator(shell: Shell) -> None:
    game = ["--game", "ipd-3:talk=0", "--rounds", "4", "--episodes", "6"]
    assert shell("eval", "random", "tit_for_tat", "random:0.7", *game, "--record", "games") == 0
    for name, options in (("here.json", []), ("there.json", RAY)):
        assert shell("fit-simulator", "games", "--out", name, *options) == 0
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["games", "here.json", "there.json"]


def test_ctrl_c_keeps_the_parts_that_are_done(executor: TaskExecutor, tmp_path: Path) -> None:
    folder, done = tmp_path / "parts", tmp_path / "done"
    done.touch()
    tasks = [
        Waiting(name="quick", directory=folder / "quick", hurry=done),
        Waiting(name="slow", directory=folder / "slow", hurry=tmp_path / "hurry"),
    ]

    def press() -> None:
        wait_until(lambda: tasks[0].is_done() and steps(tasks[1].directory) == 0)
        os.kill(os.getpid(), signal.SIGINT)

    def carry_out() -> list[dict[str, Any]]:
        with results(executor, tasks, folder, quiet=True) as found:
            return found

    with meanwhile(press), pytest.raises(Interrupted, match="stopped; the same command continues with what is left"):
        carry_out()
    assert tasks[0].is_done() and not tasks[1].is_done()
    (tmp_path / "hurry").touch()
    assert carry_out() == [{"name": "quick"}, {"name": "slow"}] and not folder.exists()
