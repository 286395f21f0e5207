"""The DQN bandit against truth, and against an update written out slowly."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from combinations import against_random, dqn, same_state, state_of
from enumerated import MEDIATOR, Enumerated, Nudged, answer, enumerate_episodes, means_of
from small_policies import play

from coplay.games.memory import Memory
from coplay.learners.dqn import DQNLearner
from coplay.learners.q_network import QNetwork
from coplay.learners.replay import Replay, Step, steps_of
from coplay.learners.settings import DQN
from coplay.rng import stream

torch.set_num_threads(1)

GAME = Nudged()


@pytest.fixture(scope="module")
def network() -> QNetwork:
    """With the last layer at zero all its choices are as likely while epsilon is 1."""
    return QNetwork("q", "q", GAME, [MEDIATOR], Memory.WINDOW, window=3, hidden=(32, 16), seeds=[0])


@pytest.fixture(scope="module")
def everything(network: QNetwork) -> Enumerated:
    network.epsilons = [1.0]
    return enumerate_episodes(GAME, network, rounds=2, choices=dict.fromkeys(GAME.seats, 2), rule=answer)


def learnt(network: QNetwork, everything: Enumerated, **settings: Any) -> dict[Any, float]:
    """Q of every situation and choice, after learning from all episodes as often as they are likely: 1,024 of them."""
    own = copy.deepcopy(network)
    values = {"learning_rate": 2e-3, "buffer": 4096, "minibatch": 256, "steps": 250, **settings}
    learner = DQNLearner("learner", own, seeds=[0], dqn=DQN.model_validate(values))
    times = [round(1024 * chance) for chance in everything.probabilities.tolist()]
    assert sum(times) == 1024
    learner.collect([one for one, n in zip(everything.episodes, times, strict=True) for _ in range(n)])
    learner.update((0,))
    learner.adam.rates_P *= 0.1  # the rest of the way with small steps
    learner.collect(everything.episodes[:1])
    learner.update((1,))
    shown = [turn.reply.features for turns in everything.turns() for turn in turns]
    with torch.no_grad():
        _, values_RA = own.network([0] * len(shown), torch.tensor(shown))
    return {(one, (a,)): q for one, row in zip(shown, values_RA.tolist(), strict=True) for a, q in enumerate(row)}


def test_the_bandits_values_are_mean_payoffs(network: QNetwork, everything: Enumerated) -> None:
    means = means_of(everything)
    found = learnt(network, everything)
    assert found.keys() == means.keys() and len({key[0] for key in means}) > 6
    assert max(abs(found[key] - means[key]) for key in means) < 0.05
    assert max(means.values()) - min(means.values()) > 0.4


def test_a_discount_adds_what_follows(network: QNetwork, everything: Enumerated) -> None:
    """After the first round the best choice pays 0.65 (speak) in a cold situation and 0.75 (none) in a warm one."""
    means = means_of(everything)
    found = learnt(network, everything, discount=0.99, target_every=20)
    first = everything.turns()[0][0].reply.features
    warm = {(0,): 1 / 16, (1,): 9 / 16}  # both cooperate
    for choice, p in warm.items():
        exact = means[first, choice] + 0.99 * (0.75 * p + 0.65 * (1.0 - p))
        assert found[first, choice] == pytest.approx(exact, abs=0.06)
        assert abs(found[first, choice] - means[first, choice]) > 0.5


def test_an_update_is_that_of_a_plain_loop() -> None:
    """One seed, a sequential network of torch, torch.optim.Adam."""
    learner = dqn([7], max_grad_norm=0.05)
    learner.collect(against_random(learner, [7], 0))
    slow = plain(learner)
    optimiser = torch.optim.Adam(slow.parameters(), lr=3e-3, eps=1e-4)
    steps = list(learner._collected[7])
    learner.update((0,))
    for rows in stream(7, "replay", "learner", 0).integers(0, len(steps), (3, 6)):
        loss = torch.zeros(())
        for i in rows:
            q = slow(torch.tensor(steps[i].features))[steps[i].choice]
            loss = loss + (q - steps[i].payoff) ** 2 / 2 / len(rows)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(slow.parameters(), 0.05)
        optimiser.step()
    shown = torch.tensor([step.features for step in steps])
    with torch.no_grad():
        torch.testing.assert_close(
            learner.network.network([0] * len(shown), shown)[1], slow(shown), rtol=1e-4, atol=1e-5
        )
        assert float(slow(shown).abs().max()) > 1e-3


def plain(learner: DQNLearner) -> torch.nn.Sequential:
    """The first slot's network in torch's own modules."""
    state = learner.network.slot_state(0)
    widths = [len(learner.network.features), 8, 6]
    layers: list[torch.nn.Module] = []
    for i, (narrow, wide) in enumerate(pairwise(widths)):
        layers += [torch.nn.Linear(narrow, wide), torch.nn.LayerNorm(wide), torch.nn.ReLU()]
        with torch.no_grad():
            layers[-3].weight.copy_(state[f"layers.{i}.weight"].T)
            layers[-3].bias.copy_(state[f"layers.{i}.bias"])
    layers.append(torch.nn.Linear(widths[-1], 2))
    with torch.no_grad():
        layers[-1].weight.zero_()
        layers[-1].bias.zero_()
    return torch.nn.Sequential(*layers)


def test_epsilon_falls_and_a_greedy_network_takes_the_best() -> None:
    learner = dqn([0], epsilon_initial=1.0, epsilon_final=0.0, epsilon_updates=2)
    seen = []
    for number in range(3):
        learner.collect(against_random(learner, [0], number))
        seen.append(learner.update((number,))[0]["epsilon"])
    assert seen == [1.0, 0.5, 0.0]
    turns = [turn for one in against_random(learner, [0], 9) for turn in one.turns["row"]]
    assert all(max(turn.reply.probs or ()) == 1.0 for turn in turns)
    shown = torch.tensor([turn.reply.features for turn in turns])
    best = learner.network.network([0] * len(turns), shown)[1].argmax(1).tolist()
    assert best == [turn.reply.tokens[0] for turn in turns]


def test_a_seed_whose_payoffs_are_not_finite_ends_alone() -> None:
    both, alone = dqn([5, 6]), dqn([6])
    for learner, seeds in ((both, [5, 6]), (alone, [6])):
        learner.collect(against_random(learner, seeds, 0))
    both._collected[5][0] = both._collected[5][0]._replace(payoff=float("inf"))
    both._collected[5] = both._collected[5][:1] * 12
    before = both.network.slot_state(0)
    metrics = both.update((0,))
    alone.update((0,))
    assert "not finite" in str(metrics[5]["diverged"]) and "diverged" not in metrics[6]
    assert same_state(both.network.slot_state(0), before)
    for key, value in state_of(alone, 6).items():
        torch.testing.assert_close(state_of(both, 6)[key], value)


# --- The buffer ---------------------------------------------------------------------------------------------------------------------------


def numbered(numbers: Sequence[int]) -> list[Step]:
    return [Step((float(i),), i, 0.5 * i, (float(i + 1),), 2) for i in numbers]


def test_a_buffer_keeps_the_latest_replies() -> None:
    buffer = Replay(2, 4, 1, following=True)
    buffer.add(1, numbered(range(3)))
    assert (buffer.size(0), buffer.size(1)) == (0, 3)
    buffer.add(1, numbered(range(3, 6)))
    assert buffer.size(1) == 4 and sorted(buffer.arrays["choice"][1].tolist()) == [2, 3, 4, 5]
    buffer.add(1, numbered(range(6, 17)))
    drawn = buffer.at(torch.tensor([[1]]), torch.arange(4)[None])
    assert sorted(drawn["choice"][0].tolist()) == [13, 14, 15, 16]
    assert torch.equal(drawn["payoff"], 0.5 * drawn["choice"])
    assert torch.equal(drawn["following"][..., 0], drawn["choice"] + 1.0)


def test_the_last_reply_of_a_game_has_nothing_after_it() -> None:
    learner = dqn([0])
    (episode,) = play(learner, learner, games=1, rounds=3)
    steps = steps_of(episode, "row")
    assert [step.choices for step in steps] == [2, 2, 0] and steps[-1].following == ()
    assert [step.following for step in steps[:-1]] == [step.features for step in steps[1:]]
    assert [step.payoff for step in steps] == episode.payoffs("row")
    assert np.isfinite([step.payoff for step in steps]).all()
