"""Estimators of controllers against truth: a mediated game of two rounds, all of whose episodes can be listed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
import torch
from enumerated import (
    MEDIATOR,
    Enumerated,
    Nudged,
    answer,
    enumerate_episodes,
    first_gradient,
    gradient,
    logprobs_of,
    means_of,
    shaken,
)
from torch import Tensor

from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Request
from coplay.learners.ppo import PPOLearner
from coplay.learners.settings import PPO
from coplay.players.network import NetworkPolicy

torch.set_num_threads(1)

GAME = Nudged()
ROUNDS = 2
PLAIN = {"epochs": 1, "minibatch": 64, "kl_coef": 0.0, "kl_adaptive": False, "whiten": False, "value_coef": 0.0}


@pytest.fixture(scope="module")
def policy() -> NetworkPolicy:
    return shaken(NetworkPolicy("m", "m", GAME, [MEDIATOR], Memory.WINDOW, window=3, hidden=(6, 5), seeds=[0]))


@pytest.fixture(scope="module")
def everything(policy: NetworkPolicy) -> Enumerated:
    choices = dict.fromkeys(GAME.seats, 2)
    return enumerate_episodes(GAME, policy, rounds=ROUNDS, choices=choices, rule=answer)


def expected_gradient(
    policy: NetworkPolicy, everything: Enumerated, episodes: list[Episode], **settings: Any
) -> Tensor:
    """What PPO's first gradient is on average, as that of a sum over rounds that is to be maximised."""
    total = torch.zeros(1, dtype=torch.float64)
    learner = PPOLearner("learner", policy, seeds=[0], slots=[0], ppo=PPO.model_validate({**PLAIN, **settings}))
    for probability, episode in zip(everything.probabilities.tolist(), episodes, strict=True):
        total = total - ROUNDS * probability * first_gradient(learner, episode)
    return total


def distance(found: Tensor, exact: Tensor) -> float:
    """Relative."""
    return float((found - exact).norm() / exact.norm())


def exact_gradient(policy: NetworkPolicy, everything: Enumerated) -> Tensor:
    """That of the expected sum of payoffs, by differentiating the sum over all episodes."""
    chances_E = everything.others_E * logprobs_of(policy, everything).sum(1).exp()
    return gradient((chances_E * everything.rewards().sum(1)).sum(), policy)


def exact_immediate_gradient(policy: NetworkPolicy, everything: Enumerated) -> Tensor:
    """That of the sum over situations s of P(s) sum_a pi(a | s) E[r | s, a], how often each situation arises being held fixed."""
    logprobs = logprobs_of(policy, everything)
    means = means_of(everything)
    total = torch.zeros((), dtype=torch.float64)
    for e, own in enumerate(everything.turns()):
        for t, turn in enumerate(own):
            # P(s, what came before and after) sums to P(s); every choice of s occurs once for each way of all others
            weight = everything.probabilities[e] / logprobs[e, t].detach().exp()
            total = total + weight * logprobs[e, t].exp() * means[turn.reply.features, turn.reply.tokens]
    return gradient(total, policy)


def with_exact_values(everything: Enumerated, *, gamma: float, bias: float = 0.0) -> list[Episode]:
    """The episodes with V(s) as the critic's estimates, plus a bias in the second round."""
    discounts_T = gamma ** torch.arange(ROUNDS).double()
    sums: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    rewards_ET = everything.rewards()
    for e, own in enumerate(everything.turns()):
        for t, turn in enumerate(own):
            chance = float(everything.probabilities[e])
            sums[turn.reply.features][0] += chance * float((rewards_ET[e, t:] * discounts_T[: ROUNDS - t]).sum())
            sums[turn.reply.features][1] += chance
    values = {key: total / weight for key, (total, weight) in sums.items()}
    found = []
    for one in everything.episodes:
        own = [
            turn._replace(reply=turn.reply._replace(value=values[turn.reply.features] + bias * (t == 1)))
            for t, turn in enumerate(one.turns[MEDIATOR])
        ]
        found.append(replace(one, turns={**one.turns, MEDIATOR: own}))
    return found


def test_the_episodes_are_all_and_differ(everything: Enumerated) -> None:
    assert len(everything.episodes) == 64
    assert float(everything.probabilities.sum()) == pytest.approx(1.0)
    shown = {turn.reply.features for own in everything.turns() for turn in own}
    assert len(shown) > 6  # the situations can be told apart


