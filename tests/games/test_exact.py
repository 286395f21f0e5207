"""Closed forms, against the enumeration of every history and against totals known by hand."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from coplay.games import Joint, MatrixGame, make_game
from coplay.games.exact import (
    Policies,
    discounted_value,
    finite_value,
    joint_chain,
    naive_gradient,
    payoff_vector,
    state_distributions,
)
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import own_view
from coplay.players.strategies import ZD_EXTORT_2

IPD = make_game("ipd")
AXELROD = IPD.with_payoffs([3, 0, 5, 1])
UNEVEN = game_from_dict(
    {
        "name": "uneven",
        "actions": [["u", "d"], ["l", "m", "r"]],
        "payoffs": [[[1, 2], [3, -4], [0, 5]], [[-6, 7], [8, 0.5], [2, 1]]],
    }
)

# Policies as (start, after CC, CD, DC, DD): the probability of cooperating, own move first.
TIT_FOR_TAT = (1, 1, 0, 1, 0)
ALWAYS_DEFECT = (0, 0, 0, 0, 0)
WIN_STAY_LOSE_SHIFT = (1, 1, 0, 0, 1)


def policy(probs: tuple[float, ...]) -> Tensor:
    p = torch.tensor(probs, dtype=torch.float64)
    return torch.stack([p, 1 - p], dim=-1)


def random_logits(game: MatrixGame, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        seat: torch.randn(1 + len(game.states), len(game.actions[seat]), generator=generator, dtype=torch.float64)
        for seat in SEATS
    }


def random_policies(game: MatrixGame, seed: int) -> dict[str, Tensor]:
    return {seat: (2 * logits).softmax(-1) for seat, logits in random_logits(game, seed).items()}


def probability(game: MatrixGame, policies: Policies, seat: str, past: Joint | None, now: Joint) -> Tensor:
    """P(the seat's part of ``now`` | ``past``), looked up by name."""
    line = 0 if past is None else 1 + game.own_states(seat).index(own_view(SEATS.index(seat), past))
    return policies[seat][line, game.actions[seat].index(own_view(SEATS.index(seat), now)[0])]


def histories(game: MatrixGame, policies: Policies, rounds: int) -> Iterator[tuple[tuple[Joint, ...], Tensor]]:
    """Every history with its probability: brute force."""
    for history in itertools.product(game.states, repeat=rounds):
        p = torch.ones((), dtype=torch.float64)
        for past, now in itertools.pairwise([None, *history]):
            assert now is not None
            for seat in SEATS:
                p = p * probability(game, policies, seat, past, now)
        yield history, p


def total(game: MatrixGame, seat: str, history: tuple[Joint, ...], discount: float = 1.0) -> float:
    views = [own_view(SEATS.index(seat), joint) for joint in history]
    return sum(discount**t * game.payoff(seat, own=own, other=theirs) for t, (own, theirs) in enumerate(views))


@pytest.mark.parametrize(("game", "rounds"), [(IPD, 1), (IPD, 4), (make_game("c-ipd"), 3), (UNEVEN, 1), (UNEVEN, 3)])
@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_value_is_the_mean_over_all_histories(game: MatrixGame, rounds: int, discount: float) -> None:
    policies = random_policies(game, seed=rounds)
    every = list(histories(game, policies, rounds))
    assert float(sum(p for _, p in every)) == pytest.approx(1)
    values = finite_value(game, policies, rounds=rounds, discount=discount)
    for seat in SEATS:
        expected = sum(float(p) * total(game, seat, history, discount) for history, p in every)
        assert float(values[seat]) == pytest.approx(expected, rel=1e-12)


def test_state_distributions_are_those_of_all_histories() -> None:
    policies = random_policies(UNEVEN, seed=5)
    visits = state_distributions(UNEVEN, policies, rounds=2)
    expected = torch.zeros(2, 6, dtype=torch.float64)
    for history, p in histories(UNEVEN, policies, 2):
        for t, joint in enumerate(history):
            expected[t, UNEVEN.states.index(joint)] += p
    torch.testing.assert_close(visits, expected)


@pytest.mark.parametrize(
    ("row", "column", "game", "rounds", "expected"),
    [
        (TIT_FOR_TAT, ALWAYS_DEFECT, AXELROD, 8, (7, 12)),
        (TIT_FOR_TAT, ALWAYS_DEFECT, IPD, 8, (7, 11)),
        (TIT_FOR_TAT, ALWAYS_DEFECT, IPD, 20, (19, 23)),
        (TIT_FOR_TAT, TIT_FOR_TAT, IPD, 20, (60, 60)),
        (ALWAYS_DEFECT, WIN_STAY_LOSE_SHIFT, IPD, 4, (10, 2)),
        (ALWAYS_DEFECT, ALWAYS_DEFECT, make_game("c-ipd"), 20, (20, 20)),
        (TIT_FOR_TAT, TIT_FOR_TAT, make_game("c-ipd"), 20, (120, 60)),
    ],
)
def test_known_totals(
    row: tuple[float, ...], column: tuple[float, ...], game: MatrixGame, rounds: int, expected: tuple[float, float]
) -> None:
    values = finite_value(game, {ROW: policy(row), COLUMN: policy(column)}, rounds=rounds)
    assert (float(values[ROW]), float(values[COLUMN])) == pytest.approx(expected)


def test_discounted_totals_in_closed_form() -> None:
    gamma = 0.96
    values = discounted_value(IPD, {ROW: policy(TIT_FOR_TAT), COLUMN: policy(ALWAYS_DEFECT)}, discount=gamma)
    assert float(values[ROW]) == pytest.approx(gamma / (1 - gamma))
    assert float(values[COLUMN]) == pytest.approx(4 + gamma / (1 - gamma))


@settings(max_examples=settings().max_examples // 2)
@given(st.integers(0, 10**6), st.floats(0, 0.9))
def test_the_infinite_game_is_the_limit_of_long_ones(seed: int, discount: float) -> None:
    policies = random_policies(UNEVEN, seed)
    infinite = discounted_value(UNEVEN, policies, discount=discount)
    long = finite_value(UNEVEN, policies, rounds=250, discount=discount)
    for seat in SEATS:
        assert float(infinite[seat]) == pytest.approx(float(long[seat]), rel=1e-8, abs=1e-8)


@settings(max_examples=settings().max_examples // 2)
@given(st.tuples(*[st.floats(0.05, 0.95)] * 5))
def test_extortion_takes_twice_the_surplus(probs: tuple[float, ...]) -> None:
    """Press & Dyson (2012): against *any* co-player, s_own - P = 2 (s_other - P) in the long run, for 5/3/1/0."""
    four_vector = [ZD_EXTORT_2[own, theirs] for own in (True, False) for theirs in (True, False)]
    policies = {ROW: policy((1, *four_vector)), COLUMN: policy(probs)}
    gamma = 1 - 1e-8
    own, theirs = (float((1 - gamma) * v) for v in discounted_value(AXELROD, policies, discount=gamma).values())
    assert own - 1 == pytest.approx(2 * (theirs - 1), abs=1e-5)


def test_swapping_the_seats_swaps_the_values() -> None:
    policies = random_policies(IPD, seed=3)
    values = finite_value(IPD, policies, rounds=20)
    swapped = finite_value(IPD, {ROW: policies[COLUMN], COLUMN: policies[ROW]}, rounds=20)
    assert float(values[ROW]) == pytest.approx(float(swapped[COLUMN]))
    assert float(values[COLUMN]) == pytest.approx(float(swapped[ROW]))


def test_a_batch_is_its_members() -> None:
    members = [random_policies(UNEVEN, seed) for seed in range(3)]
    batch = {seat: torch.stack([member[seat] for member in members]) for seat in SEATS}
    finite, infinite = finite_value(UNEVEN, batch, rounds=7), discounted_value(UNEVEN, batch, discount=0.9)
    for i, member in enumerate(members):
        for seat in SEATS:
            torch.testing.assert_close(finite[seat][i], finite_value(UNEVEN, member, rounds=7)[seat])
            torch.testing.assert_close(infinite[seat][i], discounted_value(UNEVEN, member, discount=0.9)[seat])


def test_values_can_be_differentiated() -> None:
    logits = random_logits(UNEVEN, seed=1)

    def value(row: Tensor, column: Tensor) -> Tensor:
        policies = {ROW: row.softmax(-1), COLUMN: column.softmax(-1)}
        finite, infinite = finite_value(UNEVEN, policies, rounds=4), discounted_value(UNEVEN, policies, discount=0.9)
        return torch.stack([*finite.values(), *infinite.values()])

    inputs = tuple(logits[seat].requires_grad_(True) for seat in SEATS)
    assert torch.autograd.gradcheck(value, inputs)


@pytest.mark.parametrize("seat", SEATS)
def test_naive_gradient_is_the_expected_score_times_return(seat: str) -> None:
    """REINFORCE summed over all histories: Σ_h P(h) R(h) ∇ log P(h)."""
    logits = random_logits(UNEVEN, seed=2)
    own = logits[seat].clone().requires_grad_(True)
    policies = {s: (own if s == seat else logits[s]).softmax(-1) for s in SEATS}
    surrogate = torch.zeros((), dtype=torch.float64)
    for history, p in histories(UNEVEN, policies, 3):
        surrogate = surrogate + p.detach() * total(UNEVEN, seat, history) * torch.log(p)
    (expected,) = torch.autograd.grad(surrogate, own)
    torch.testing.assert_close(naive_gradient(UNEVEN, logits, seat, rounds=3), expected)


def test_naive_gradient_leads_two_learners_to_defection() -> None:
    """The textbook outcome, and the oracle of the sampled learners."""
    logits = {seat: torch.zeros(5, 2, dtype=torch.float64) for seat in SEATS}
    for _ in range(200):
        gradients = {seat: naive_gradient(IPD, logits, seat, rounds=20) for seat in SEATS}
        logits = {seat: logits[seat] + 0.3 * gradients[seat] for seat in SEATS}
    values = finite_value(IPD, {seat: logits[seat].softmax(-1) for seat in SEATS}, rounds=20)
    for seat in SEATS:
        assert float(values[seat]) / 20 == pytest.approx(1, abs=0.1)


def test_payoffs_come_from_the_game() -> None:
    assert payoff_vector(make_game("imp"), COLUMN).tolist() == [-1, 1, 1, -1]
    assert payoff_vector(UNEVEN, COLUMN).tolist() == [2, -4, 5, 7, 0.5, 1]


def test_the_chain_is_a_chain() -> None:
    start, transition = joint_chain(UNEVEN, random_policies(UNEVEN, seed=0))
    assert float(start.sum()) == pytest.approx(1)
    torch.testing.assert_close(transition.sum(-1), torch.ones(6, dtype=torch.float64))


def test_errors() -> None:
    good = random_policies(IPD, seed=0)
    with pytest.raises(ValueError, match=r"policy of column must be of shape \[..., 5, 2\], got \(4, 2\)"):
        finite_value(IPD, {ROW: good[ROW], COLUMN: good[COLUMN][1:]}, rounds=2)
    with pytest.raises(ValueError, match="policy of row must hold probabilities"):
        finite_value(IPD, {ROW: good[ROW] * 2, COLUMN: good[COLUMN]}, rounds=2)
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        finite_value(IPD, good, rounds=0)
    for discount in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="discount must be"):
            discounted_value(IPD, good, discount=discount)
