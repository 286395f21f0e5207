"""The commands, with a cluster and without: the same files and the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from interruptions import same_ending
from run_files import read_json
from shell import TABULAR, TRAIN, Shell
from small_runs import SMALL

import coplay
from coplay.errors import UsageError

REPRODUCE = ["reproduce", "shapellm/table1", "--game", "ipd", *TABULAR, "--n-seeds", "2", "--trials", "2"]
SWEEP = ["sweep", "shapellm/ipd", *TABULAR, *SMALL, "--seeds", "0", "--over", "row.memory=none,trial_counts"]
RAY = ["--executor", "ray"]


@pytest.fixture
def shell(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_reproduce(shell: Shell) -> None:
    assert shell(*REPRODUCE, "--out", "here") == 0
    here = shell.out
    assert shell(*REPRODUCE, "--out", "there", *RAY, "--cpus", "1") == 0
    assert shell.out == here.replace("here/", "there/")
    assert "baseline: done (" in shell.err and "(2 of 2)" in shell.err
    for arm in ("baseline", "shaper"):
        same_ending(Path("there") / arm, Path("here") / arm)
    assert read_json(Path("there/claims.json")) == read_json(Path("here/claims.json"))
    env = read_json(Path("there/shaper/env.json"))
    assert env["command"] == read_json(Path("here/shaper/env.json"))["command"] and env["threads"] == 1
    assert shell(*REPRODUCE, "--out", "there", *RAY) == 0
    assert shell.out == here.replace("here/", "there/")


def test_train_numbers_its_directories_and_resumes(shell: Shell) -> None:
    for _ in range(2):
        assert shell(*TRAIN, *TABULAR, *SMALL, "--seeds", "0", *RAY) == 0
    assert shell.out.endswith("runs/shapellm-ipd-2: done. Next: coplay report runs/shapellm-ipd-2\n")
    assert "shapellm-ipd-2: 4/4  reward " in shell.err
    assert shell(*TRAIN, *TABULAR, *SMALL, "--seeds", "0", "--out", "here") == 0
    for name in ("shapellm-ipd", "shapellm-ipd-2"):
        same_ending(Path("runs") / name, Path("here"))
    assert shell("train", "--resume", "here", *RAY) == 0
    assert shell("train", "--resume", "here", "--from", "trial-00002", *RAY) == 2
    assert shell(*TRAIN, *TABULAR, *SMALL, "--out", "here", *RAY) == 2
    assert "here exists already; resume it with --resume here" in shell.err


def test_sweep(shell: Shell) -> None:
    assert shell(*SWEEP, "--out", "here") == 0
    here = shell.out
    assert shell(*SWEEP, "--out", "there", *RAY) == 0
    assert shell.out == here.replace("here/", "there/")
    assert read_json(Path("there/sweep.json")) == read_json(Path("here/sweep.json"))
    for cell in Path("here/cells").iterdir():
        same_ending(Path("there/cells") / cell.name, cell)


def test_in_python(cluster: Any, tmp_path: Path) -> None:
    how: dict[str, Any] = {"learner": "tabular", "seeds": (0,)}
    run = coplay.train("shapellm/ipd", *SMALL, out=tmp_path / "there", executor=coplay.RayCluster(), **how)
    same_ending(run.path, coplay.train("shapellm/ipd", *SMALL, out=tmp_path / "here", **how).path)
    with pytest.raises(UsageError, match="on_trial and sinks that are objects work with executor='local' alone"):
        coplay.train("shapellm/ipd", *SMALL, out=tmp_path / "no", executor="ray", on_trial=print, **how)
    assert not (tmp_path / "no").exists()
