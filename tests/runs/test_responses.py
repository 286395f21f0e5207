"""Learners against best responses to their own earlier policies: who meets which, checkpoints, and what is refused."""

from pathlib import Path

import pytest
import torch
from interruptions import died_at, same_ending
from run_files import read_json, read_lines
from small_runs import QUIET

from coplay.errors import UsageError
from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response_value
from coplay.evaluation.on_policy import on_policy_values
from coplay.games.records import Occupant
from coplay.recipes import make_config
from coplay.recipes.sepo.pools import POOLS
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build
from coplay.runs.pools import BEST_RESPONSES
from coplay.runs.state import TrainingState
from coplay.runs.train import resume, train

torch.set_num_threads(1)

SMALL = [
    *("threads=1", "workers=1", "seeds=[0,1]", "trials=4", "checkpoint_every=1", "held_out_games=2", "eval_games=6"),
    *("group_size=2", "games=12", "rounds=1", "pools.respond_every=1", "pools.responses=2"),
]


def small(*overrides: str, name: str = "sepo/kuhn-best-responses") -> Config:
    return with_overrides(make_config(name, learner="tabular"), [*SMALL, *overrides])


def drawn(state: TrainingState, trial: int) -> dict[tuple[int, int], set[int]]:
    """By seed and group the slots of the best responses that its games meet."""
    found: dict[tuple[int, int], set[int]] = {}
    for table in state.seating.tables(trial):
        other = table.seated["player-2"]
        if other.name == BEST_RESPONSES:
            assert other.slot is not None and other.pool == "exploit" and other.learner is None
            found.setdefault((table.seed, table.group), set()).add(other.slot)
    return found


def test_each_group_meets_one_of_its_seeds_newest_responses() -> None:
    state = build(small("games=96", "pools.responses=3"))
    for trial in range(4):
        state.run_trial(trial)
    met = drawn(state, 4)
    assert all(len(slots) == 1 for slots in met.values())
    slots = {seed: {slot for (own, _), of_group in met.items() if own == seed for slot in of_group} for seed in (0, 1)}
    assert slots == {0: {0, 1, 2}, 1: {3, 4, 5}}


def test_the_oldest_response_is_replaced_first() -> None:
    state = build(small("seeds=[0]"))
    assert state.responses is not None
    seen = []
    for trial in range(3):
        state.run_trial(trial)
        seen.append(dict(state.responses.texts))
    assert list(seen[0]) == [0] and list(seen[1]) == [0, 1]
    assert seen[2][1] is seen[1][1] and seen[2][0] is not seen[1][0]


def test_they_are_best_responses_to_the_policy_of_their_trial() -> None:
    state = build(small("seeds=[0]", "pools.respond_every=3", "rounds=2"))
    responses, learner = state.responses, state.learners["learner"]
    assert responses is not None
    for trial in range(3):
        state.run_trial(trial)
    asked = ActionProbabilities(state.game, {"player-1": Occupant(learner.player, "learner", 0)})
    value = best_response_value(state.game, "player-2", asked, rounds=2)
    responses.respond(3, [0])
    seated = {"player-1": Occupant(learner.player, "learner", 0), "player-2": Occupant(responses.player, "response", 1)}
    probabilities = ActionProbabilities(state.game, seated)
    assert on_policy_values(state.game, probabilities, rounds=2)["player-2"] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("every", [1, 3])
