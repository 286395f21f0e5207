"""LOLA and naive learning: gradients against finite differences and the paper's formula, outcomes against what is published."""

import pytest
import torch
from torch import Tensor

from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.exact import Policies, naive_gradient, value
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.learners.lola import lola, lola_gradient, lola_objective, naive_learning

IPD = matrix_game("ipd").with_payoffs([-1, -3, 0, -2])
"""The payoffs of Foerster et al. (2018)."""
UNEVEN = game_from_dict(
    {
        "name": "uneven",
        "actions": [["u", "d"], ["l", "m", "r"]],
        "payoffs": [[[1, 2], [3, -4], [0, 5]], [[-6, 7], [8, 0.5], [2, 1]]],
    }
)
HORIZONS = [(None, 0.9), (4, 1.0)]
"""(rounds, discount)."""


def random_logits(game: MatrixGame, *batch: int, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {seat: (*batch, 1 + len(game.states), len(game.actions[seat])) for seat in SEATS}
    return {seat: torch.randn(shape, generator=generator, dtype=torch.float64) for seat, shape in shapes.items()}


def worth(game: MatrixGame, logits: Policies, rounds: int | None, discount: float) -> dict[str, Tensor]:
    return value(game, {seat: logits[seat].softmax(-1) for seat in SEATS}, rounds=rounds, discount=discount)


@pytest.mark.parametrize(("rounds", "discount"), HORIZONS)
@pytest.mark.parametrize("seat", SEATS)
def test_the_naive_gradient_is_that_of_finite_differences(seat: str, rounds: int | None, discount: float) -> None:
    logits = random_logits(UNEVEN)
    gradient = naive_gradient(UNEVEN, logits, seat, rounds=rounds, discount=discount)
    for place in torch.cartesian_prod(*map(torch.arange, gradient.shape)).tolist():
        ends = []
        for step in (1e-5, -1e-5):
            moved = logits[seat].clone()
            moved[tuple(place)] += step
            ends.append(float(worth(UNEVEN, {**logits, seat: moved}, rounds, discount)[seat]))
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(float(gradient[tuple(place)]), abs=1e-6)


@pytest.mark.parametrize(("rounds", "discount"), HORIZONS)
@pytest.mark.parametrize("seat", SEATS)
def test_the_correction_is_the_papers(seat: str, rounds: int | None, discount: float) -> None:
    """(∇_θ' V)^T ∇_θ' ∇_θ V', with the mixed second derivatives taken by finite differences of the co-player's gradient."""
    logits, eta = random_logits(UNEVEN, seed=1), 0.7
    across = UNEVEN.other(seat)
    theirs = logits[across].clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(worth(UNEVEN, {**logits, across: theirs}, rounds, discount)[seat], theirs)
    correction = torch.zeros_like(logits[seat])
    for place in torch.cartesian_prod(*map(torch.arange, correction.shape)).tolist():
        ends = []
        for step in (1e-5, -1e-5):
            moved = logits[seat].clone()
            moved[tuple(place)] += step
            step_of_other = naive_gradient(UNEVEN, {**logits, seat: moved}, across, rounds=rounds, discount=discount)
            ends.append(float((slope * step_of_other).sum()))
        correction[tuple(place)] = (ends[0] - ends[1]) / 2e-5
    expected = naive_gradient(UNEVEN, logits, seat, rounds=rounds, discount=discount) + eta * correction
    actual = lola_gradient(UNEVEN, logits, seat, rounds=rounds, discount=discount, co_player_rate=eta)
    assert correction.abs().max() > 0.1
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def test_lola_that_expects_no_step_is_naive() -> None:
    logits = random_logits(IPD)
    naive = naive_gradient(IPD, logits, ROW, rounds=None, discount=0.96)
    torch.testing.assert_close(lola_gradient(IPD, logits, ROW, rounds=None, discount=0.96, co_player_rate=0.0), naive)


def test_the_objective_is_the_value_after_the_co_players_step_to_first_order() -> None:
    logits, eta = random_logits(UNEVEN, seed=2), 1e-4
    step = naive_gradient(UNEVEN, logits, COLUMN, rounds=None, discount=0.9)
    after = worth(UNEVEN, {**logits, COLUMN: logits[COLUMN] + eta * step}, None, 0.9)[ROW]
    now = worth(UNEVEN, logits, None, 0.9)[ROW]
    objective = lola_objective(UNEVEN, logits, ROW, rounds=None, discount=0.9, co_player_rate=eta).detach()
    assert float(objective - now) == pytest.approx(float(after - now), rel=1e-2)
    assert abs(float(after - now)) > 1e-5


def test_a_batch_is_its_members() -> None:
    logits = random_logits(UNEVEN, 3, seed=3)
    together = lola(UNEVEN, logits, discount=0.9, learning_rate=0.3, co_player_rate=0.2, steps=4, rounds=5)
    for i in range(3):
        one = {seat: logits[seat][i] for seat in SEATS}
        alone = lola(UNEVEN, one, discount=0.9, learning_rate=0.3, co_player_rate=0.2, steps=4, rounds=5)
        for seat in SEATS:
            torch.testing.assert_close(together[seat][i], alone[seat])


# --- Published outcomes ---------------------------------------------------------------------------------------------------------------

SEEDS = 100
GAMMA, RATE, CO_PLAYER_RATE, STEPS = 0.96, 0.5, 0.5, 200
"""On softmax logits; on the sigmoid logits of the authors' code the rates are 1 and 1."""


def starts() -> dict[str, Tensor]:
    """P(cooperate) = sigmoid of a standard normal number in every state, as the authors' code begins."""
    generator = torch.Generator().manual_seed(0)
    normal = {seat: torch.randn(SEEDS, 5, generator=generator, dtype=torch.float64) for seat in SEATS}
    return {seat: torch.stack([z, torch.zeros_like(z)], dim=-1) for seat, z in normal.items()}


def per_round(logits: Policies) -> Tensor:
    """Mean payoff of both seats in each seed, [seeds]."""
    values = worth(IPD, logits, None, GAMMA)
    return (values[ROW] + values[COLUMN]) / 2 * (1 - GAMMA)


def test_naive_learners_end_in_mutual_defection() -> None:
    payoffs = per_round(naive_learning(IPD, starts(), discount=GAMMA, learning_rate=RATE, steps=STEPS))
    assert (payoffs < -1.9).double().mean() >= 0.9
    assert float(payoffs.mean()) == pytest.approx(-2, abs=0.05)


def test_lola_learners_end_in_tit_for_tat() -> None:
    logits = lola(IPD, starts(), discount=GAMMA, learning_rate=RATE, co_player_rate=CO_PLAYER_RATE, steps=STEPS)
    payoffs = per_round(logits)
    assert (payoffs > -1.1).double().mean() >= 0.8
    assert float(payoffs.mean()) == pytest.approx(-1, abs=0.05)
    cooperates = logits[ROW].softmax(-1)[..., 0].mean(0)  # at the start, after CC, CD, DC, DD
    assert (cooperates[[0, 1, 3]] > 0.85).all()
    assert (cooperates[[2, 4]] < 0.25).all()
