"""The loop that coplay is measured against does the same work: same probabilities, same games, same updates."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from coplay.games.memory import Observation
from coplay.players.choice import Key
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.factory import build
from coplay.runs.state import TrainingState

pytest.importorskip("peft")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import tables
from sections import COPLAY, STRAIGHTFORWARD, Clock
from straightforward import StraightforwardRun, coplay_adapter

ARMS = ("shapellm/ipd", "shapellm/ipd-baseline")
SEED = 3


def small(arm: str) -> Config:
    changes = {"seeds": (SEED, 4), "games": 3, "rounds": 5, "episodes": 2, "trials": 1, "threads": 1}
    return make_config(arm).model_copy(update=changes)


def moved(now: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> torch.Tensor:
    return torch.cat([(now[name] - before[name]).flatten() for name in sorted(before)])


@pytest.fixture(params=ARMS)
def state(request: pytest.FixtureRequest) -> TrainingState:
    return build(small(request.param))


def test_acting_probabilities_are_equal(state: TrainingState) -> None:
    generator = torch.Generator().manual_seed(0)
    assert state.bank is not None
    for parameter in state.bank.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    state.bank.bump_version(range(len(state.bank.slots)))
    run = StraightforwardRun(state.config, SEED, start=state)
    joints = state.game.own_states("row")
    observations = [
        Observation(),
        *(Observation(last=joint) for joint in joints),
        *(Observation(last=joint, counts=(3, 0, 12, 4)) for joint in joints),
    ]
    for seat, agent in run.agents.items():
        learner = state.learners[seat]
        slot = learner.slots[SEED]
        decisions = learner.player.decide([(slot, Key(seat, observation)) for observation in observations])
        theirs_RV = np.stack([decision.logprobs_V for decision in decisions])
        prompts = agent.tokenised(observations)
        np.testing.assert_allclose(agent.acting_logprobs(prompts), theirs_RV, rtol=1e-4, atol=1e-4)
        _, hidden_RH = agent.forward(prompts)
        values = [decision.value for decision in decisions]
        np.testing.assert_allclose(agent.values(hidden_RH).detach(), values, rtol=1e-4, atol=1e-4)


def test_a_trial_plays_the_same_games_and_makes_the_same_updates(state: TrainingState) -> None:
    run = StraightforwardRun(state.config, SEED, start=state)
    before = {seat: coplay_adapter(state, seat, SEED) for seat in run.agents}
    heads = {seat: learner.heads.weights.detach().clone() for seat, learner in state.learners.items()}
    _, shown = state.run_trial(0)
    played = run.trial(0)

    ours = [[state.game.state_name(one) for one in e.outcomes] for e in played if e.game == 0]
    theirs = [record["states"] for record in shown if record["seed"] == SEED]
    assert ours == theirs
    for seat, agent in run.agents.items():
        expected = moved(coplay_adapter(state, seat, SEED), before[seat])
        actual = moved(agent.adapter(), before[seat])
        assert expected.norm() > 0
        assert (actual - expected).norm() < 1e-3 * expected.norm()
        head_before = heads[seat][0]
        head_moved = state.learners[seat].heads.weights.detach()[0] - head_before
        own_head = torch.cat([agent.head.weight.detach()[0], agent.head.bias.detach()]) - head_before
        assert (own_head - head_moved).norm() < 1e-3 * head_moved.norm()
        progress = state.learners[seat].state[0]
        assert agent.kl_coef == pytest.approx(progress.kl_coef, rel=1e-5)
        assert agent.moments.std == pytest.approx(progress.moments.std, rel=1e-6)


@pytest.mark.parametrize("watched", [COPLAY, STRAIGHTFORWARD], ids=["coplay", "straightforward"])
def test_every_timed_function_exists(watched) -> None:
    with Clock(watched) as clock:
        pass
    assert clock.seconds == {}


def test_a_page_says_what_was_not_measured() -> None:
    text = "before\n<!-- table: compare -->\nold\n<!-- end of table -->\nafter\n"
    new = tables.rendered(text, None)
    assert "Not measured yet" in new
    assert "old" not in new
    assert new.startswith("before\n<!-- table: compare -->\n")
    assert new.endswith("<!-- end of table -->\nafter\n")
