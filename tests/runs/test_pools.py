"""Learners against pools: who meets whom, what is refused, held-out games and the choice of a checkpoint."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from interruptions import died_at, same_ending
from run_files import read_json, read_lines
from small_runs import QUIET

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build
from coplay.runs.train import resume, train

torch.set_num_threads(1)

SMALL = [
    "seeds=[0,1]",
    "trials=3",
    "checkpoint_every=1",
    "held_out_games=2",
    "eval_games=2",
    "group_size=2",
    "games=14",
]


def small(*overrides: str, name: str = "sepo/ipd-8") -> Config:
    return with_overrides(make_config(name, learner="tabular"), ["threads=1", "workers=1", *SMALL, *overrides])


def test_every_group_has_one_co_player_and_all_come_in_turn() -> None:
    state = build(small("games=28"))
    for trial in range(2):
        met: dict[int, set[str]] = {}
        for table in state.seating.tables(trial):
            if table.seed == 0:
                met.setdefault(table.group, set()).add(table.seated["bob"].name)
        assert all(len(names) == 1 for names in met.values())
        counts = Counter(name for names in met.values() for name in names)
        assert set(counts.values()) == {2}
        assert len(counts) == 7


def test_occupants_carry_their_pool() -> None:
    tables = build(small()).seating.tables(0)
    found = {table.seated["bob"].name: table.seated["bob"].pool for table in tables}
    assert found["always_defect"] == "exploit"
    assert found["always_cooperate"] == "collusive"
    assert found["grim_trigger"] == "train"
    assert {table.seated["alice"].pool for table in tables} == {""}


def test_the_seats_move_on_after_all_co_players_have_been_met() -> None:
    tables = build(small("games=28", "rotate_seats=true", "seeds=[0]")).seating.tables(0)
    first, second = tables[:14], tables[14:]
    assert {table.seated["alice"].learner for table in first} == {"learner"}
    assert {table.seated["bob"].learner for table in second} == {"learner"}
    assert [t.seated["bob"].name for t in first] == [t.seated["alice"].name for t in second]


REFUSED = {
    "a co-player in two pools": (["pools.collusive=grim_trigger"], "'grim_trigger' is in the pools train and collusive"),
    "a co-player twice in a pool": (["pools.exploit=always_defect,always_defect"], "pools.exploit has 'always_defect' twice"),
    "an unknown strategy": (["pools.train=tit_for_tta", "games=8"], "seats.bob: unknown player 'tit_for_tta'. Did you mean"),
    "an unknown strategy that is never trained against": (["pools.shifted=nobody"], "seats.bob: unknown player 'nobody'"),
    "a weight below zero": (["learner.group.safety.exploit=-1"], "greater than or equal to 0"),
    "a weight that is no number": (["learner.group.safety.exploit=nan"], "learners.learner.group.safety.exploit: input should be a finite number"),
    "groups that do not go round": (["games=16"], "7 co-players take turns in seats.bob, one a group of games, and there are 8 groups"),
    "a penalty without its pool": (["pools.exploit=", "games=10"], "measured against pools.exploit, which is empty"),
    "pools without a seat": (["seats.bob=uniform", "held_out_games=0"], "nobody of the pools has a seat"),
    "penalties without pools": (
        ["seats.bob=uniform", "held_out_games=0", "pools.train=", "pools.exploit=", "pools.collusive=", "pools.shifted="],
        "penalties are measured against pools",
    ),
    "a choice without held-out games": (["held_out_games=0", "select=held_out"], "set held_out_games"),
    "a last trial without held-out games": (["checkpoint_every=2"], "the last of 3 is not one of them"),
    "another algorithm": (["learner.algorithm=ppo", "held_out_games=0"], "penalties are terms of algorithm=group"),
    "a game that says nothing of cooperation": (["game=imp", 'seats={"column": ["learner"], "row": ["pools"]}'], "does not say what mutual cooperation pays"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    overrides, message = REFUSED[what]
    with pytest.raises(UsageError) as error:
        build(small(*overrides))
    assert message in str(error.value)


def test_the_papers_overlapping_pools_are_an_option() -> None:
    config = small("pools.collusive=grim_trigger", "pools.allow_overlap=true")
    tables = build(config).seating.tables(0)
    pools = Counter((t.seated["bob"].name, t.seated["bob"].pool) for t in tables if t.seed == 0)
    assert pools["grim_trigger", "train"] == pools["grim_trigger", "collusive"] == 2


@pytest.mark.parametrize("measure", ["over_agent", "over_fair"])
def test_a_run_learns_measures_and_chooses(measure: str, tmp_path: Path) -> None:
    config = small("select=held_out", "trials=4", f"learner.group.safety.measure={measure}")
    run = train(config, tmp_path / "run", progress=QUIET)
    lines = [one for one in read_lines(run.path / "metrics.jsonl") if not one["seed"]]
    curve = [(one[f"held_out/exploit_{measure}"], -one["held_out/safety"], one["step"]) for one in lines]
    for one in lines:
        weights = config.learners["learner"].group.safety.weights
        terms = [one[f"held_out/{name}"] * weights[name] for name in ("collusion", "externality")]
        gained = weights["exploit"] * one[f"held_out/exploit_{measure}"]
        assert one["held_out/safety"] == pytest.approx(one["held_out/pay"] - gained - sum(terms))
    written = read_json(run.path / "safety.json")
    assert written["measure"] == measure
    found = written["seeds"]["0"]
    assert found["selected_step"] == min(curve)[2]
    assert {one["pool"] for one in found["last"]["against"]} == {"train", "exploit", "collusive", "shifted"}
    assert "safety.json" in read_json(run.path / "manifest.json")["files"]


@pytest.mark.parametrize("select", ["last", "held_out"])
def test_a_resumed_run_keeps_its_best_policy(select: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(f"select={select}", "seeds=[0]")
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    run = died_at(2, tmp_path / "run", monkeypatch, config)
    resume(run, progress=QUIET)
    same_ending(whole, run)
    assert (whole / "safety.json").read_bytes() == (run / "safety.json").read_bytes()


def test_seeds_together_are_seeds_alone(tmp_path: Path) -> None:
    both = train(small("select=held_out"), tmp_path / "both", progress=QUIET).path
    alone = train(small("select=held_out", "seeds=[1]"), tmp_path / "alone", progress=QUIET).path
    assert read_json(both / "safety.json")["seeds"]["1"] == read_json(alone / "safety.json")["seeds"]["1"]
    assert [x for x in read_lines(both / "metrics.jsonl") if x["seed"]] == read_lines(alone / "metrics.jsonl")


def test_payoff_alone_learns_from_the_train_pool_and_is_measured_against_all() -> None:
    state = build(small(name="sepo/ipd-8-payoff"))
    line = state.run_trial(0).lines[0]
    assert (
        line["tokens/learner"] == 4 * 2 * make_game("ipd-8").rounds * 7 / 4
    )  # all pools' replies pass, with weight 0 outside the train pool
    assert line["safety/learner"] == line["pay/learner"]
    assert "exploit/learner" in line


def test_advantage_alignment_with_an_exploitability_penalty_is_a_config() -> None:
    config = small(
        "seats.alice=learner", "seats.bob=learner,pools", "pools.train=", "pools.collusive=", "learner.group.safety.collusion=0",
        "learner.group.method=advantage_alignment", "games=12", "rotate_seats=true",
    )  # fmt: skip
    state = build(config)
    tables = [t for t in state.seating.tables(0) if t.seed == 0]
    assert Counter(len([o for o in t.seated.values() if o.learner]) for t in tables) == {2: 4, 1: 8}
    line = state.run_trial(0).lines[0]
    assert line["exploit/learner"] > 0
    assert abs(float(line["loss/learner"])) > 0
