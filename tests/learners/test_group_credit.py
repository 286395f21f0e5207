"""Group baselines and Advantage Alignment against sums written out, the closed-form gradient's sign, and long games."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coplay.learners.credit import leave_one_out, returns_to_go
from coplay.learners.group_credit import (
    aligned_advantages,
    discounted_past,
    group_relative_advantages,
    lone_games,
    summed_advantages,
)

torch.set_num_threads(1)

shapes = st.tuples(st.integers(1, 7), st.integers(1, 4), st.integers(1, 6))


def random(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(shape=shapes, seed=st.integers(0, 99), data=st.data())
def test_the_baseline_is_the_mean_of_the_others(shape: tuple[int, int, int], seed: int, data: st.DataObject) -> None:
    returns_BST = random(shape, seed)
    groups = data.draw(st.lists(st.sampled_from([-3, 0, 7, 8]), min_size=shape[0], max_size=shape[0]))
    advantages_BST = group_relative_advantages(returns_BST, torch.tensor(groups))
    for b, s, t in itertools.product(*map(range, shape)):
        others = [float(returns_BST[j, s, t]) for j in range(shape[0]) if j != b and groups[j] == groups[b]]
        baseline = sum(others) / len(others) if others else 0.0
        assert float(advantages_BST[b, s, t]) == pytest.approx(float(returns_BST[b, s, t]) - baseline)
    assert lone_games(torch.tensor(groups)) == sum(groups.count(group) == 1 for group in groups)


def test_one_group_is_the_plain_leave_one_out_baseline() -> None:
    rewards_BST = random((5, 2, 4), 1)
    returns_BST = torch.stack([returns_to_go(rewards_BST[:, s], discount=0.9) for s in range(2)], dim=1)
    ours_BST = group_relative_advantages(returns_BST, torch.zeros(5, dtype=torch.long))
    for s in range(2):
        torch.testing.assert_close(ours_BST[:, s], leave_one_out(returns_BST[:, s]))


@given(shape=shapes, seed=st.integers(0, 99))
def test_groups_do_not_know_of_each_other(shape: tuple[int, int, int], seed: int) -> None:
    one, two = random(shape, seed), random(shape, seed + 1000)
    groups_B = torch.arange(2).repeat_interleave(shape[0])
    together = group_relative_advantages(torch.cat([one, two]), groups_B)
    zeros_B = torch.zeros(shape[0], dtype=torch.long)
    apart = torch.cat([group_relative_advantages(part, zeros_B) for part in (one, two)])
    torch.testing.assert_close(together, apart)


def written_out(advantages: torch.Tensor, beta: float, gamma: float, variant: str) -> torch.Tensor:
    """Equation 1 and its variants, term by term."""
    games, seats, rounds = advantages.shape
    found = torch.empty_like(advantages)
    for b, i, t in itertools.product(range(games), range(seats), range(rounds)):
        last = t if variant != "including_now" else t + 1
        past = sum(gamma ** (t - k) * float(advantages[b, i, k]) for k in range(last))
        factor = beta * gamma
        if variant == "one_gamma":
            factor = beta
        if variant == "undiscounted_mean":
            factor, past = beta, sum(float(advantages[b, i, k]) for k in range(t)) / max(t, 1)
        co_players = sum(float(advantages[b, j, t]) for j in range(seats) if j != i)
        found[b, i, t] = float(advantages[b, i, t]) + factor * past * co_players
    return found


@pytest.mark.parametrize("variant", ["paper", "one_gamma", "including_now", "undiscounted_mean"])
@given(shape=shapes, seed=st.integers(0, 99), beta=st.floats(-2, 2), gamma=st.floats(0, 1))
def test_credit_is_the_sum_as_printed(
    variant: str, shape: tuple[int, int, int], seed: int, beta: float, gamma: float
) -> None:
    advantages_BST = random(shape, seed)
    ours = aligned_advantages(advantages_BST, beta=beta, gamma=gamma, variant=variant)  # type: ignore[arg-type]
    torch.testing.assert_close(ours, written_out(advantages_BST, beta, gamma, variant))


def test_nothing_is_added_in_the_first_round_or_to_a_seat_alone() -> None:
    advantages_BST = random((3, 2, 5), 2)
    credit_BST = aligned_advantages(advantages_BST, beta=2.0, gamma=0.9)
    assert torch.equal(credit_BST[..., 0], advantages_BST[..., 0])
    assert not torch.isclose(credit_BST[..., 1:], advantages_BST[..., 1:]).any()
    alone_BST = advantages_BST[:, :1]
    assert torch.equal(aligned_advantages(alone_BST, beta=2.0, gamma=0.9), alone_BST)


def test_two_seats_are_mirror_images() -> None:
    advantages_BST = random((4, 2, 6), 3)
    mirrored = aligned_advantages(advantages_BST.flip(1), beta=1.0, gamma=0.96).flip(1)
    torch.testing.assert_close(aligned_advantages(advantages_BST, beta=1.0, gamma=0.96), mirrored)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_long_games_stay_finite(dtype: torch.dtype) -> None:
    advantages_BST = torch.ones((1, 2, 5000), dtype=dtype)
    past_BST = discounted_past(advantages_BST, gamma=0.9)
    assert float(past_BST[0, 0, -1]) == pytest.approx(0.9 / (1 - 0.9), rel=1e-4)  # the geometric series
    credit_BST = aligned_advantages(advantages_BST, beta=2.0, gamma=0.9)
    assert credit_BST.dtype == dtype and bool(credit_BST.isfinite().all())


def test_the_sign_in_a_game_of_two_rounds() -> None:
    """The worked example of the documentation: after a round that went well for me, helping the other is credited, harming it is not."""
    after_good = aligned_advantages(torch.tensor([[[2.0, -1.0], [0.0, 3.0]]]), beta=0.5, gamma=0.9)
    assert float(after_good[0, 0, 1]) == pytest.approx(
        -1 + 0.5 * 0.9 * (0.9 * 2) * 3
    )  # 1.43: the gift is now worth making
    after_bad = aligned_advantages(torch.tensor([[[-2.0, -1.0], [0.0, 3.0]]]), beta=0.5, gamma=0.9)
    assert float(after_bad[0, 0, 1]) == pytest.approx(
        -1 - 0.5 * 0.9 * (0.9 * 2) * 3
    )  # -3.43: now it is punished harder
    assert float(after_good[0, 0, 1]) > 0 > float(after_bad[0, 0, 1])


def test_the_sum_of_rewards_gives_every_seat_the_same_credit() -> None:
    advantages_BST = random((3, 3, 4), 5)
    credit_BST = summed_advantages(advantages_BST)
    for s in range(3):
        torch.testing.assert_close(credit_BST[:, s], advantages_BST.sum(1))


def memory_one_gradient(cooperation: list[float]) -> float:
    """d/dθ of row's return in two rounds of the IPD (3/0/5/1), column answering row's first action with these probabilities.

    Row plays cooperate with probability 1/2 = sigmoid(0) first and defects then; θ is the logit of its first action.
    """
    after_c, after_d = (5 * p + 1 * (1 - p) for p in cooperation)
    first_c, first_d = 0.5 * (3 + 0), 0.5 * (5 + 1)
    return 0.25 * ((first_c + after_c) - (first_d + after_d))  # dp/dθ = p (1 - p)


@pytest.mark.parametrize("cooperation", [[1.0, 0.0], [0.3, 0.9], [0.5, 0.5]])
def test_group_advantages_estimate_the_closed_form_gradient(cooperation: list[float]) -> None:
    """Score function times advantage, over many games in groups, is the gradient of a memory-one answer."""
    games, generator = 8_000, torch.Generator().manual_seed(0)
    first_B = torch.rand(games, generator=generator) < 0.5
    column_B = torch.rand(games, generator=generator) < 0.5
    answers = torch.tensor(cooperation)[(~first_B).long()]
    answer_B = torch.rand(games, generator=generator) < answers
    round_1 = torch.where(first_B, torch.where(column_B, 3.0, 0.0), torch.where(column_B, 5.0, 1.0))
    round_2 = torch.where(answer_B, 5.0, 1.0)
    returns_BT = returns_to_go(torch.stack([round_1, round_2], dim=1), discount=1.0)
    groups_B = torch.arange(games) // 8
    advantages_BST = group_relative_advantages(returns_BT[:, None], groups_B)
    score_B = torch.where(first_B, 0.5, -0.5)  # d log pi / dθ
    terms_B = score_B * advantages_BST[:, 0, 0]
    error = 4 * float(terms_B.std()) / math.sqrt(games)
    assert float(terms_B.mean()) == pytest.approx(memory_one_gradient(cooperation), abs=error)
