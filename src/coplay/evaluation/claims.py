"""Claims: sentences of the papers turned into checks on measured numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import TypeAdapter

from coplay.errors import UsageError
from coplay.evaluation.safety_report import SafetyReport
from coplay.evaluation.summary import Aggregate, Summary, diverged_seeds
from coplay.statistics import mean_ci95, paired_differences, written

Curve = Sequence[float]
"""A metric over training, a number a trial, NaN where a trial has no value."""

SeedCurves = Callable[[str], Curve]
"""From a metric's name to the curve of one seed."""

Verdict = Literal["holds", "fails", "undecided"]
"""``undecided``: the interval reaches both sides of the claim's rule, or nothing could be measured."""


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


@dataclass(frozen=True)
class Rule:
    """The values for which a claim holds: a range that the mean over seeds, with its 95 % interval, is compared with."""

    words: str
    """The rule in words."""
    low: float = -math.inf
    """The lower end of the range."""
    high: float = math.inf
    """The upper end of the range."""
    strict: bool = False
    """Whether the ends lie outside the range and one seed, which has no interval, decides nothing."""
    every_seed: bool = False
    """Whether each seed's number is compared with the range instead of the mean's interval."""

    def verdict(self, values: Sequence[float]) -> Verdict:
        """``holds`` if the interval lies within the range, ``fails`` if it lies outside, else ``undecided``.

        A single seed has no interval: its number decides, unless the rule is strict.

        Args:
            values: one number a seed; a seed without a number (NaN) leaves the claim undecided.
        """
        if not all(map(math.isfinite, values)):
            return "undecided"
        if self.every_seed:
            return "holds" if self.low <= min(values) and max(values) <= self.high else "fails"
        interval = mean_ci95(values)
        if interval.half_width is None and self.strict:
            return "undecided"
        half = interval.half_width or 0.0
        low, high = interval.mean - half, interval.mean + half
        if self.strict:
            inside, outside = self.low < low and high < self.high, high <= self.low or low >= self.high
        else:
            inside, outside = self.low <= low and high <= self.high, high < self.low or low > self.high
        return "holds" if inside else "fails" if outside else "undecided"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper with the measurement and the rule that check it."""

    id: str
    """``TABLE/GAME/NAME``."""
    paper: str
    """The paper, and the table, figure or section in it."""
    text: str
    """The sentence, in our words."""
    published: float | None
    """The paper's number; None where it has words only."""
    measure: Measure
    """Our number, one a seed."""
    rule: Rule
    """When the claim holds."""


@dataclass(frozen=True)
class CheckedClaim:
    """An entry of ``claims.json``: a claim beside its measured number."""

    id: str
    """``TABLE/GAME/NAME``."""
    paper: str
    """The paper, and the table, figure or section in it."""
    claim: str
    """The sentence."""
    rule: str
    """The rule in words."""
    published: float | None
    """The paper's number; None where it has words only."""
    measured: float | None
    """Mean over seeds; None if a seed has no number: it never had a legal round, or has diverged."""
    ci95: float | None
    """Half-width of the mean's 95 % t-interval; None for a single seed."""
    n_seeds: int
    """Number of seeds."""
    model: str
    """The model that was trained; ``tabular`` for tables."""
    verdict: Verdict
    """Whether the claim holds."""

    @property
    def holds(self) -> bool:
        """Whether the verdict is ``holds``."""
        return self.verdict == "holds"

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Read an object of ``claims.json``; files older than the verdict have ``holds`` alone."""
        holds = data.get("holds")
        verdict = "undecided" if holds is None else "holds" if holds else "fails"
        return TypeAdapter(cls).validate_python({"rule": "", "verdict": verdict, **data})

    def to_dict(self) -> dict[str, object]:
        """An object of ``claims.json``."""
        return {**self.__dict__, "holds": self.holds}

    def __str__(self) -> str:
        """A line for the terminal: the verdict, the number beside the paper's, and the sentence."""
        measured = "a seed without a number" if self.measured is None else written(self.measured, self.ci95)
        paper = "" if self.published is None else f" (paper {self.published:.2f})"
        return f"{self.verdict:>9}  {measured}{paper}  {self.claim}"


def check_claims(claims: Sequence[Claim], results: Results, *, model: str) -> list[CheckedClaim]:
    """Check claims against the results measured on a model."""
    return [_checked(claim, claim.measure(results), model) for claim in claims]


def _checked(claim: Claim, values: Sequence[float], model: str) -> CheckedClaim:
    interval, known = mean_ci95(values), all(map(math.isfinite, values))
    return CheckedClaim(
        claim.id,
        claim.paper,
        claim.text,
        claim.rule.words,
        claim.published,
        interval.mean if known else None,
        interval.half_width if known else None,
        interval.n,
        model,
        claim.rule.verdict(values),
    )


def verdict_counts(claims: Sequence[CheckedClaim]) -> str:
    """A sentence such as ``7 of 11 claims hold; 3 are undecided.``."""
    open_ = sum(claim.verdict == "undecided" for claim in claims)
    undecided = f"; {open_} {'is' if open_ == 1 else 'are'} undecided" if open_ else ""
    return f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold{undecided}."


# ---------------------------------------------------------------------- measures


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


def illegal(arm: str) -> Measure:
    """Each seed's share of illegal replies, mean over the seats."""
    return _evaluated(arm, lambda summary: mean([seat["illegal"] for seat in summary["seats"].values()]))


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


def paired(a: str, b: str, *, seat: str) -> Measure:
    """Seed by seed, a seat's reward per step in one arm minus that in another: a paired comparison of two arms.

    The mean's t-interval over these differences says whether the arms differ more than seeds do. Seeds are matched by name, whatever
    their order.

    Args:
        a: the first arm.
        b: the second arm, trained on the same seeds.
        seat: whose reward.

    Raises:
        UsageError: when measured, if the arms have different seeds: a paired comparison of these means nothing.
    """

    def by_seed(arm: str, results: Results) -> dict[str, float]:
        evaluation = results.evals[arm]
        seeds = [*evaluation["seeds"], *map(str, diverged_seeds(evaluation))]
        return dict(zip(seeds, per_round(arm, seat)(results), strict=True))

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


# ---------------------------------------------------------------------- rules


def within(target: float, tolerance: float) -> Rule:
    """The mean lies near a number."""
    return Rule(f"mean within {tolerance:g} of {target:g}", target - tolerance, target + tolerance)


def at_least(bound: float) -> Rule:
    """The mean is large enough."""
    return Rule(f"mean at least {bound:g}", low=bound)


def at_most(bound: float) -> Rule:
    """The mean is small enough."""
    return Rule(f"mean at most {bound:g}", high=bound)


def ci_above(bound: float) -> Rule:
    """The whole interval lies above a number; a single seed has none."""
    return Rule(f"95 % interval above {bound:g}", low=bound, strict=True)


def ci_below(bound: float) -> Rule:
    """The whole interval lies below a number; a single seed has none."""
    return Rule(f"95 % interval below {bound:g}", high=bound, strict=True)


def ci_within(target: float, tolerance: float) -> Rule:
    """The whole interval lies near a number; a single seed has none. For sentences that say that nothing changes."""
    return Rule(
        f"95 % interval within {tolerance:g} of {target:g}", target - tolerance, target + tolerance, strict=True
    )


def every_seed_at_most(bound: float) -> Rule:
    """No seed is larger."""
    return Rule(f"every seed at most {bound:g}", high=bound, every_seed=True)
