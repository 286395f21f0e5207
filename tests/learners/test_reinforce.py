"""REINFORCE: the mean of its gradients over many games is the exact gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from small_policies import IPD, RandomPlayer, play, with_payoffs
from torch import Tensor

from coplay.games.exact import naive_gradient
from coplay.games.memory import Memory
from coplay.games.records import Episode
from coplay.learners.credit import leave_one_out, returns_to_go
from coplay.learners.reinforce import ReinforceLearner
from coplay.learners.settings import Reinforce
from coplay.players.tabular import InitialPolicy, TabularPolicy

ROUNDS = 4
START = (0.55, 0.7, 0.4, 0.6, 0.3)
THEIR_START = (0.9, 0.95, 0.1, 0.9, 0.1)


def make_learner(
    seat: str = "row", start: tuple[float, ...] = START, *, seeds: int = 1, **settings: object
) -> ReinforceLearner:
    initial = InitialPolicy(start[0], start[1:])
    policy = TabularPolicy("table", IPD, seat, Memory.LAST_ROUND, slots=seeds, sharing=0.0, initial=initial)
    return ReinforceLearner(seat, policy, seeds=range(seeds), reinforce=Reinforce.model_validate(settings))


def step(learner: ReinforceLearner, episodes: list[Episode]) -> Tensor:
    """The estimated gradient, read off a step of rate 1 from wherever the learner stands: [P, states, actions]."""
    before = learner.policy.theta.detach().clone()
    learner.collect(episodes)
    learner.update((0,))
    after = learner.policy.theta.detach().clone()
    learner.policy.theta.data.copy_(before)
    learner.clear_cache()
    return (after - before)[:, :5].double() / learner.reinforce.learning_rate


UPDATES = 200


@pytest.fixture(scope="module")
def many() -> list[Episode]:
    """42 games for each of 200 updates: without a baseline, fewer do not tell."""
    row, column = make_learner(seeds=UPDATES), make_learner("column", THEIR_START, seeds=UPDATES)
    return play(row, column, games=42, rounds=ROUNDS, seeds=range(UPDATES))


@pytest.mark.parametrize(("baseline", "discount"), [("leave_one_out", 1.0), ("leave_one_out", 0.8), ("none", 1.0)])
def test_the_mean_of_its_gradients_is_the_exact_gradient(many: list[Episode], baseline: str, discount: float) -> None:
    """Four standard errors in each of ten coordinates."""
    learner = make_learner(seeds=UPDATES, learning_rate=1.0, baseline=baseline, discount=discount)
    estimates = step(learner, many).numpy()
    logits = {
        seat: torch.tensor([[math.log(p / (1 - p)), 0.0] for p in start], dtype=torch.float64)
        for seat, start in (("row", START), ("column", THEIR_START))
    }
    exact = naive_gradient(IPD, logits, "row", rounds=ROUNDS, discount=discount).numpy()
    standard_error = estimates.std(0, ddof=1) / math.sqrt(UPDATES)
    assert np.abs(exact).max() > 10 * standard_error.max()  # the test can tell right from wrong
    assert (np.abs(estimates.mean(0) - exact) < 4.0 * standard_error).all()


def test_the_baseline_makes_the_estimate_steadier() -> None:
    spread = []
    for baseline in ("leave_one_out", "none"):
        learner = make_learner(seeds=100, baseline=baseline)
        episodes = play(learner, RandomPlayer(), games=10, rounds=ROUNDS, seeds=range(100))
        spread.append(float(step(learner, episodes).var(0).sum()))
    assert spread[0] < 0.5 * spread[1]


def test_returns_and_baseline_by_hand() -> None:
    payoffs = torch.tensor([[1.0, 0.0, 4.0], [3.0, 2.0, 0.0]])
    returns = returns_to_go(payoffs, discount=0.5)
    assert returns.tolist() == [[2.0, 2.0, 4.0], [4.0, 2.0, 0.0]]
    assert leave_one_out(returns).tolist() == [[-2.0, 0.0, 4.0], [2.0, 0.0, -4.0]]


@pytest.mark.parametrize("chain", ["episode", "trial"])
def test_returns_run_on_over_episodes_only_if_told_to(chain: str) -> None:
    """Two games of two episodes of a round each; only the second episode pays."""
    learner = make_learner(return_chain=chain, baseline="none")
    episodes = play(learner, RandomPlayer(), games=2, rounds=1, episodes=2)
    paid = zip(episodes, (0.0, 0.0, 1.0, 3.0), strict=True)
    episodes = [one for episode, payoff in paid for one in with_payoffs([episode], payoff)]
    first, second = episodes[:2], episodes[2:]
    expected = torch.zeros(2, dtype=torch.float64)
    for episode, credit in zip([*first, *second], (1.0, 3.0, 1.0, 3.0), strict=True):
        reply = episode.turns["row"][0].reply
        assert reply.probs is not None
        score = -torch.tensor(reply.probs, dtype=torch.float64)
        score[reply.tokens[0]] += 1.0
        if chain == "trial" or any(episode is one for one in second):
            expected += credit * score / (2 if chain == "trial" else 4)  # games, or games times episodes
    torch.testing.assert_close(step(learner, episodes)[0, 0], expected, rtol=1e-5, atol=1e-6)


def test_void_rounds_and_empty_updates_change_nothing() -> None:
    learner = make_learner()
    assert (step(learner, play(learner, RandomPlayer(illegal=1.0), games=2, rounds=3)) == 0).all()
    assert learner.update((1,)) == {0: {}}


def test_it_learns_to_defect_against_a_player_who_does_not_look() -> None:
    learner = make_learner(seeds=3, learning_rate=0.2)
    for i in range(30):
        learner.collect(play(learner, RandomPlayer(), games=5, rounds=10, seeds=range(3), rng_path=(i,)))
        metrics = learner.update((i,))
    last = play(learner, RandomPlayer(), games=5, rounds=10, seeds=range(3), rng_path=("last",))
    actions = [turn.reply.action for episode in last for turn in episode.turns["row"]]
    assert actions.count("defect") / len(actions) > 0.95
    assert set(metrics[0]) == {"gradient", "entropy"}
