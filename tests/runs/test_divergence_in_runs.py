"""A seed that diverges, in run directories and on the command line: every file tells of it, and the others' results are whole."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from diverging import diverging
from interruptions import died_at, same_ending
from run_files import read_lines
from small_runs import QUIET, small

from coplay.cli.main import main
from coplay.errors import CoplayError, UsageError
from coplay.evaluation.summary import diverged_seeds
from coplay.games import make_game
from coplay.learners.base import DIVERGED
from coplay.run import Run
from coplay.runs.contestants import contestants
from coplay.runs.directory import RunDirectory
from coplay.runs.executors import LocalProcesses
from coplay.runs.factory import build
from coplay.runs.train import resume, train


@pytest.mark.parametrize("kind", ["tabular", "language_model"])
def test_a_run_tells_of_the_seed_in_all_its_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diverging(monkeypatch, 0)
    made = train(small(kind, "seeds=[0,1,2]"), tmp_path / "run", progress=QUIET)
    lines = [line for line in read_lines(made.path / "metrics.jsonl") if line["seed"] == 0]
    assert [line["step"] for line in lines] == [1, 2]
    reason = "row: a reply's log-probability is not finite, in episode 1"
    assert lines[-1] == {"version": 1, "step": 2, "seed": 0, DIVERGED: reason}
    games = {(game["seed"], game["step"]) for game in read_lines(made.path / "episodes.jsonl")}
    assert {step for seed, step in games if seed == 0} == {1}
    evaluation = made.evaluation()
    assert diverged_seeds(evaluation) == {0: {"step": 2, "reason": reason}}
    assert list(evaluation["seeds"]) == ["1", "2"]
    assert evaluation["seats"]["row"]["total"]["n"] == 2
    exported = {path.name for path in made.path.glob("adapters/*")}
    assert exported == ({"row-seed1", "row-seed2", "column-seed1", "column-seed2"} if kind != "tabular" else set())
    for name in (f"{made.path}:row:0", f"{made.path}:row"):
        with pytest.raises(UsageError, match=r"seed 0 diverged in trial 2: row: a reply's log-probability"):
            contestants([name, f"{made.path}:row:1"], make_game("ipd"))
    assert contestants([f"{made.path}:row:1"], make_game("ipd"))[0].seeds == (1,)


def test_a_whole_run_says_nothing_of_divergence(finished: dict[str, Path]) -> None:
    assert all(DIVERGED not in (path / "eval.json").read_text() for path in finished.values())


@pytest.mark.parametrize("kind", ["tabular", "language_model"])
@pytest.mark.parametrize("stopped", [2, 3])
def test_a_resumed_run_ends_as_one_that_was_not_stopped(
    kind: str, stopped: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped right after the trial in which seed 0 diverged, or later: its checkpoint knows of it."""
    warm_up = [f"{seat}.ppo.lr_warmup_updates=5" for seat in ("row", "column")]  # a schedule that all seeds share
    config = small(kind, "seeds=[0,1]", "checkpoint_every=1", *warm_up)
    with monkeypatch.context() as patch:
        diverging(patch, 0)
        whole = train(config, tmp_path / "whole", progress=QUIET)
        died_at(stopped, tmp_path / "stopped", patch, config)
    same_ending(resume(tmp_path / "stopped", progress=QUIET).path, whole.path)


def test_a_run_of_which_every_seed_diverges_stops_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diverging(monkeypatch, 0, 1)
    told = r"every seed has diverged.*: seed 0 diverged in trial 2: .*; seed 1 diverged in trial 2: "
    with pytest.raises(CoplayError, match=told) as caught:
        train(small("tabular", "seeds=[0,1]"), tmp_path / "run", progress=QUIET)
    assert not isinstance(caught.value, UsageError)
    assert [line["step"] for line in read_lines(tmp_path / "run" / "metrics.jsonl")] == [1, 1, 2, 2]
    assert RunDirectory.open(tmp_path / "run").checkpoints()[-1].name == "trial-00002"
    assert not (tmp_path / "run" / "eval.json").exists()
    with pytest.raises(CoplayError, match=told):
        resume(tmp_path / "run", progress=QUIET)


def test_the_command_line_names_the_seed_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    diverging(monkeypatch, 1)
    small_run = ["rounds=4", "episodes=1", "games=2", "eval_games=2", "threads=1", "trials=2"]
    out = tmp_path / "run"
    command = ["train", "shapellm/ipd", "--learner", "tabular", "--seeds", "0,1", "--out", str(out), *small_run]
    assert main(command) == 1
    told = capsys.readouterr()
    assert "coplay: seed 1 diverged in trial 2: row: a reply's log-probability is not finite, in episode 1" in told.err
    assert f"{out}: done, with 1 of 2 seeds." in told.out
    assert main(["train", "--resume", str(out)]) == 1
    assert main(["eval", f"{out}:row:1", "tit_for_tat"]) == 2
    assert "seed 1 diverged in trial 2" in capsys.readouterr().err
    assert main(["eval", str(out), "--json"]) == 1
    told = capsys.readouterr()
    assert list(json.loads(told.out)["diverged"]) == ["1"] and "seed 1 diverged in trial 2" in told.err
    assert list(Run(out, RunDirectory.open(out).config).players()) == [f"{out}:row:0", f"{out}:column:0"]


@pytest.mark.slow
def test_workers_report_a_seed_that_has_diverged() -> None:
    config = small("tabular", "seeds=[0,1,2]", "workers=2")
    state = build(config)
    states = {seed: state.state_dict(seed) for seed in config.seeds}
    states[1]["row/policy.theta"][:] = math.nan
    workers = LocalProcesses(config, states, workers=2, threads=1)
    try:
        first, second = workers.run_trial(0), workers.run_trial(1)
        assert list(first.lines[1]) == [DIVERGED]
        assert set(second.lines) == {0, 2} == {game["seed"] for game in second.episodes}
        for seed, own in workers.state_dicts().items():
            state.load_state_dict(seed, own)
    finally:
        workers.close()
    assert state.alive == [0, 2]
