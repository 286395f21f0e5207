"""Combinations of learners, policies and games as a run's config says, built and trained: seeds together are seeds alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from combinations import played, same_state, state_of
from torch import Tensor

from coplay.games.records import Episode
from coplay.models.bank import AdapterBank
from coplay.runs.config import Config
from coplay.runs.factory import build

torch.set_num_threads(1)

SHORT: dict[str, Any] = {
    "recipe": "test",
    "seeds": [0, 1],
    "trials": 2,
    "episodes": 2,
    "rounds": 3,
    "games": 4,
    "group_size": 2,
    "threads": 1,
    "workers": 1,
}

PPO_SETTINGS = {"learning_rate": 3e-3, "adam_eps": 1e-4, "score_scaling": True}
GROUP_SETTINGS = {"learning_rate": 3e-3, "adam_eps": 1e-4, "method": "advantage_alignment"}

RUNS: dict[str, dict[str, Any]] = {
    "PPO on text, with two clocks": {
        "game": "split-no-comm",
        "model": "tiny-talk",
        "learners": {
            "naive": {"memory": "last_round", "max_tokens": 10, "ppo": PPO_SETTINGS},
            "shaper": {"memory": "trial_counts", "max_tokens": 10, "update": "trial", "ppo": PPO_SETTINGS},
        },
        "seats": {"alice": ["shaper"], "bob": ["naive"]},
    },
    "PPO on text, self-play": {
        "game": "split-no-comm",
        "model": "tiny-talk",
        "learners": {"self": {"memory": "chat", "max_tokens": 10, "ppo": PPO_SETTINGS}},
        "seats": {"alice": ["self"], "bob": ["self"]},
        "rotate_seats": True,
    },
    "Advantage Alignment on one token": {
        "game": "ipd",
        "model": "tiny",
        "learners": {"self": {"memory": "last_round", "algorithm": "group", "group": GROUP_SETTINGS}},
        "seats": {"row": ["self"], "column": ["self"]},
    },
    "Advantage Alignment on a table": {
        "game": "public-goods",
        "learners": {"self": {"policy": "tabular", "algorithm": "group", "group": GROUP_SETTINGS}},
        "seats": {"player-1": ["self"], "player-2": ["self"], "player-3": ["self"]},
        "rotate_seats": True,
    },
    "one token against text, PPO against a group gradient": {
        "game": "ipd",
        "model": "tiny",
        "learners": {
            "chooser": {"memory": "last_round", "ppo": PPO_SETTINGS},
            "writer": {
                "memory": "last_round",
                "replies": "text",
                "max_tokens": 2,
                "algorithm": "group",
                "group": GROUP_SETTINGS,
            },
        },
        "seats": {"row": ["chooser"], "column": ["writer"]},
    },
}


def numbers(line: Mapping[str, Any]) -> dict[str, float]:
    """A line of metrics without those that have no value, e.g. the co-player's where both learn."""
    return {key: value for key, value in line.items() if value is not None}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_two_seeds_is_two_runs_of_one(name: str) -> None:
    def learnt(seeds: Sequence[int]) -> dict[int, tuple[list[Any], dict[str, Tensor]]]:
        state = build(Config.model_validate({**SHORT, **RUNS[name], "seeds": seeds}))
        began = {seed: {key: value.clone() for key, value in state.state_dict(seed).items()} for seed in seeds}
        lines = [state.run_trial(trial).lines for trial in range(2)]
        for seed in seeds:
            for learner in state.learners:
                moved = [
                    key for key, value in state.state_dict(seed).items() if not torch.equal(value, began[seed][key])
                ]
                assert any(key.startswith(f"{learner}/policy.") for key in moved)
        return {seed: ([line[seed] for line in lines], state.state_dict(seed)) for seed in seeds}

    together = learnt([0, 1])
    for seed in (0, 1):
        lines, state = learnt([seed])[seed]
        for mine, own in zip(together[seed][0], lines, strict=True):
            assert numbers(mine) == pytest.approx(numbers(own), rel=1e-3, abs=1e-4)
        assert state.keys() == together[seed][1].keys()
        for key, value in state.items():
            torch.testing.assert_close(together[seed][1][key], value, rtol=1e-3, atol=1e-4)


def test_learners_of_one_bank_do_not_train_each_others_slots() -> None:
    """A chooser and a writer share base model and bank; an update of one leaves the other's adapter as it was."""
    state = build(Config.model_validate({**SHORT, **RUNS["one token against text, PPO against a group gradient"]}))
    assert isinstance(state.bank, AdapterBank) and len(state.bank.slots) == 4
    for learner, other in (("chooser", "writer"), ("writer", "chooser")):
        before = {seed: state_of(state.learners[other], seed) for seed in (0, 1)}
        episodes = [one for seed in (0, 1) for one in _played(state, seed)]
        state.learners[learner].collect(episodes)
        state.learners[learner].update((0,))
        assert all(same_state(state_of(state.learners[other], seed), before[seed]) for seed in (0, 1))


def _played(state: Any, seed: int) -> list[Episode]:
    seats = {"row": state.learners["chooser"], "column": state.learners["writer"]}
    return played(state.game, seats, [seed], 0)
