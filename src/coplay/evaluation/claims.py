"""Claims: sentences of the papers turned into checks on measured numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coplay.errors import UsageError
from coplay.statistics import Interval, mean_ci95, paired_differences

Curves = Callable[[str, str], Sequence[Sequence[float]]]
"""(arm, metric) to one curve over trials for each seed, NaN where a trial has no value."""


def _no_curves(arm: str, metric: str) -> Sequence[Sequence[float]]:
    return []


@dataclass(frozen=True)
class Results:
    """What was measured in one experiment."""

    evals: Mapping[str, Mapping[str, Any]]
    """The ``eval.json`` of each arm; evaluations of other lengths as ``ARM@ROUNDS``."""
    curves: Curves = field(default=_no_curves)
    """Training."""
    meetings: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    """What a player got per round from a co-player after training, one number a seed."""
    watched: Sequence[Sequence[Sequence[str]]] = ()
    """What both seats did in the watched games after training: by seed, game and round."""


Measure = Callable[[Results], list[float]]
"""One number a seed."""


@dataclass(frozen=True)
class Rule:
    """When a claim holds."""

    words: str
    """The check in words."""
    holds: Callable[[Interval, Sequence[float]], bool]
    """The check, on the mean with its 95 % interval, and on the numbers of the single seeds."""


@dataclass(frozen=True)
class Claim:
    """One sentence, the number it is about, and when it holds."""

    id: str
    """``TABLE/GAME/WHAT``."""
    paper: str
    """Which paper, and where."""
    text: str
    """The sentence, in our words."""
    published: float | None
    """The paper's number; None where it has words only."""
    measure: Measure
    """Our number, one a seed."""
    rule: Rule
    """Whether it bears the sentence out."""


# ---------------------------------------------------------------------- what to measure


def per_round(arm: str, seat: str) -> Measure:
    """Each seed's reward per step of a seat in an arm's evaluation. A seed without a single legal round counts as NaN."""

    def measure(results: Results) -> list[float]:
        values = [summary["seats"][seat]["per_round"] for summary in results.evals[arm]["seeds"].values()]
        return [float("nan") if value is None else value for value in values]

    return measure


def illegal(arm: str) -> Measure:
    """Each seed's share of illegal replies, mean of both seats."""

    def measure(results: Results) -> list[float]:
        return [
            sum(seat["illegal"] for seat in summary["seats"].values()) / len(summary["seats"])
            for summary in results.evals[arm]["seeds"].values()
        ]

    return measure


def versus(player: str, co_player: str) -> Measure:
    """Each seed's reward per round of a player from a co-player, half of the games in either seat."""
    return lambda results: list(results.meetings[player, co_player])


def share_of(part: Measure, whole: Measure) -> Measure:
    """Seed by seed, the first number as a share of the second."""

    def measure(results: Results) -> list[float]:
        return [x / y for x, y in zip(part(results), whole(results), strict=True)]

    return measure


def scaled(measure: Measure, factor: float) -> Measure:
    """Seed by seed, the number times a factor."""
    return lambda results: [factor * x for x in measure(results)]


