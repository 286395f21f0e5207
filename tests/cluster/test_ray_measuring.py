"""Commands that measure and prepare, with a cluster and without: the same files and the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shell import Shell
from small_runs import files

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
