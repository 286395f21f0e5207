"""A resumed run equals one that was not interrupted, whatever learns in it and however many processes train it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch
from interruptions import died_at, same_ending
from run_files import as_older, read_json, read_lines, write_json
from safetensors.torch import save_file
from small_runs import QUIET, small
from small_text_runs import small_text, tables_config

from coplay.errors import UsageError
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory
from coplay.runs.restore import restored
from coplay.runs.train import resume, train

torch.set_num_threads(1)

ROUND_CLOCK = ["column.algorithm=q_learning", "column.update=round", "column.memory=last_round", "column.initial=null"]

PPO = {"algorithm": "ppo", "memory": "last_round", "update": "episode"}


def three_tables(**more: Any) -> Config:
    """Public goods, three seats, a learner each that turn round; momentum and adaptive coefficients are part of what is kept."""
    learners = {name: {**PPO, "ppo": {"learning_rate": 0.01, "score_scaling": True}} for name in ("a", "b", "c")}
    seats = {f"player-{i + 1}": name for i, name in enumerate(learners)}
    return tables_config("public-goods", learners, seats, group_size=2, rotate_seats=True, **more)


def networks() -> Config:
    """Public goods with a network in each seat, one of them with a replay buffer that overflows and a target network."""
    net = {"policy": "network", "hidden": [8, 6], "memory": "window", "window": 2, "update": "episode"}
    dqn = {
        "buffer": 40,
        "least": 16,
        "minibatch": 8,
        "steps": 3,
        "epsilon_updates": 4,
        "discount": 0.9,
        "target_every": 2,
    }
    learners = {
        "a": {
            **net,
            "algorithm": "ppo",
            "ppo": {"learning_rate": 0.01, "whiten": False, "critic": False, "gamma": 0.0},
        },
        "b": {**net, "algorithm": "dqn", "dqn": dqn},
        "c": {**net, "algorithm": "group", "update": "trial", "group": {"learning_rate": 0.01}},
    }
    return tables_config(
        "public-goods", learners, {f"player-{i + 1}": name for i, name in enumerate("abc")}, group_size=2
    )


RUNS: dict[str, Config] = {
    "networks": networks(),
    "text with past selves": small_text(
        "trust-and-split", "past_selves.snapshot_interval=1", "past_selves.pool_size=2", "workers=1"
    ),
    "text with retries": small_text("split-no-comm-grpo", "retries=1", "learner.memory=chat", "workers=1"),
    "Q-learning by rounds": small("tabular", *ROUND_CLOCK, "checkpoint_every=1", "trials=3"),
    "three PPO tables": three_tables(),
    "a pool of co-players": tables_config(
        "ipd", {"a": PPO}, {"row": "a", "column": ["a", "tit_for_tat", "always_defect"]}, rotate_seats=True
    ),
    "a learner that is reset": small("tabular", "column.reset=trial", "checkpoint_every=1", "trials=3"),
    "two processes, tables": three_tables(seeds=[0, 1, 2], workers=2, threads=2),
    "two processes, text": small_text("ipd-ab", "seeds=[0,1,2]", "workers=2", "threads=2"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "two processes" in name else name for name in RUNS]
)
def test_a_resumed_run_equals_an_uninterrupted_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It died in the third trial, was resumed from the checkpoint of the second."""
    config = RUNS[name]
    assert (config.trials, config.checkpoint_every) == (3, 1)
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    run = died_at(2, tmp_path / "run", monkeypatch, config)
    assert [path.name for path in RunDirectory.open(run).checkpoints()] == ["trial-00001", "trial-00002"]
    resume(run, progress=QUIET)
    same_ending(run, whole)
    first, last = (trained_state(whole, checkpoint) for checkpoint in ("trial-00001", "trial-00003"))
    assert any(not torch.equal(first[key], last[key]) for key in first)  # something was learnt in between


def trained_state(run: Path, checkpoint: str) -> dict[str, torch.Tensor]:
    return dict(RunDirectory.at_checkpoint(run, checkpoint)[1].tensors)


@pytest.mark.slow
def test_more_trials_go_on_where_fewer_ended(tmp_path: Path) -> None:
    config = RUNS["text with past selves"]
    whole = train(config, tmp_path / "whole", progress=QUIET).path
    part = train(config.model_copy(update={"trials": 1}), tmp_path / "part", progress=QUIET).path
    as_older(part)
    write_json(part / "config.json", {**read_json(part / "config.json"), "trials": 3})
    (part / "eval.json").unlink()
    resume(part, progress=QUIET)
    for name in ("metrics.jsonl", "eval.json"):
        assert (part / name).read_bytes() == (whole / name).read_bytes()
    assert "reward/learner" in read_lines(part / "metrics.jsonl")[0]


@pytest.mark.parametrize(
    "edit",
    [
        {"seeds": [0, 1]},
        {"seeds": [1]},
        {"past_selves": {"probability": 0.5, "snapshot_interval": 1, "pool_size": 2}},
        {"adapter": {"rank": 4, "alpha": 16.0, "targets": ["q_proj"]}},
        {"seats": {"alice": ["learner"], "bob": ["other"]}, "learners": {"learner": {}, "other": {}}},
    ],
)
def test_a_config_edited_to_other_players_does_not_take_the_old_ones(tmp_path: Path, edit: dict[str, Any]) -> None:
    run = train(
        small_text("ipd-ab", "past_selves.probability=0", "trials=1", "workers=1"), tmp_path / "run", progress=QUIET
    ).path
    data = read_json(run / "config.json")
    if "learners" in edit:
        edit = {**edit, "learners": dict.fromkeys(edit["learners"], data["learners"]["learner"])}
    write_json(as_older(run) / "config.json", {**data, "trials": 2, **edit})
    lines = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(UsageError, match="does not fit the run's checkpoint") as caught:
        resume(run, progress=QUIET)
    assert "\n" not in str(caught.value)
    assert (run / "metrics.jsonl").read_bytes() == lines


def test_a_checkpoint_of_version_1_and_of_other_learners_is_refused_in_words(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=1"), tmp_path / "run", progress=QUIET).path
    (checkpoint,) = RunDirectory.open(as_older(run)).checkpoints()
    (run / "eval.json").unlink()  # a finished run is left alone
    weights = checkpoint / "state.safetensors"
    save_file({"row.policy": torch.zeros(1, 6, 2), "column.policy": torch.zeros(1, 6, 2)}, str(weights))
    about = read_json(checkpoint / "checkpoint.json")
    write_json(checkpoint / "checkpoint.json", {**about, "sha256": hashlib.sha256(weights.read_bytes()).hexdigest()})
    for read in (lambda: resume(run, progress=QUIET), lambda: restored(run)):
        with pytest.raises(UsageError, match="does not fit the run's checkpoint: 'column/head' of seed 0") as caught:
            read()
        assert "\n" not in str(caught.value)
