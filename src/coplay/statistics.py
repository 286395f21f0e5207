"""Confidence intervals of a mean, of a difference and of a share, and Welch's test, without scipy.

The published tables give means with 95% confidence intervals over a handful of seeds, where Student's t matters: with five
seeds the factor is 2.776, not 1.96.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the half-width of its 95% confidence interval."""

    mean: float
    """The sample mean."""
    half_width: float | None
    """Half the width of the interval; None for a single value, whose spread cannot be known."""
    n: int
    """Number of values."""

    @property
    def low(self) -> float | None:
        """Lower end; None for a single value."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end; None for a single value."""
        return None if self.half_width is None else self.mean + self.half_width

    def __str__(self) -> str:
        """``0.95 ± 0.02``; the mean alone for a single value."""
        return written(self.mean, self.half_width)


Z95 = 1.959963984540054
"""Of a 95 % interval of a normal distribution."""

MOST_DECIMALS = 4
"""Of a mean and its interval, as they are written."""


def decimals(half_width: float | None) -> int:
    """Decimals by which a mean is written: two, or as many as show the first digit of its interval's half-width, four at most."""
    if not half_width or not 0.0 < half_width < 0.005:
        return 2
    return min(MOST_DECIMALS, -math.floor(math.log10(half_width)))


def written(mean: float, half_width: float | None) -> str:
    """``0.95 ± 0.02``, ``0.0024 ± 0.0004``; the mean alone without an interval. There is no negative zero."""
    digits = decimals(half_width)
    text = f"{round(mean, digits) + 0.0:.{digits}f}"
    return text if half_width is None else f"{text} ± {half_width:.{digits}f}"


def mean_ci95(values: Sequence[float]) -> Interval:
    """Mean and 95% t-interval of independent values: ``mean ± t_{0.975, n-1} · s / √n``.

    ``s`` is the sample standard deviation (divided by n-1). Equal values give a half-width of exactly 0. A value that is not a
    number makes the mean and the half-width so too.

    Raises:
        ValueError: if there are no values.
    """
    n = len(values)
    if n == 0:
        raise ValueError("there is no mean of no values")
    # Deviations from the first value, so that equal values have a spread of exactly nothing.
    shifts = [value - values[0] for value in values]
    shift = math.fsum(shifts) / n
    mean = values[0] + shift
    if n == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((x - shift) ** 2 for x in shifts) / (n - 1)
    return Interval(mean, t_quantile(0.975, n - 1) * math.sqrt(variance / n), n)


