"""Demonstrations and simulators as tasks, without a cluster: the same bytes, what they need, and what is refused before anything is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_cluster import FakeCluster
from small_runs import QUIET, files

from coplay.cli.main import main
from coplay.errors import Interrupted, UsageError
from coplay.experiments.demonstrate import of_size
from coplay.experiments.tasks import DemonstrationsTask, FitTask, carry_out
from coplay.games.memory import Memory
from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS
from coplay.runs.tasks import COPIES, PROCESS, parameters
from coplay.tasks.executors import LOCAL

RAY = ["--executor", "ray"]
DEMONSTRATE = ["demonstrate", "ipd-8", "kuhn", "--examples", "20"]
PLAN = Demonstrations("ipd-ab", {"tit_for_tat": 1.0}, ("always_defect", "tiny-talk"), episodes=2, rounds=2)


def task_of(out: Path, *plans: Demonstrations) -> DemonstrationsTask:
    return DemonstrationsTask(directory=out, plans=plans, seed=1, memory=Memory.CHAT, validation=0.2)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """What ``--executor ray`` is in these tests."""
    found = FakeCluster()
    monkeypatch.setattr("coplay.cli.options.executor_of", lambda name, **_: found if name == "ray" else LOCAL)
    return found


def same_files(here: Path, there: Path) -> None:
    assert files(here) == files(there) != []
    assert all((here / name).read_bytes() == (there / name).read_bytes() for name in files(here))


def test_demonstrations(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*DEMONSTRATE, "--out", "here"]) == 0
    here = capsys.readouterr().out
    assert main([*DEMONSTRATE, "--out", "there", *RAY]) == 0
    assert capsys.readouterr().out == here.replace("here", "there") and cluster.carried_out == ["there"]
    same_files(Path("here"), Path("there"))
    assert main([*DEMONSTRATE, "--out", "there", *RAY]) == 2
    assert "there exists already" in capsys.readouterr().err


def test_every_plan_of_the_paper_can_be_sent(tmp_path: Path) -> None:
    plans = [
        of_size(plan, 4) for plan in DEMONSTRATIONS.values() if not plan.game.startswith(("openspiel", "textarena"))
    ]
    task = task_of(tmp_path / "data", *plans)
    task.check(FakeCluster())
    carry_out(FakeCluster(), task)
    assert len(task.card()["games"]) == len(plans) and task.is_done()
    assert task.run(QUIET, again=True) == []  # an attempt before this one had done it, and could not say so
    with pytest.raises(UsageError, match="exists already"):
        task.run(QUIET)


def test_what_demonstrations_need(tmp_path: Path) -> None:
    needs = task_of(tmp_path / "data", PLAN).needs(2, 0.5)
    assert (needs.cpus, needs.gpus, needs.memory) == (2, 0.5, PROCESS + COPIES * parameters("tiny-talk"))
    needs = task_of(tmp_path / "data", replace(PLAN, opponents=("always_defect",))).needs(2, 0.5)
    assert (needs.gpus, needs.memory) == (0.0, PROCESS)


def test_endpoints_stay_in_the_command(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--strategies", "tit_for_tat=1", "--opponents", "openai:nobody@http://127.0.0.1:9/v1"]
    assert main(["demonstrate", "ipd-ab", *words, "--out", str(tmp_path / "data"), *RAY]) == 2
    assert "is an endpoint" in capsys.readouterr().err and cluster.carried_out == []


def test_a_data_set_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="stopped; nothing of it is kept; the same command begins it anew"):
        carry_out(FakeCluster(stops_after=0), task_of(tmp_path / "data", PLAN))
    assert list(tmp_path.iterdir()) == []


def test_a_simulator(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    game = ["--game", "ipd-3:talk=0", "--rounds", "4", "--episodes", "6"]
    assert main(["eval", "random", "tit_for_tat", "random:0.7", *game, "--record", "games"]) == 0
    capsys.readouterr()
    assert main(["fit-simulator", "games", "--out", "here.json"]) == 0
    here = capsys.readouterr().out
    assert main(["fit-simulator", "games", "--out", "there.json", *RAY]) == 0
    assert capsys.readouterr().out == here.replace("here", "there") and cluster.carried_out == ["there.json"]
    assert Path("here.json").read_bytes() == Path("there.json").read_bytes()
    assert cluster.inputs == [(str(tmp_path), str(tmp_path / "games"))]
    task = FitTask(directory=Path("there.json"), games=(Path("games"),))
    assert task.run(QUIET, again=True) == []
    assert main(["fit-simulator", "nowhere", "--out", "other.json", *RAY]) == 2
    assert "nowhere" in capsys.readouterr().err and len(cluster.carried_out) == 1