def test_a_resumed_run_meets_the_same_responses(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(f"pools.respond_every={every}")
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    run = died_at(2, tmp_path / "run", monkeypatch, config)
    resume(run, progress=QUIET)
    same_ending(whole, run)
    assert (whole / "safety.json").read_bytes() == (run / "safety.json").read_bytes()


def test_seeds_together_are_seeds_alone(tmp_path: Path) -> None:
    both = train(small(), tmp_path / "both", progress=QUIET).path
    alone = train(small("seeds=[1]"), tmp_path / "alone", progress=QUIET).path
    assert [x for x in read_lines(both / "metrics.jsonl") if x["seed"]] == read_lines(alone / "metrics.jsonl")


@pytest.mark.slow
def test_processes_share_out_the_seeds(tmp_path: Path) -> None:
    one = train(small(), tmp_path / "one", progress=QUIET).path
    two = train(small("workers=2"), tmp_path / "two", progress=QUIET).path
    assert read_lines(one / "metrics.jsonl") == read_lines(two / "metrics.jsonl")


def test_a_moving_co_player_is_not_measured_against(tmp_path: Path) -> None:
    run = train(small("trials=1", "seeds=[0]"), tmp_path / "run", progress=QUIET).path
    against = read_json(run / "safety.json")["seeds"]["0"]["last"]["against"]
    assert {one["name"] for one in against} == {one for members in POOLS["kuhn"].all.values() for one in members}
    assert read_lines(run / "metrics.jsonl")[0]["held_out/best_response"] > 0
    state = build(small("seeds=[0]"))
    met = [table.seated["player-2"].name for table in state.seating.evaluation(0, 6)]
    assert met == [*POOLS["kuhn"].train, *POOLS["kuhn"].exploit, "nash:0"]


def test_the_large_pool_has_every_strategy_that_is_in_no_other() -> None:
    found = make_config("sepo/kuhn-large-pool", learner="tabular")
    members = [one for of_pool in found.pools.all.values() for one in of_pool]
    assert len(members) == len(set(members))
    named = {one.partition(":")[0] for one in members}
    assert named == {*build(small()).game.strategies, "uniform"}
    assert {found.pools.train, found.pools.shifted} == {POOLS["kuhn"].train, POOLS["kuhn"].shifted}


IPD = ["pools.exploit=always_defect,best_responses", "games=14", "rounds=8"]

REFUSED = {
    "in another pool": (["pools.train=best_responses"], "pools.train has 'best_responses', which may be in pools.exploit alone"),
    "in the shifted pool": (["pools.exploit=nash", "pools.shifted=best_responses"], "pools.shifted has 'best_responses'"),
    "in a seat of its own": (["seats.player-2=best_responses"], "seats.player-2: 'best_responses' is a member of pools.exploit"),
    "nobody else": (["pools.train=", "pools.exploit=best_responses"], "add another co-player to pools.train or pools.exploit"),
    "never": (["pools.respond_every=0"], "pools.respond_every"),
    "none kept": (["pools.responses=0"], "pools.responses"),
    "a learner that takes both seats": (["rotate_seats=true"], "they respond to one learner in one seat"),
    "a learner in the seat of the pools too": (["seats.player-2=learner,pools", "games=14"], "they respond to one learner in one seat"),
    "nobody to respond to": (['seats={"player-1": ["learner", "uniform"], "player-2": ["pools"]}'], "they respond to one learner in one seat"),
    "a memory of earlier episodes": (["learner.memory=trial_counts", "episodes=2"], "set episodes=1"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    overrides, message = REFUSED[what]
    with pytest.raises(UsageError) as error:
        build(small(*overrides))
    assert message in str(error.value) and "\n" not in str(error.value)


LANGUAGE = ["learner.policy=language_model", "model=tiny-reason"]

UNFIT = {
    "chance that cannot be listed": ("sepo/negotiation-v2", ["pools.exploit=greedy,best_responses"], "cannot list what chance deals"),
    "too many rounds": ("sepo/ipd-8", [*IPD, *LANGUAGE, "learner.memory=transcript"], "ask for at most --rounds"),
    "a model that reads its own words": ("sepo/ipd-8", [*IPD, *LANGUAGE, "learner.memory=chat"], "set learners.learner.memory=last_round"),
    "too many samples": ("sepo/ipd-8", [*IPD, *LANGUAGE, "pools.response_samples=5000"], "tells no probabilities, and 5000 replies at each of its"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNFIT)
def test_games_and_learners_without_a_best_response_are_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.evaluation.round_tree.MOST_POSITIONS", 1000)
    name, overrides, message = UNFIT[what]
    with pytest.raises(UsageError) as error:
        build(small(*overrides, name=name))
    assert message in str(error.value) and "\n" not in str(error.value)
