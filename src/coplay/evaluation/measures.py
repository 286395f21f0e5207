"""Measures: the numbers that claims and tables are about, read off the measurements of an experiment."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from coplay.errors import UsageError
from coplay.evaluation.safety_report import SafetyReport
from coplay.evaluation.summary import Aggregate, Summary, diverged_seeds
from coplay.statistics import clopper_pearson, paired_differences

Curve = Sequence[float]
"""A metric over training, a number a trial, NaN where a trial has no value."""

SeedCurves = Callable[[str], Curve]
"""From a metric's name to the curve of one seed."""


@dataclass(frozen=True)
class Results:
    """The measurements of one experiment."""

    evals: Mapping[str, Aggregate]
    """The ``eval.json`` of each arm; evaluations in other settings as ``ARM@SETTING``, of other lengths as ``ARM@ROUNDS``."""
    curves: Callable[[str, str], Sequence[Curve]] = lambda arm, metric: []
    """From an arm and a metric to one training curve a seed."""
    cross_play: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    """The reward per round of the first player of each pair against the second after training, one number a seed."""
    transcripts: Sequence[Sequence[Sequence[str]]] = ()
    """The joint actions of the games recorded after training, by seed, game and round."""
    safety: Mapping[str, SafetyReport] = field(default_factory=dict)
    """The ``safety.json`` of each arm that has one."""


Measure = Callable[[Results], list[float]]
"""One number a seed."""

Count = Callable[[Results], int]
"""How many things a measure's numbers are shares of, all seeds together."""


def _evaluated(arm: str, number: Callable[[Summary], float | None]) -> Measure:
    """A number of each seed's evaluation; NaN where it has none, and for each seed that has diverged, at the end."""

    def measure(results: Results) -> list[float]:
        evaluation = results.evals[arm]
        values = [number(summary) for summary in evaluation["seeds"].values()]
        known = [math.nan if value is None else value for value in values]
        return known + [math.nan] * len(diverged_seeds(evaluation))

    return measure


def per_round(arm: str, seat: str) -> Measure:
    """Each seed's reward per step of a seat in an arm's evaluation; NaN for a seed without a single legal round."""
    return _evaluated(arm, lambda summary: summary["seats"][seat]["per_round"])


def per_round_of_all(arm: str) -> Measure:
    """Each seed's mean of :func:`per_round` over the seats: what a player that has all seats gets from itself; NaN if a seat has none."""

    def number(summary: Summary) -> float:
        rewards = [seat["per_round"] for seat in summary["seats"].values()]
        return sum(math.nan if one is None else one for one in rewards) / len(rewards)

    return _evaluated(arm, number)


def margin(arm: str, seat: str) -> Measure:
    """The half-width of each seed's own 95 % interval of :func:`per_round`, over its games; 0 with a single game."""
    return _evaluated(arm, lambda summary: summary["seats"][seat]["ci95"] or 0.0)


def state(arm: str, *names: str) -> Measure:
    """Each seed's share of rounds in one of these joint actions in an arm's evaluation; ``I`` for rounds with an illegal reply."""
    return _evaluated(arm, lambda summary: sum(summary["states"][name] for name in names))


def state_margin(arm: str, *names: str) -> Measure:
    """The longer half of each seed's own exact interval of :func:`state`."""
    return _evaluated(arm, lambda summary: _longer_half(sum(summary["states"][name] for name in names), summary))


def action(arm: str, seat: str, name: str) -> Measure:
    """Each seed's share of an action among the legal replies of a seat in an arm's evaluation."""
    return _evaluated(arm, lambda summary: summary["seats"][seat]["actions"][name])


def action_margin(arm: str, seat: str, name: str) -> Measure:
    """The longer half of each seed's own exact interval of :func:`action`."""
    return _evaluated(arm, lambda summary: _longer_half(summary["seats"][seat]["actions"][name], summary))


def _longer_half(share: float, summary: Summary) -> float:
    """Of the exact interval of a share of all rounds."""
    rounds = summary["episodes"] * summary["rounds"]
    exact = clopper_pearson(round(share * rounds), rounds)
    return max(exact.high - share, share - exact.low)


def illegal(arm: str) -> Measure:
    """Each seed's share of illegal replies, mean over the seats."""
    return _evaluated(arm, lambda summary: mean([seat["illegal"] for seat in summary["seats"].values()]))


def rounds_of(*arms: str) -> Count:
    """How many rounds were evaluated of these arms: what shares of rounds are shares of."""

    def count(results: Results) -> int:
        summaries = [one for arm in arms for one in results.evals[arm]["seeds"].values()]
        return sum(one["episodes"] * one["rounds"] for one in summaries)

    return count


def replies_of(*arms: str) -> Count:
    """How many replies were evaluated of these arms in games of one reply a round and seat."""

    def count(results: Results) -> int:
        summaries = [one for arm in arms for one in results.evals[arm]["seeds"].values()]
        return sum(one["episodes"] * one["rounds"] * len(one["seats"]) for one in summaries)

    return count


