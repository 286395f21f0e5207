"""Learners that are networks, in runs: seeds apart, weights by name, what is refused, what a run of them says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import QUIET
from small_text_runs import tables_config

from coplay.errors import UsageError
from coplay.report.data import model_of
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.contestants import contestants
from coplay.runs.factory import build
from coplay.runs.train import train

torch.set_num_threads(1)

NET: dict[str, Any] = {"policy": "network", "hidden": [16, 8], "memory": "window", "update": "episode"}
MEDIATED = "ipd-3:talk=0+mediator"


def mediated(game: str = MEDIATED, **more: Any) -> Config:
    """A PPO mediator of three scripts."""
    learner = {**NET, "ppo": {"learning_rate": 0.01, "gamma": 0.99, "kl_coef": 0.0, "value_clip": None}}
    seats = {"mediator": "m", "player-1": "random:0.4", "player-2": "tit_for_tat", "player-3": "random:0.8"}
    return tables_config(game, {"m": {**learner, **more.pop("learner", {})}}, seats, **more)


def trained_state(config: Config, seed: int) -> dict[str, torch.Tensor]:
    """A seed's state after all trials."""
    state = build(config)
    for trial in range(config.trials):
        state.run_trial(trial)
    return state.state_dict(seed)


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_seeds_together_equal_runs_of_their_own(algorithm: str) -> None:
    learner = {"algorithm": algorithm, "dqn": {"least": 8, "buffer": 100}}
    together = mediated(seeds=[0, 1, 2], learner=learner)
    state = build(together)
    for trial in range(3):
        state.run_trial(trial)
    for seed in (0, 1, 2):
        alone = trained_state(mediated(seeds=[seed], learner=learner), seed)
        mine = state.state_dict(seed)
        assert mine.keys() == alone.keys()
        for key, value in alone.items():
            torch.testing.assert_close(mine[key], value, rtol=1e-4, atol=1e-6)
    first, second = (state.state_dict(seed)["m/policy.layers.0.weight"] for seed in (0, 1))
    assert float((first - second).abs().max()) > 0.05


def test_initial_weights_depend_on_seed_and_learner_alone() -> None:
    def weights(config: Config, seed: int) -> torch.Tensor:
        return build(config).state_dict(seed)["m/policy.layers.0.weight"]

    both = mediated(seeds=[3, 4])
    assert torch.equal(weights(both, 4), weights(mediated(seeds=[4]), 4))
    assert not torch.equal(weights(both, 3), weights(both, 4))
    state = build(both).state_dict(3)
    assert not state["m/policy.last.weight"].any()  # so it starts as the uniform policy
    assert float(state["m/policy.layers.1.weight"].abs().max()) <= 16**-0.5


def test_a_run_with_talk_trains_its_mediator_and_plays_afterwards(tmp_path: Path) -> None:
    config = mediated("ipd-3+mediator", trials=2, seeds=[0, 1])
    run = train(config, tmp_path / "run", progress=QUIET).path
    game = json.loads((run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    act = game["rounds"][1]["acts"][0]
    assert act["seat"] == "mediator" and act["prompt"].startswith("round: 0.2") and "features" not in act
    assert model_of(config.model_dump()) == "network"
    (player,) = contestants([f"{run}:m:1"], build(config).game)
    assert "mediator" in player.seats
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all("value_loss/m" in line and "diverged" not in line for line in metrics)


def test_without_a_critic_there_is_no_value_loss() -> None:
    state = build(mediated(learner={"ppo": {"critic": False, "whiten": False, "gamma": 0.0, "learning_rate": 0.01}}))
    before = state.state_dict(0)
    line = state.run_trial(0).lines[0]
    after = state.state_dict(0)
    assert "policy_loss/m" in line and "value_loss/m" not in line
    assert torch.equal(before["m/head"], after["m/head"])
    assert not torch.equal(before["m/policy.last.weight"], after["m/policy.last.weight"])


@pytest.mark.parametrize(
    ("game", "learner", "seats", "words"),
    [
        ("ipd-3+mediator", {}, {"player-1": "m"}, "also asks player-1 for open replies.*Use policy=language_model"),
        ("split-no-comm", {}, {"alice": "m", "bob": "fair"}, "a network chooses among a few actions"),
        ("ipd", {"memory": "trial_counts"}, {"row": "m"}, "policy=network needs memory=none or last_round or window"),
        ("ipd", {"algorithm": "q_learning"}, {"row": "m"}, "algorithm=q_learning is for policy=tabular"),
        (
            "ipd",
            {"algorithm": "dqn", "policy": "tabular", "memory": "last_round"},
            {"row": "m"},
            "dqn is for policy=network",
        ),
        ("ipd", {"hidden": [0]}, {"row": "m"}, "every hidden layer must be 1 to 4096 wide"),
        ("ipd", {"dqn": {"least": 20, "buffer": 10}}, {"row": "m"}, "set buffer to 20 or more"),
    ],
)
def test_what_cannot_be_is_refused(game: str, learner: dict[str, Any], seats: dict[str, str], words: str) -> None:
    from coplay.games import make_game

    everybody = dict.fromkeys(make_game(game).seats, "uniform") | seats
    with pytest.raises(UsageError, match=words):
        check_without_weights(tables_config(game, {"m": {**NET, **learner}}, everybody))