def late(arm: str, metric: str) -> Measure:
    """Each seed's mean of a metric over the last tenth of training; NaN if it had no value there."""

    def number(curve: Callable[[str], Sequence[float]]) -> float:
        values = curve(metric)
        known = [x for x in values[-max(1, len(values) // 10) :] if math.isfinite(x)]
        return sum(known) / len(known) if known else float("nan")

    return over_training(arm, number)


def first(arm: str, metric: str) -> Measure:
    """Each seed's value of a metric in the first trial."""
    return over_training(arm, lambda curve: curve(metric)[0])


def difference(a: Measure, b: Measure) -> Measure:
    """Seed by seed, the first number minus the second, for numbers whose seeds are in one order; for two arms see :func:`paired`."""

    def measure(results: Results) -> list[float]:
        return [x - y for x, y in zip(a(results), b(results), strict=True)]

    return measure


def paired(a: str, b: str, *, seat: str) -> Measure:
    """Seed by seed, a seat's reward per step in one arm minus that in another: a paired comparison of two arms.

    With the mean's t-interval over these differences a claim asks whether the arms differ more than seeds do. Seeds are matched by
    name, whatever their order.

    Args:
        a: the first arm.
        b: the second arm, trained on the same seeds.
        seat: whose reward.

    Raises:
        UsageError: when measured, if the arms have different seeds: a paired comparison of these means nothing.
    """

    def by_seed(arm: str, results: Results) -> dict[str, float]:
        return dict(zip(results.evals[arm]["seeds"], per_round(arm, seat)(results), strict=True))

    def measure(results: Results) -> list[float]:
        try:
            return paired_differences(by_seed(a, results), by_seed(b, results))
        except ValueError as error:
            raise UsageError(f"arms {a!r} and {b!r} cannot be compared seed by seed: {error}") from None

    return measure


def over_training(arm: str, number: Callable[[Callable[[str], Sequence[float]]], float]) -> Measure:
    """One number of each seed's training.

    Args:
        arm: the arm.
        number: what to make of a seed's curves; it is given a function from a metric's name to the seed's curve.
    """

    def measure(results: Results) -> list[float]:
        seeds = range(len(results.evals[arm]["seeds"]))

        def of_seed(seed: int) -> Callable[[str], Sequence[float]]:
            return lambda metric: results.curves(arm, metric)[seed]

        return [number(of_seed(seed)) for seed in seeds]

    return measure


# ---------------------------------------------------------------------- when it holds


def within(target: float, tolerance: float) -> Rule:
    """The mean lies near a number."""
    return Rule(
        f"mean within {tolerance:g} of {target:g}", lambda interval, _: abs(interval.mean - target) <= tolerance
    )


def at_least(bound: float) -> Rule:
    """The mean is large enough."""
    return Rule(f"mean at least {bound:g}", lambda interval, _: interval.mean >= bound)


def at_most(bound: float) -> Rule:
    """The mean is small enough."""
    return Rule(f"mean at most {bound:g}", lambda interval, _: interval.mean <= bound)


def ci_above(bound: float) -> Rule:
    """The whole interval lies above a number; a single seed has none."""
    return Rule(f"95 % interval above {bound:g}", lambda interval, _: interval.low is not None and interval.low > bound)


def ci_below(bound: float) -> Rule:
    """The whole interval lies below a number; a single seed has none."""
    return Rule(
        f"95 % interval below {bound:g}", lambda interval, _: interval.high is not None and interval.high < bound
    )


def ci_within(target: float, tolerance: float) -> Rule:
    """The whole interval lies near a number; a single seed has none. For sentences that say that nothing changes."""
    return Rule(
        f"95 % interval within {tolerance:g} of {target:g}",
        lambda interval, _: (
            interval.half_width is not None and abs(interval.mean - target) + interval.half_width <= tolerance
        ),
    )


def every_seed_at_most(bound: float) -> Rule:
    """No seed is larger."""
    return Rule(f"every seed at most {bound:g}", lambda _, values: max(values) <= bound)


# ---------------------------------------------------------------------- checking


def check_claims(claims: Sequence[Claim], results: Results, *, model: str) -> list[dict[str, Any]]:
    """Check claims against results, as ``claims.json`` keeps them.

    An interval of one seed has no width: what needs an interval cannot hold on one seed.
    """
    rows = []
    for claim in claims:
        values = claim.measure(results)
        interval = mean_ci95(values)
        known = math.isfinite(interval.mean)  # not so if a seed never had a legal round
        rows.append(
            {
                "id": claim.id,
                "paper": claim.paper,
                "claim": claim.text,
                "rule": claim.rule.words,
                "published": claim.published,
                "measured": interval.mean if known else None,
                "ci95": interval.half_width if known else None,
                "n_seeds": interval.n,
                "model": model,
                "holds": known and bool(claim.rule.holds(interval, values)),
            }
        )
    return rows