@dataclass(frozen=True)
class SeedCount:
    """How many seeds a measure has: what a share of seeds is a share of, when it is 0 or 1 of each seed."""

    measure: Measure
    """The measure."""

    def __call__(self, results: Results) -> int:
        """The number in these results."""
        return len(self.measure(results))


def versus(player: str, co_player: str) -> Measure:
    """Each seed's reward per round of a player from a co-player, half of the games in either seat; NaN if not played as a seed has diverged."""

    def measure(results: Results) -> list[float]:
        if (player, co_player) not in results.cross_play and any(map(diverged_seeds, results.evals.values())):
            return [math.nan]
        return list(results.cross_play[player, co_player])

    return measure


def share_of(part: Measure, whole: Measure) -> Measure:
    """Seed by seed, the first number as a share of the second."""
    return lambda results: [x / y for x, y in zip(part(results), whole(results), strict=True)]


def difference(a: Measure, b: Measure) -> Measure:
    """Seed by seed, the first number minus the second, for numbers whose seeds are in one order; for two arms see :func:`paired`."""
    return lambda results: [x - y for x, y in zip(a(results), b(results), strict=True)]


def mapped(measure: Measure, function: Callable[[float], float]) -> Measure:
    """Seed by seed, a function of the number; of NaN it is NaN."""
    return lambda results: [x if math.isnan(x) else function(x) for x in measure(results)]


def only_where(measure: Measure, other: Measure, condition: Callable[[float], bool]) -> Measure:
    """Seed by seed, the first number where the second meets a condition, else NaN: for sentences that say nothing of other seeds."""
    return lambda results: [
        x if condition(y) else math.nan for x, y in zip(measure(results), other(results), strict=True)
    ]


def paired(a: str, b: str, *, seat: str) -> Measure:
    """Seed by seed, a seat's reward per step in one arm minus that in another, see :func:`paired_by`."""
    return paired_by(a, b, lambda arm: per_round(arm, seat))


def paired_by(a: str, b: str, number: Callable[[str], Measure]) -> Measure:
    """Seed by seed, a number of one arm minus that of another: a paired comparison of two arms.

    The mean's t-interval over these differences says whether the arms differ more than seeds do. Seeds are matched by name, whatever
    their order.

    Args:
        a: the first arm.
        b: the second arm, trained on the same seeds.
        number: from an arm to its measure.

    Raises:
        UsageError: when measured, if the arms have different seeds: a paired comparison of these means nothing.
    """

    def by_seed(arm: str, results: Results) -> dict[str, float]:
        evaluation = results.evals[arm]
        seeds = [*evaluation["seeds"], *map(str, diverged_seeds(evaluation))]
        return dict(zip(seeds, number(arm)(results), strict=True))

    def measure(results: Results) -> list[float]:
        try:
            return paired_differences(by_seed(a, results), by_seed(b, results))
        except ValueError as error:
            raise UsageError(f"arms {a!r} and {b!r} cannot be compared seed by seed: {error}") from None

    return measure


def over_training(arm: str, number: Callable[[SeedCurves], float]) -> Measure:
    """One number of each seed's training; NaN for all if one has diverged.

    Args:
        arm: the arm.
        number: computes it from a seed's curves.
    """

    def of_seed(results: Results, seed: int) -> SeedCurves:
        return lambda metric: results.curves(arm, metric)[seed]

    def measure(results: Results) -> list[float]:
        seeds, diverged = results.evals[arm]["seeds"], diverged_seeds(results.evals[arm])
        if diverged:
            return [math.nan] * (len(seeds) + len(diverged))
        return [number(of_seed(results, i)) for i in range(len(seeds))]

    return measure


def mean(curve: Curve) -> float:
    """The mean of the values that are there; NaN without any."""
    known = [value for value in curve if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def late(arm: str, metric: str) -> Measure:
    """Each seed's mean of a metric over the last tenth of training; NaN if it had no value there."""
    return over_training(arm, lambda curve: mean(last_tenth(curve(metric))))


def last_tenth(curve: Curve) -> Curve:
    """The last tenth of a curve; one trial at least."""
    return curve[-max(1, len(curve) // 10) :]


def first(arm: str, metric: str) -> Measure:
    """Each seed's value of a metric in the first trial; NaN without any trial."""
    return over_training(arm, lambda curve: next(iter(curve(metric)), math.nan))


def best_tenth(curve: Curve) -> float:
    """The largest mean over a tenth of training, of the ten that it is cut into; NaN without any value."""
    ends = [round(i * len(curve) / 10) for i in range(11)]
    means = [mean(curve[start:end]) for start, end in itertools.pairwise(ends)]
    return max((value for value in means if math.isfinite(value)), default=math.nan)


def best(arm: str, metric: str) -> Measure:
    """Each seed's mean of a metric over its best tenth of training."""
    return over_training(arm, lambda curve: best_tenth(curve(metric)))
