"""A shaper, a naive learner, a safe one and a mediator in one game: it runs, and goes on after a stop as if there had been none."""

from __future__ import annotations

from pathlib import Path

import pytest
from interruptions import died_at, same_ending
from run_files import read_json, read_lines
from small_runs import QUIET

from coplay.errors import UsageError
from coplay.recipes import make_config
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.train import resume, train

SMALL = ["seeds=[0,1]", "trials=3", "games=6", "group_size=2", "episodes=2", "rounds=3", "eval_games=3"]
CLOCKS = {"shaper": "trial", "naive": "episode", "safe": "trial", "mediator": "trial"}


def small(*more: str) -> Config:
    config = make_config("any/society", learner="tabular")
    return with_overrides(config, [*SMALL, "mediator.hidden=16,8", "threads=1", "checkpoint_every=1", *more])


def test_everybody_learns_by_a_clock_of_its_own(tmp_path: Path) -> None:
    config = small()
    assert {name: one.update for name, one in config.learners.items()} == CLOCKS
    run = train(config, tmp_path / "run", progress=QUIET).path
    lines = read_lines(run / "metrics.jsonl")
    assert len(lines) == 6 and all("diverged" not in line for line in lines)
    for name in CLOCKS:
        assert all(f"policy_loss/{name}" in line or f"loss/{name}" in line for line in lines)
    assert all("exploit/safe" in line and "notice/intervene" in line for line in lines)
    games = read_lines(run / "episodes.jsonl")
    others = {one["players"]["player-2"] for one in games}
    assert others <= {"naive", "tit_for_tat", "always_defect"}
    assert read_json(run / "eval.json")["mediation"]["mediator"] == "mediator"


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_it_goes_on_after_a_death_bit_for_bit(workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(f"workers={workers}", f"threads={workers}")
    reference = train(config, tmp_path / "reference", progress=QUIET).path
    run = died_at(2, tmp_path / "run", monkeypatch, config)
    resume(run, progress=QUIET)
    same_ending(run, reference)


@pytest.mark.parametrize("learner", ["tabular", "language_model"])
@pytest.mark.parametrize("game", [None, "stag-hunt-3:talk=0+mediator:targets=everyone", "chicken-3+mediator:cost=0.1"])
def test_games(game: str | None, learner: str) -> None:
    if learner == "tabular" and game is not None and "talk=0" not in game:
        pytest.skip("tables do not talk")
    check_without_weights(make_config("any/society", learner=learner, game=game))  # type: ignore[arg-type]


def test_its_mediator_may_be_a_language_model() -> None:
    """It has no safety objective, though the others meet the pools."""
    changes = [
        "model=tiny-reason",
        "mediator.policy=language_model",
        "mediator.memory=last_round",
        "mediator.algorithm=group",
    ]
    check_without_weights(with_overrides(make_config("any/society", learner="tabular"), changes))
    with pytest.raises(UsageError, match=r"learners\.mediator\.group\.safety"):
        check_without_weights(small(*changes, "mediator.group.safety.exploit=1"))


@pytest.mark.parametrize("game", ["ipd", "ipd-3", "ipd-3:n=4+mediator", "bertrand+mediator"])
def test_games_with_other_seats_are_refused(game: str) -> None:
    with pytest.raises(UsageError, match=r"any/society seats a shaper.*Try --game ipd-3:talk=0,shared=true\+mediator"):
        make_config("any/society", learner="tabular", game=game)
