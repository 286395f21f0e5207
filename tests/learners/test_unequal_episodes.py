"""Episodes of different length: rounds that were never played carry no credit, and do not change that of rounds that were."""

from collections.abc import Sequence
from dataclasses import fields

import pytest
import torch
from combinations import group, ppo, table
from small_policies import IPD, STATES, RandomPlayer, episode_of, occupant_of
from torch import Tensor

from coplay.games.matrix import MatrixGame
from coplay.games.records import Episode, Round
from coplay.learners.group_gradient import credited_replies
from coplay.learners.reinforce import ReinforceLearner
from coplay.learners.settings import GroupGradient, Reinforce
from coplay.play.loop import StreamNames, Table, play_episode

METHODS = ["grpo", "sum_of_rewards", "advantage_alignment"]

LENGTHS = (4, 1, 3, 2, 1)
"""Another number of games than of rounds."""

PAYOFFS = [
    [(3.0, 3.0), (0.0, 4.0), (1.0, 1.0), (4.0, 0.0)],
    [(4.0, 0.0), (2.0, 1.0), (0.0, 3.0), (1.0, 0.0)],
    [(1.0, 1.0), (3.0, 3.0), (0.0, 4.0), (2.0, 2.0)],
    [(0.0, 4.0), (4.0, 0.0), (5.0, 5.0), (0.0, 1.0)],
    [(2.0, 2.0), (1.0, 3.0), (3.0, 1.0), (4.0, 4.0)],
]
"""Of row and column, by game and round; a game has the first so many of them."""

JOINTS = [("cooperate", "defect"), ("defect", "defect"), ("cooperate", "cooperate"), ("defect", "cooperate")]


def unequal(lengths: Sequence[int] = LENGTHS, *, group: int = 0, first: int = 0) -> list[Episode]:
    """Games of these lengths in one group, in both seats of which the learner sits."""
    return [
        episode_of(JOINTS[:length], payoffs=PAYOFFS[g][:length], group=group, game=first + g)
        for g, length in enumerate(lengths)
    ]


# --- Group gradients ------------------------------------------------------------------------------------------------------------------


def credits_by_place(episodes: Sequence[Episode], settings: GroupGradient) -> dict[tuple[int, str, int], float]:
    place_of = {
        id(turn): (one.game, seat, turn.round) for one in episodes for seat in IPD.seats for turn in one.turns[seat]
    }
    return {
        place_of[id(found.turn)]: found.credit for found in credited_replies(episodes, IPD.seats, "learner", settings)
    }


def brute_force(episodes: Sequence[Episode], settings: GroupGradient) -> dict[tuple[int, str, int], float]:
    """Credit by game, seat and round, from the rounds that were played; after its end a game is worth nothing to anybody."""

    def value(one: Episode, seat: str, t: int) -> float:
        return sum(settings.discount ** (k - t) * (one.payoffs(seat)[k] or 0.0) for k in range(t, len(one.rounds)))

    def advantage(one: Episode, seat: str, t: int) -> float:
        others = [value(other, seat, t) for other in episodes if other.group == one.group and other is not one]
        return value(one, seat, t) - sum(others) / len(others)

    def credit(one: Episode, seat: str, t: int) -> float:
        own, theirs = advantage(one, seat, t), advantage(one, IPD.other(seat), t)
        if settings.method == "sum_of_rewards":
            return own + theirs
        if settings.method == "grpo":
            return own
        gamma = settings.alignment_discount
        return own + settings.beta * gamma * sum(gamma ** (t - k) * advantage(one, seat, k) for k in range(t)) * theirs

    return {
        (one.game, seat, t): credit(one, seat, t)
        for one in episodes
        for seat in IPD.seats
        for t in range(len(one.rounds))
    }


@pytest.mark.parametrize("method", METHODS)
def test_group_credit_is_the_brute_force_sum_over_rounds_that_were_played(method: str) -> None:
    settings = GroupGradient(method=method, discount=0.9, beta=2.0)  # type: ignore[arg-type]
    episodes = unequal()
    found = credits_by_place(episodes, settings)
    assert len(found) == 2 * sum(LENGTHS)  # every reply that was made, and no more
    assert found == pytest.approx(brute_force(episodes, settings))


@pytest.mark.parametrize("method", METHODS)
def test_longer_games_of_another_group_change_nothing(method: str) -> None:
    """However far the batch is padded."""
    settings = GroupGradient(method=method, beta=2.0)  # type: ignore[arg-type]
    alone = credits_by_place(unequal((1, 2)), settings)
    beside = credits_by_place([*unequal((1, 2)), *unequal((4, 4), group=1, first=2)], settings)
    assert {place: credit for place, credit in beside.items() if place[0] < 2} == pytest.approx(alone)