def test_ppo_without_critic_climbs_the_expected_return(policy: NetworkPolicy, everything: Enumerated) -> None:
    exact = exact_gradient(policy, everything)
    found = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=1.0, lam=1.0)
    assert distance(found, exact) < 1e-5
    blind = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=0.0)
    assert distance(blind, exact) > 0.02  # a bandit does not see what a message does in the next round
    half = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=1.0, lam=0.5)
    assert distance(half, exact) > 0.01  # without a critic lambda is a discount


@pytest.mark.parametrize("lam", [1.0, 0.95, 0.0])
def test_ppo_with_an_exact_critic_climbs_the_expected_return(
    policy: NetworkPolicy, everything: Enumerated, lam: float
) -> None:
    exact = exact_gradient(policy, everything)
    found = expected_gradient(policy, everything, with_exact_values(everything, gamma=1.0), gamma=1.0, lam=lam)
    assert distance(found, exact) < 1e-5


def test_a_discounted_gradient_is_that_of_each_rounds_return(policy: NetworkPolicy, everything: Enumerated) -> None:
    """As usual without the factor gamma^t: each round's choice climbs the return from there on."""
    gamma = 0.6
    logprobs = logprobs_of(policy, everything)
    rewards_ET = everything.rewards()
    returns_ET = torch.stack([rewards_ET[:, 0] + gamma * rewards_ET[:, 1], rewards_ET[:, 1]], dim=1)
    exact = gradient((everything.probabilities[:, None] * logprobs * returns_ET).sum(), policy)
    found = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=gamma, lam=1.0)
    assert distance(found, exact) < 1e-5
    with_critic = with_exact_values(everything, gamma=gamma)
    assert distance(expected_gradient(policy, everything, with_critic, gamma=gamma, lam=1.0), exact) < 1e-5
    other = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=0.99, lam=1.0)
    assert distance(other, exact) > 0.005


def test_a_wrong_critic_is_harmless_with_lambda_1_alone(policy: NetworkPolicy, everything: Enumerated) -> None:
    """Here wrong by a different amount after each choice of the first round."""
    exact = exact_gradient(policy, everything)
    wrong = [
        replace(
            one, turns={**one.turns, MEDIATOR: [first, second._replace(reply=second.reply._replace(value=float(i)))]}
        )
        for one, (first, second) in ((one, one.turns[MEDIATOR]) for one in with_exact_values(everything, gamma=1.0))
        for i in first.reply.tokens
    ]
    assert distance(expected_gradient(policy, everything, wrong, gamma=1.0, lam=1.0), exact) < 1e-5
    assert distance(expected_gradient(policy, everything, wrong, gamma=1.0, lam=0.0), exact) > 0.1


def test_the_bandit_climbs_the_immediate_payoff(policy: NetworkPolicy, everything: Enumerated) -> None:
    exact = exact_immediate_gradient(policy, everything)
    found = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=0.0)
    assert distance(found, exact) < 1e-5
    far = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=0.99, lam=1.0)
    assert distance(far, exact) > 0.02


def test_a_mediator_of_the_package_climbs_what_it_is_paid() -> None:
    """``ipd-3`` with one action for all: three players who cooperate with 3/4 when addressed or after a round in which most did, else with 1/4."""
    game = make_game("ipd-3:talk=0,shared=true,rounds=2+mediator:targets=everyone,cost=0.05")
    policy = shaken(NetworkPolicy("m", "m", game, [MEDIATOR], Memory.WINDOW, window=3, hidden=(6, 5), seeds=[0]))

    def rule(request: Request) -> tuple[float, float]:
        spoken = any(act.phase == "mediation" for act in request.now.acts)
        last = list(request.past[-1].actions("action").values()) if request.past else []
        return (0.75, 0.25) if spoken or last.count("cooperate") > 1 else (0.25, 0.75)

    everything = enumerate_episodes(game, policy, rounds=2, choices=dict.fromkeys(game.seats, 2), rule=rule)
    assert len(everything.episodes) == 256 and float(everything.probabilities.sum()) == pytest.approx(1.0)
    exact = exact_gradient(policy, everything)
    found = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=1.0, lam=1.0)
    assert distance(found, exact) < 1e-5
    bandit = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=0.0)
    assert distance(bandit, exact_immediate_gradient(policy, everything)) < 1e-5
    assert distance(bandit, exact) > 0.02


def test_whitened_advantages_have_another_gradient(policy: NetworkPolicy, everything: Enumerated) -> None:
    exact = exact_gradient(policy, everything)
    found = expected_gradient(policy, everything, everything.episodes, critic=False, gamma=1.0, lam=1.0, whiten=True)
    assert distance(found, exact) > 0.1
