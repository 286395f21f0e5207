"""Cross-play in parts, without a cluster: the same matrix, what stays, and what is refused before anything is played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_cluster import FakeCluster

import coplay
from coplay.cli.main import main
from coplay.errors import Interrupted, UsageError
from coplay.runs.tasks import COPIES, PROCESS

LENGTH = {"rounds": 3, "episodes": 4, "seed": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two learners of one model, of two seeds, and a table."""
    out = tmp_path_factory.mktemp("runs")
    sizes = {"trials": 1, "games": 2, "rounds": 3, "episodes": 1, "seeds": (0, 1), "quiet": True}
    coplay.train("any/self-play", game="ipd", learner="language_model", out=out / "model", **sizes)  # type: ignore[arg-type]
    coplay.train("any/self-play", game="ipd", learner="tabular", out=out / "table", **sizes)  # type: ignore[arg-type]
    return [str(out / "model"), str(out / "table")]


def test_rows_in_any_order_are_the_matrix_of_one_process(tmp_path: Path) -> None:
    players = ["always_bet", "always_pass", "uniform"]
    here = coplay.cross_play("kuhn", players, **LENGTH)
    cluster = FakeCluster()
    there = coplay.cross_play("kuhn", players, executor=cluster, parts=tmp_path / "parts", **LENGTH)
    assert there == here and there.wins == here.wins and there.to_dict() == here.to_dict()
    assert cluster.carried_out == ["uniform with 1 player", "always_pass with 2 players", "always_bet with 3 players"]
    assert list(tmp_path.iterdir()) == []


def test_what_runs_have_learnt(runs: list[str], tmp_path: Path) -> None:
    """What is played as arrays stays; models meet everybody elsewhere, and in every task with the players that it has alone."""
    players = ["tit_for_tat", *runs, "tiny", "always_defect"]
    here = coplay.cross_play("ipd", players, **LENGTH)
    cluster = FakeCluster()
    there = coplay.cross_play("ipd", players, executor=cluster, parts=tmp_path / "parts", **LENGTH)
    assert there.to_dict() == here.to_dict() and there.wins == here.wins
    model, table = runs
    titles = ["tiny with 2 players", f"{table} with 1 player", f"{model} with 4 players", "tit_for_tat with 2 players"]
    assert cluster.carried_out == titles
    tiny = COPIES * 116_416
    assert [one.memory for one in cluster.needs] == [PROCESS + tiny] * 4  # tiny is the run's model too
    assert [one.gpus for one in cluster.needs] == [1.0] * 4
    assert cluster.inputs == [(), (table,), (model, table), (model,)]


def test_strategies_stay(tmp_path: Path) -> None:
    cluster = FakeCluster()
    players = ["tit_for_tat", "always_defect"]
    there = coplay.cross_play("ipd", players, executor=cluster, parts=tmp_path / "parts", **LENGTH)
    assert there == coplay.cross_play("ipd", players, **LENGTH) and cluster.carried_out == []


def test_a_command_that_was_stopped_goes_on_with_what_is_left(tmp_path: Path) -> None:
    players, how = ["always_bet", "always_pass", "uniform"], {"parts": tmp_path / "parts", **LENGTH}
    with pytest.raises(Interrupted):
        coplay.cross_play("kuhn", players, executor=FakeCluster(stops_after=2), **how)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has parts of something else"):
        coplay.cross_play("kuhn", players, executor=FakeCluster(), **{**how, "seed": 1})  # type: ignore[arg-type]
    cluster = FakeCluster()
    found = coplay.cross_play("kuhn", players, executor=cluster, **how)  # type: ignore[arg-type]
    assert cluster.carried_out == ["always_bet with 3 players"]
    assert found == coplay.cross_play("kuhn", players, **LENGTH)


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds mine\.txt, which is no part of this"):
        coplay.cross_play("kuhn", ["uniform"], executor=FakeCluster(), parts=tmp_path, **LENGTH)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_objects_are_not_sent(tmp_path: Path) -> None:
    players = ["tit_for_tat", lambda request: "cooperate"]
    with pytest.raises(UsageError, match="players are sent to a cluster by name"):
        coplay.cross_play("ipd", players, executor=FakeCluster(), parts=tmp_path)  # type: ignore[arg-type]


def matrix(*words: str) -> int:
    return main(["eval", *words, "--matrix", "--episodes", "2", "--rounds", "3"])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tiny", "random", "--payoffs", "3,1,5,2", "--json"]
    assert matrix(*words) == 0
    here = json.loads(capsys.readouterr().out)
    cluster = FakeCluster()
    monkeypatch.setattr("coplay.cli.options.executor_of", lambda *_, **__: cluster)
    assert matrix(*words, "--executor", "ray", "--parts", str(tmp_path / "parts")) == 0
    assert json.loads(capsys.readouterr().out) == here and cluster.carried_out == ["tiny with 2 players"]
    assert list(tmp_path.iterdir()) == []
    for options, said in (
        (["tiny", "random"], "all pairs on a cluster need --parts DIR"),
        (["random", "openai:nobody@http://127.0.0.1:9/v1", "--parts", "parts"], "is an endpoint"),
    ):
        assert matrix(*options, "--executor", "ray") == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random", "random", "--executor", "ray"], "--executor ray plays all pairs of players; use it with --matrix"),
        (["random", "random", "--parts", "x"], "--parts goes with --matrix and --executor ray"),
        (["random", "uniform", "--matrix", "--parts", "x"], "--parts goes with --executor ray"),
        (["random", "uniform", "--matrix", "--cpus", "2"], "--cpus goes with --executor ray"),
    ],
)
def test_options_that_do_not_fit(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *words]) == 2
    assert said in capsys.readouterr().err