@pytest.mark.parametrize("method", METHODS)
def test_a_group_step_counts_the_tokens_that_were_said(method: str) -> None:
    """N in the mean over tokens is what was said, without padding."""
    policy = table([0])
    learner = group(policy, [0], IPD, method=method, learning_rate=1e6, adam_eps=1e6, max_grad_norm=None)
    episodes = unequal()
    credited = credited_replies(episodes, IPD.seats, "learner", learner.settings)
    logprobs_R = policy.score_replies([0] * len(credited), [one.turn for one in credited], grad=True).logprobs_R
    weights_R = torch.exp(logprobs_R.detach() + 0.5).clamp(max=2.0)  # the replies say that they were sampled at -0.5
    objective = (weights_R * torch.tensor([one.credit for one in credited]) * logprobs_R).sum() / (2 * sum(LENGTHS))
    (expected,) = torch.autograd.grad(objective, policy.theta)
    learner.collect(episodes)
    metrics = learner.update((0,))[0]
    assert metrics["tokens"] == 2 * sum(LENGTHS)
    torch.testing.assert_close(policy.theta.detach(), expected, rtol=1e-4, atol=1e-5)


# --- REINFORCE ------------------------------------------------------------------------------------------------------------------------


def reinforce_step(episodes: Sequence[Episode], **settings: object) -> Tensor:
    """The estimated gradient, read off a step of rate 1, [features, actions]."""
    policy = table([0])
    learner = ReinforceLearner(
        "learner", policy, seeds=[0], reinforce=Reinforce.model_validate({"learning_rate": 1.0, **settings})
    )
    learner.collect(episodes)
    learner.update((0,))
    return policy.theta.detach()[0].double()


def rows_only(episodes: Sequence[Episode]) -> list[Episode]:
    """The same games with the learner in row's seat alone."""
    for one in episodes:
        one.seated = {**one.seated, "column": occupant_of(RandomPlayer(), 0)}
    return list(episodes)


@pytest.mark.parametrize("discount", [1.0, 0.8])
@pytest.mark.parametrize("baseline", ["leave_one_out", "none"])
def test_reinforce_is_the_brute_force_sum_over_rounds_that_were_played(baseline: str, discount: float) -> None:
    """Mean over games of sum over t of gamma^t (G_t - b_t) grad log pi(a_t | s_t); a game that is over is worth 0 in the others' baseline."""
    episodes = rows_only(unequal())
    policy = table([0])

    def value(one: Episode, t: int) -> float:
        return sum(discount ** (k - t) * (one.payoffs("row")[k] or 0.0) for k in range(t, len(one.rounds)))

    objective = torch.zeros(())
    for one in episodes:
        for t, turn in enumerate(one.turns["row"]):
            others = [value(other, t) for other in episodes if other is not one]
            b = sum(others) / len(others) if baseline == "leave_one_out" else 0.0
            logprob = policy.score_replies([0], [turn], grad=True).logprobs_R[0]
            objective = objective + discount**t * (value(one, t) - b) * logprob / len(episodes)
    (expected,) = torch.autograd.grad(objective, policy.theta)
    found = reinforce_step(episodes, baseline=baseline, discount=discount)
    torch.testing.assert_close(found, expected[0].double(), rtol=1e-4, atol=1e-5)


def test_reinforce_moves_states_that_were_reached_alone() -> None:
    (short,) = rows_only(unequal((1,)))
    moved = reinforce_step([short], baseline="none").abs().sum(-1)[:5] > 1e-9
    assert moved.tolist() == [True, False, False, False, False]
    long, short = rows_only(unequal((3, 1)))
    reached = {STATES.index(turn.observation.last) for turn in long.turns["row"]}
    moved = reinforce_step([long, short], baseline="none").abs().sum(-1)[:5] > 1e-9
    assert {state for state in range(5) if moved[state]} == reached


# --- Games that end early, played -----------------------------------------------------------------------------------------------------------


class ShortGame(MatrixGame):
    """The IPD, over after the first round in which both defect."""

    def is_over(self, past: Sequence[Round]) -> bool:
        return {act.action for act in past[-1].acts} == {"defect"}


SHORT_GAME = ShortGame(**{one.name: getattr(IPD, one.name) for one in fields(IPD)})


def test_learners_take_games_that_end_early_as_they_are() -> None:
    """Played by the loop: PPO, group gradients and REINFORCE have as many transitions, tokens and turns as were played."""
    learners = {
        "ppo": ppo(table([0]), [0]),
        "group": group(table([0]), [0], SHORT_GAME),
        "reinforce": ReinforceLearner("learner", table([0]), seeds=[0], reinforce=Reinforce()),
    }
    for name, learner in learners.items():
        seated = {"row": occupant_of(learner, 0), "column": occupant_of(RandomPlayer(), 0)}
        tables = [Table(SHORT_GAME, 0, 0, index, seated) for index in range(8)]
        episodes = play_episode(SHORT_GAME, tables, rounds=6, streams=StreamNames(("test",)))
        lengths = [len(one.rounds) for one in episodes]
        assert len(set(lengths)) > 1
        assert all(len(one.turns["row"]) == length for one, length in zip(episodes, lengths, strict=True))
        learner.collect(episodes)
        if name == "ppo":
            assert sum(map(len, learner._collected[0].values())) == sum(lengths)
        before = learner.player.theta.detach().clone()
        metrics = learner.update((0,))[0]
        if name == "group":
            assert metrics["tokens"] == sum(lengths)
        assert "note" not in metrics and bool(learner.player.theta.isfinite().all())
        assert not torch.equal(learner.player.theta.detach(), before)
