"""The plain loop that controllers are measured against learns what coplay's learner does, as PPO and as a bandit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import controller_updates as benchmark
from plain_controller import Per, PlainController, Step, sequential

from coplay.games import make_game
from coplay.learners.ppo import PPOLearner
from coplay.learners.presets import CONTROLLER, POLICY_GRADIENT_BANDIT
from coplay.learners.settings import PPO
from coplay.rng import stream

torch.set_num_threads(1)

SEED, HIDDEN = 3, (16, 8)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "HIDDEN", HIDDEN)
    monkeypatch.setattr(benchmark, "GAMES", 4)


def parameters(network: nn.Sequential) -> Tensor:
    """All numbers of a network, in a line."""
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def trained(ppo: PPO, per: Per, *, immediate: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The networks after three updates of both loops, and before; the plain one credited with immediate payoffs alone if that is asked for."""
    game = make_game(benchmark.GAME)
    policy = benchmark.fresh(game, [SEED]).policy
    learner = PPOLearner(benchmark.NAME, policy, seeds=[SEED], slots=[0], ppo=ppo)
    with torch.no_grad():
        policy.parameters()[0].add_(
            0.1 * torch.randn(policy.parameters()[0].shape, generator=torch.Generator().manual_seed(1))
        )
    network, critic = sequential(policy.slot_state(0), HIDDEN), None
    if ppo.critic:
        critic = nn.Linear(HIDDEN[-1], 1)
        with torch.no_grad():
            critic.weight.copy_(learner.heads.weights[:, :-1])
            critic.bias.copy_(learner.heads.weights[0, -1:])
    plain, before = PlainController(network, critic, ppo, per=per), parameters(network)
    for number in range(3):
        episodes = benchmark.played(game, learner, number)
        rows = [benchmark.steps_of(one) for one in episodes]
        size = sum(map(len, rows))
        orders = [
            stream(SEED, "minibatch", benchmark.NAME, number, epoch).permutation(size) for epoch in range(ppo.epochs)
        ]
        learner.collect(episodes)
        learner.update((number,))
        plain.learn([[step] for own in rows for step in own] if immediate else rows, orders)
    ours = parameters(sequential(policy.slot_state(0), HIDDEN))
    return ours, parameters(network), before


@pytest.mark.parametrize("per", ["step", "episode", "minibatch"])
def test_both_loops_learn_the_same(per: Per) -> None:
    ours, theirs, before = trained(CONTROLLER.model_copy(update={"minibatch": 7}), per)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)
    assert float((ours - before).abs().max()) > 1e-3


def test_ppo_with_gamma_0_and_no_critic_is_the_bandit() -> None:
    """The other loop sees every round as an episode of its own: a contextual bandit by construction."""
    bandit = POLICY_GRADIENT_BANDIT.model_copy(update={"minibatch": 7})
    ours, theirs, before = trained(bandit, "minibatch", immediate=True)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)
    assert float((ours - before).abs().max()) > 1e-3
    far, theirs, _ = trained(bandit.model_copy(update={"gamma": 0.99}), "minibatch", immediate=True)
    assert float((far - theirs).abs().max()) > 1e-4  # a return over rounds is told apart


def test_steps_are_what_was_paid() -> None:
    game = make_game(benchmark.GAME)
    (episode, *_) = benchmark.played(game, benchmark.fresh(game, [SEED]), 0)
    steps = benchmark.steps_of(episode)
    assert [step.reward for step in steps] == episode.payoffs(benchmark.SEAT) and isinstance(steps[0], Step)
