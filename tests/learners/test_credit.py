"""Credit against definitions written out as loops, and against numpy."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from coplay.learners.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages, whiten

numbers = st.floats(-10, 10, width=32)
shares = st.sampled_from([0.0, 0.3, 0.95, 1.0])


@st.composite
def chains(draw: st.DrawFn) -> list[list[tuple[float, float, bool]]]:
    """Rows of (reward, value, ends) of different lengths. The last round of a row always ends a chain."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.lists(st.tuples(numbers, numbers, st.booleans()), min_size=1, max_size=7))
        rows.append([*row[:-1], (row[-1][0], row[-1][1], True)])
    return rows


def advantages_by_definition(row: list[tuple[float, float, bool]], gamma: float, lam: float) -> list[float]:
    """A_t = sum over k >= t within the chain of (gamma lam)^(k - t) delta_k, every sum from scratch."""
    advantages = []
    for t in range(len(row)):
        total = 0.0
        for k in range(t, len(row)):
            reward, value, ends = row[k]
            next_value = 0.0 if ends else row[k + 1][1]
            total += (gamma * lam) ** (k - t) * (reward + gamma * next_value - value)
            if ends:
                break
        advantages.append(total)
    return advantages


def padded(rows: list[list[tuple[float, float, bool]]], column: int, fill: float) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[float(x[column]) for x in row] + [fill] * (width - len(row)) for row in rows])


def estimate(rows: list[list[tuple[float, float, bool]]], gamma: float, lam: float, padding: float) -> Tensor:
    ends = padded(rows, 2, float(padding > 0)) > 0.5
    return generalised_advantages(padded(rows, 0, padding), padded(rows, 1, padding), ends, gamma=gamma, lam=lam)


@given(chains(), shares, shares, st.sampled_from([0.0, 77.0]))
def test_gae_is_the_double_sum_whatever_the_padding_holds(
    rows: list[list[tuple[float, float, bool]]], gamma: float, lam: float, padding: float
) -> None:
    got = estimate(rows, gamma, lam, padding)
    for row, advantages in zip(rows, got.tolist(), strict=True):
        assert advantages[: len(row)] == pytest.approx(advantages_by_definition(row, gamma, lam), rel=1e-4, abs=1e-4)


def test_gae_crosses_an_episode_boundary_only_where_the_chain_goes_on() -> None:
    rewards, values = torch.tensor([[1.0, 2.0, 4.0, 8.0]]), torch.zeros(1, 4)
    trial = torch.tensor([[False, False, False, True]])
    episodes = torch.tensor([[False, True, False, True]])
    options = {"gamma": 1.0, "lam": 1.0}
    assert generalised_advantages(rewards, values, trial, **options).tolist() == [[15, 14, 12, 8]]
    assert generalised_advantages(rewards, values, episodes, **options).tolist() == [[3, 2, 12, 8]]


@given(chains())
def test_lambda_one_gives_returns_minus_the_baseline_and_lambda_zero_one_step_errors(
    rows: list[list[tuple[float, float, bool]]],
) -> None:
    for row, returns, errors in zip(
        rows, estimate(rows, 0.9, 1.0, 0.0).tolist(), estimate(rows, 0.9, 0.0, 0.0).tolist(), strict=True
    ):
        for t in range(len(row)):
            end = next(k for k in range(t, len(row)) if row[k][2])
            discounted = sum(0.9 ** (k - t) * row[k][0] for k in range(t, end + 1))
            assert returns[t] == pytest.approx(discounted - row[t][1], rel=1e-4, abs=1e-4)
            next_value = 0.0 if row[t][2] else row[t + 1][1]
            assert errors[t] == pytest.approx(row[t][0] + 0.9 * next_value - row[t][1], rel=1e-4, abs=1e-4)


def trl_masked_whiten(values: Tensor, mask: Tensor, *, shift_mean: bool = True) -> Tensor:
    """TRL 0.11.4's masked_whiten, from its documentation: masked mean, unbiased masked variance, rsqrt(var + 1e-8)."""
    n = mask.sum()
    mean = (values * mask).sum() / n
    variance = ((values - mean) ** 2 * mask).sum() / n * n / (n - 1)
    whitened = (values - mean) * torch.rsqrt(variance + 1e-8)
    return whitened if shift_mean else whitened + mean


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=2, max_size=20), st.booleans())
def test_whitening_the_kept_values_is_trls_masked_whitening(pairs: list[tuple[float, bool]], shift_mean: bool) -> None:
    values = torch.tensor([value for value, _ in pairs], dtype=torch.float64)
    mask = torch.tensor([kept for _, kept in pairs], dtype=torch.float64)
    mask[:2] = 1.0
    kept = mask.bool()
    expected = trl_masked_whiten(values, mask, shift_mean=shift_mean)[kept]
    torch.testing.assert_close(whiten(values[kept], shift_mean=shift_mean), expected, rtol=1e-6, atol=1e-6)


def test_whitening_by_hand() -> None:
    # mean 4, unbiased variance (9 + 1 + 16) / 2 = 13
    values = torch.tensor([1.0, 3.0, 8.0], dtype=torch.float64)
    root = math.sqrt(13 + 1e-8)
    torch.testing.assert_close(whiten(values), torch.tensor([-3, -1, 4], dtype=torch.float64) / root)
    torch.testing.assert_close(
        whiten(values, shift_mean=False), torch.tensor([-3, -1, 4], dtype=torch.float64) / root + 4
    )
    assert whiten(torch.full((4,), 2.0)).tolist() == [0.0] * 4
    assert whiten(torch.tensor([1.0])).isnan().all()


@given(st.lists(st.lists(numbers, min_size=1, max_size=8), min_size=1, max_size=5))
def test_running_moments_are_those_of_all_data_so_far(batches: list[list[float]]) -> None:
    moments = RunningMoments()
    for stop, batch in enumerate(batches, 1):
        moments.update(torch.tensor(batch, dtype=torch.float64))
        seen = np.array(list(itertools.chain(*batches[:stop])))
        assert moments.count == len(seen)
        assert moments.mean == pytest.approx(seen.mean(), abs=1e-9)
        assert moments.variance == pytest.approx(seen.var(), abs=1e-9)
        assert moments.std == pytest.approx(seen.std(ddof=1) if len(seen) > 1 else 1.0, abs=1e-6)


def test_the_deviation_is_one_before_there_is_any() -> None:
    assert RunningMoments().std == 1.0


@pytest.mark.parametrize(
    ("kl", "samples", "expected"),
    [
        (6.0, 100, 0.2),  # on target
        (6.6, 100, 0.2 * (1 + 0.1 * 100 / 10_000)),  # 10 % too high, within the clip
        (60.0, 100, 0.2 * (1 + 0.2 * 100 / 10_000)),  # far too high: clipped at 20 %
        (0.0, 500, 0.2 * (1 - 0.2 * 500 / 10_000)),  # far too low
        (-3.0, 100, 0.2 * (1 - 0.2 * 100 / 10_000)),  # the estimate may be negative
    ],
)
def test_the_kl_controller_by_hand(kl: float, samples: int, expected: float) -> None:
    got = adapted_kl_coefficient(0.2, kl, target=6.0, horizon=10_000, samples=samples)
    assert got == pytest.approx(expected, rel=1e-12)