def paired_difference_ci95(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Mean and 95% t-interval of ``a[i] - b[i]``, for two treatments measured on the same seeds.

    Raises:
        ValueError: if the lengths differ or there are no values.
    """
    if len(a) != len(b):
        raise ValueError(f"paired values must be as many on both sides, got {len(a)} and {len(b)}")
    return mean_ci95([x - y for x, y in zip(a, b, strict=True)])


def paired_differences(a: Mapping[str, float], b: Mapping[str, float]) -> list[float]:
    """``a[seed] - b[seed]`` for two treatments measured on the same seeds, in the order of ``a``.

    Their :func:`mean_ci95` is the paired t-interval: what seeds have in common drops out.

    Raises:
        ValueError: if the seeds differ, naming those that only one side has.
    """
    if a.keys() != b.keys():
        alone = ", ".join(seed for seed in [*a, *b] if (seed in a) != (seed in b))
        raise ValueError(f"they were not measured on the same seeds; only one of them has {alone}")
    return [value - b[seed] for seed, value in a.items()]


@dataclass(frozen=True, slots=True)
class WelchTest:
    """Whether two means differ, of samples whose spreads may differ."""

    difference: Interval
    """The first mean minus the second, with its 95% interval; ``n`` counts the values of both samples."""
    statistic: float | None
    """Welch's t; None where the spread of the difference is 0 or cannot be known."""
    df: float | None
    """Degrees of freedom after Welch and Satterthwaite; None where ``statistic`` is."""
    p: float | None
    """Two-sided p-value; None where ``statistic`` is."""


def welch_test(a: Sequence[float], b: Sequence[float]) -> WelchTest:
    """Welch's t-test of independent samples: ``t = (mean a - mean b) / √(s_a²/n_a + s_b²/n_b)``.

    The degrees of freedom are ``(s_a²/n_a + s_b²/n_b)² / ((s_a²/n_a)²/(n_a - 1) + (s_b²/n_b)²/(n_b - 1))``. The interval of the difference
    has the same ones, so it excludes 0 exactly if p < 0.05. A sample of one value has no spread: then there is a difference and no more.

    Raises:
        ValueError: if a sample has no values.
    """
    first, second = mean_ci95(a), mean_ci95(b)
    gap, n = first.mean - second.mean, first.n + second.n
    if first.n == 1 or second.n == 1:
        return WelchTest(Interval(gap, None, n), None, None, None)
    parts = [_squared_error(a), _squared_error(b)]
    total = sum(parts)
    if total == 0.0:
        return WelchTest(Interval(gap, 0.0, n), None, None, None)
    # Shares of the squared error, not squares of it: those of very small numbers would vanish.
    df = 1.0 / sum((part / total) ** 2 / (size - 1) for part, size in zip(parts, (first.n, second.n), strict=True))
    error = math.sqrt(total)
    statistic = gap / error
    return WelchTest(
        Interval(gap, t_quantile(0.975, df) * error, n), statistic, df, 2.0 * t_upper_tail(abs(statistic), df)
    )


def _squared_error(values: Sequence[float]) -> float:
    """The squared standard error of the mean, s²/n."""
    shifts = [value - values[0] for value in values]
    shift = math.fsum(shifts) / len(values)
    return math.fsum((x - shift) ** 2 for x in shifts) / (len(values) - 1) / len(values)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of trials and its interval."""

    share: float
    """Successes over trials."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    n: int
    """Number of trials."""


def clopper_pearson(successes: int, n: int, *, level: float = 0.95) -> Share:
    """The exact interval of a share: the p that make neither so many nor so few successes unlikely.

    ``low`` solves P(X ≥ successes) = (1 - level)/2 and ``high`` P(X ≤ successes) = (1 - level)/2 for X binomial, by way of the incomplete beta
    function; 0 successes give a ``low`` of 0, and n a ``high`` of 1 (Clopper & Pearson 1934).

    Raises:
        ValueError: if there are no trials, or if successes or the level are out of range.
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"successes must be 0 to n, and n at least 1; got {successes} of {n}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    tail = (1.0 - level) / 2.0
    low = 0.0 if successes == 0 else _beta_quantile(tail, successes, n - successes + 1)
    high = 1.0 if successes == n else 1.0 - _beta_quantile(tail, n - successes, successes + 1)
    return Share(successes / n, low, high, n)


def _beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, by bisection."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2.0) < high:
        if incomplete_beta(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


@lru_cache(maxsize=1024)
def t_quantile(p: float, df: float) -> float:
    """The number that a Student-t variable with ``df`` degrees of freedom stays below with probability ``p``.

    Found by bisecting :func:`t_upper_tail` down to neighbouring floating-point numbers.

    Args:
        p: a probability, 0 < p < 1.
        df: degrees of freedom, greater than 0; need not be whole.

    Raises:
        ValueError: if ``p`` or ``df`` is out of range.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"p must lie between 0 and 1, got {p}")
    if not df > 0.0:
        raise ValueError(f"df must be greater than 0, got {df}")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    tail = 1.0 - p
    low, high = 0.0, 1.0
    while t_upper_tail(high, df) > tail:
        low, high = high, 2.0 * high
    while low < (middle := (low + high) / 2.0) < high:
        if t_upper_tail(middle, df) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def t_upper_tail(t: float, df: float) -> float:
    """P(X > t) for Student's t with ``df`` degrees of freedom and t ≥ 0: ``½ I_x(df/2, ½)`` with ``x = df / (df + t²)``.

    ``I`` is the regularised incomplete beta function (Abramowitz & Stegun 26.7.1).
    """
    return 0.5 * incomplete_beta(df / (df + t * t), df / 2.0, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz & Stegun 26.5.8)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side only
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    return front / _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """``1 + d_1/(1 + d_2/(1 + ...))`` by Lentz's method, to machine precision."""
    value = numerator = 1.0
    denominator = 0.0
    for i in range(1, 100_000):
        m = i // 2
        if i % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1.0 / (1.0 + d * denominator)
        numerator = 1.0 + d / numerator
        change = numerator * denominator
        value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value
