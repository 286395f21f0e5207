"""Intervals, against tables of Student's t and against scipy."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.statistics import (
    Interval,
    clopper_pearson,
    incomplete_beta,
    mean_ci95,
    paired_difference_ci95,
    paired_differences,
    t_quantile,
    t_upper_tail,
    welch_test,
)

# Two-sided 95% and 99% points as printed in any table of Student's t.
PRINTED = [
    (0.975, 1, 12.706),
    (0.975, 2, 4.303),
    (0.975, 4, 2.776),
    (0.975, 9, 2.262),
    (0.975, 30, 2.042),
    (0.975, 99, 1.984),
    (0.995, 1, 63.657),
    (0.995, 4, 4.604),
    (0.95, 9, 1.833),
]


@pytest.mark.parametrize(("p", "df", "expected"), PRINTED)
def test_quantile_is_the_printed_one(p: float, df: int, expected: float) -> None:
    assert t_quantile(p, df) == pytest.approx(expected, abs=5e-4)


def test_quantiles_in_closed_form() -> None:
    for p in (0.6, 0.9, 0.975, 0.9999):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-12)  # Cauchy
        assert t_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-12)


@pytest.mark.parametrize("df", [0.3, 1, 2.5, 4, 19, 99, 999, 1e5])
@pytest.mark.parametrize("p", [0.001, 0.2, 0.5, 0.975, 0.9999])
def test_quantile_agrees_with_scipy(p: float, df: float) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-10)


@given(st.floats(0.501, 0.9999), st.floats(0.5, 500))
def test_quantile_inverts_the_tail_and_is_odd(p: float, df: float) -> None:
    t = t_quantile(p, df)
    assert t_upper_tail(t, df) == pytest.approx(1 - p, rel=1e-9)
    assert t_quantile(1 - p, df) == pytest.approx(-t, rel=1e-9)


@given(st.floats(0.001, 0.999), st.floats(0.1, 50), st.floats(0.1, 50))
def test_incomplete_beta_reflects(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) + incomplete_beta(1 - x, b, a) == pytest.approx(1)


@pytest.mark.parametrize(("p", "df"), [(0, 4), (1, 4), (0.9, 0), (0.9, -1), (math.nan, 4), (0.9, math.nan)])
def test_quantile_refuses_what_makes_no_sense(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="must"):
        t_quantile(p, df)


def test_interval_of_five_seeds() -> None:
    interval = mean_ci95([1, 2, 3, 4, 5])
    assert interval.mean == 3
    assert interval.n == 5
    assert interval.half_width == pytest.approx(2.7764451 * math.sqrt(2.5 / 5))
    assert interval.low == pytest.approx(3 - 1.9632432)
    assert interval.high == pytest.approx(3 + 1.9632432)
    assert str(interval) == "3.00 ± 1.96"


def test_one_value_has_no_interval() -> None:
    interval = mean_ci95([3.5])
    assert interval == Interval(3.5, None, 1)
    assert interval.low is None
    assert interval.high is None
    assert str(interval) == "3.50"


@given(st.floats(-1e6, 1e6), st.integers(2, 50))
def test_equal_values_have_no_spread(value: float, n: int) -> None:
    assert mean_ci95([value] * n) == Interval(value, 0.0, n)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20), st.floats(-50, 50), st.floats(0.1, 10))
def test_interval_moves_and_scales_with_the_values(values: list[float], shift: float, scale: float) -> None:
    before, after = mean_ci95(values), mean_ci95([scale * v + shift for v in values])
    assert after.mean == pytest.approx(scale * before.mean + shift, abs=1e-9)
    assert before.half_width is not None
    assert after.half_width == pytest.approx(scale * before.half_width, rel=1e-6, abs=1e-9)


def test_no_values_and_no_numbers() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_ci95([])
    assert math.isnan(mean_ci95([1.0, math.nan]).mean)


def test_paired_difference_is_the_interval_of_differences() -> None:
    assert paired_difference_ci95([3, 5, 9], [1, 3, 7]) == Interval(2.0, 0.0, 3)
    assert paired_difference_ci95([3, 5, 9], [1, 4, 4]) == mean_ci95([2, 1, 5])
    with pytest.raises(ValueError, match="3 and 2"):
        paired_difference_ci95([1, 2, 3], [1, 2])


# --- Paired comparisons ------------------------------------------------------------------------------------------------------------------

A, B = {"0": 3.9, "1": 3.1, "2": 3.6, "3": 2.2}, {"3": 1.4, "2": 3.1, "1": 2.0, "0": 3.5}
"""The same seeds in another order."""


def test_a_paired_interval_is_that_of_the_closed_form() -> None:
    """The variance of a difference is Var a + Var b - 2 Cov(a, b); t for three degrees of freedom is 3.182446."""
    a, b = [A[seed] for seed in "0123"], [B[seed] for seed in "0123"]
    mean_a, mean_b = sum(a) / 4, sum(b) / 4
    variance = (
        sum((x - mean_a) ** 2 + (y - mean_b) ** 2 - 2 * (x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
        / 3
    )
    interval = mean_ci95(paired_differences(A, B))
    assert interval.mean == pytest.approx(mean_a - mean_b)
    assert interval.half_width == pytest.approx(3.182446 * math.sqrt(variance / 4), rel=1e-6)
    assert interval == paired_difference_ci95(a, b)


def test_pairing_takes_out_what_seeds_have_in_common() -> None:
    """Seeds far apart, one treatment a little better in each: certain when paired, invisible when not."""
    a, b = {str(i): 10.0 * i + 0.5 + 0.01 * i for i in range(5)}, {str(i): 10.0 * i for i in range(5)}
    paired = mean_ci95(paired_differences(a, b))
    assert paired.low is not None and paired.low > 0.4
    alone = mean_ci95(list(a.values()))
    assert alone.half_width is not None and alone.half_width > 10


def test_a_paired_interval_covers_as_often_as_it_says() -> None:
    """By brute force: 2000 experiments of five seeds with a shared part that is ten times the noise."""
    random = Random(1)
    covered = 0
    for _ in range(2000):
        shared = {str(i): random.gauss(0, 10) for i in range(5)}
        a = {seed: value + 0.3 + random.gauss(0, 1) for seed, value in shared.items()}
        interval = mean_ci95(paired_differences(a, shared))
        covered += interval.low is not None and interval.high is not None and interval.low <= 0.3 <= interval.high
    assert 0.935 < covered / 2000 < 0.965


def test_other_seeds_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="only one of them has 3, 7"):
        paired_differences({"0": 1.0, "3": 1.0}, {"0": 1.0, "7": 1.0})


def samples(seed: int) -> tuple[list[float], list[float]]:
    random = Random(seed)
    sizes = (random.randint(2, 50), random.randint(2, 300))
    return tuple([random.gauss(random.uniform(-1, 1), 10 ** random.uniform(-2, 2)) for _ in range(n)] for n in sizes)  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(20))
def test_welch_is_scipys(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = samples(seed)
    found, expected = welch_test(a, b), stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert found.df == pytest.approx(expected.df, rel=1e-10)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-10, abs=1e-15)
    assert found.difference.low == pytest.approx(interval.low, rel=1e-10)
    assert found.difference.high == pytest.approx(interval.high, rel=1e-10)


def test_welch_by_hand() -> None:
    # Variances 1 and 8 of samples of 3 and 2 values: error² = 1/3 + 8/2, df = error⁴ / ((1/3)²/2 + 4²/1).
    found = welch_test([1.0, 2.0, 3.0], [3.0, 7.0])
    assert found.difference.mean == -3.0 and found.difference.n == 5
    error = 1 / 3 + 8 / 2
    assert found.statistic == pytest.approx(-3 / math.sqrt(error))
    assert found.df == pytest.approx(error**2 / ((1 / 3) ** 2 / 2 + 4**2))


def test_the_interval_excludes_nothing_exactly_if_p_is_below_a_twentieth() -> None:
    for seed in range(50):
        found = welch_test(*samples(seed))
        assert found.p is not None and found.difference.low is not None and found.difference.high is not None
        assert (found.p < 0.05) == (found.difference.low > 0 or found.difference.high < 0)


def test_welch_of_values_without_spread() -> None:
    for a, b, half_width in (([1.0], [2.0, 3.0], None), ([1.0, 1.0], [2.0, 2.0, 2.0], 0.0)):
        found = welch_test(a, b)
        assert found.difference.half_width == half_width
        assert found.statistic is found.df is found.p is None
    assert welch_test([0.1] * 3, [0.1] * 7).difference.mean == 0.0


def test_welch_needs_values() -> None:
    with pytest.raises(ValueError, match="no mean of no values"):
        welch_test([1.0], [])


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 30), (1, 30), (17, 30), (30, 30), (499, 1000), (5, 3000)])
def test_shares_are_scipys(k: int, n: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    found = clopper_pearson(k, n)
    assert found.share == k / n
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-10)


@pytest.mark.parametrize(("k", "n", "level"), [(2, 1, 0.95), (-1, 3, 0.95), (0, 0, 0.95), (1, 2, 1.0)])
def test_shares_out_of_range(k: int, n: int, level: float) -> None:
    with pytest.raises(ValueError, match="must"):
        clopper_pearson(k, n, level=level)
