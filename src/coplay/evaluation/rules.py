"""Rules: when a measured number bears a claim out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coplay.statistics import clopper_pearson, mean_ci95

Verdict = Literal["holds", "fails", "undecided"]
"""``undecided``: the interval reaches both sides of the claim's rule, or nothing could be measured."""


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

    def verdict(
        self, values: Sequence[float], *, counted: int | None = None, margins: Sequence[float] | None = None
    ) -> Verdict:
        """``holds`` if the interval lies within the range, ``fails`` if it lies outside, else ``undecided``.

        A single seed has no interval: its number decides, unless the rule is strict. A rule about every seed fails if one seed lies outside.

        Args:
            values: one number a seed; a seed without a number (NaN) leaves the claim undecided.
            counted: of how many counted things all values together are a share, see :func:`interval_of`; None if they are no shares.
            margins: the half-width of each seed's own interval over games, for rules about every seed; None if they are not known, so that
                the seeds' numbers decide.
        """
        if not all(map(math.isfinite, values)):
            return "undecided"
        if self.every_seed:
            halves = [0.0] * len(values) if margins is None else margins
            ends = [(value - half, value + half) for value, half in zip(values, halves, strict=True)]
            if any(high < self.low or low > self.high for low, high in ends):
                return "fails"
            return "holds" if all(self.low <= low and high <= self.high for low, high in ends) else "undecided"
        interval = interval_of(values, counted=counted)
        if interval is None and self.strict:
            return "undecided"
        low, high = (values[0], values[0]) if interval is None else interval
        if self.strict:
            inside, outside = self.low < low and high < self.high, high <= self.low or low >= self.high
        else:
            inside, outside = self.low <= low and high <= self.high, high < self.low or low > self.high
        return "holds" if inside else "fails" if outside else "undecided"

    def fewest_seeds(self, most: int = 1000) -> int | None:
        """The fewest seeds with which a share of seeds can satisfy the rule: with fewer, even all or none of them leave it undecided.

        Args:
            most: how many to try.

        Returns:
            Their number; None if so many do not suffice.
        """
        for n in range(1, most + 1):
            if any(self.verdict([share] * n, counted=n) == "holds" for share in (0.0, 1.0)):
                return n
        return None


def interval_of(values: Sequence[float], *, counted: int | None = None) -> tuple[float, float] | None:
    """The 95 % interval that decides about a mean: its ends.

    Of numbers in general it is the t-interval over seeds; None of a single seed. That is too short for shares near 0 or 1: five seeds that
    all have 0 have a t-interval of length 0, whatever was counted. So for shares of counted things the exact binomial interval of all that
    was counted counts too (:func:`coplay.statistics.clopper_pearson`). Where the seeds themselves were counted (``counted`` is their number)
    it stands alone. Else seeds differ by more than counting explains, and the interval reaches from the lower of the two low ends to the
    higher of the two high ends, within [0, 1].

    Args:
        values: one finite number a seed.
        counted: how many things were counted in all seeds together; None if the values are no shares.

    Raises:
        ValueError: for a share that does not lie between 0 and 1.
    """
    interval = mean_ci95(values)
    if counted is None:
        return None if interval.low is None or interval.high is None else (interval.low, interval.high)
    exact = clopper_pearson(round(interval.mean * counted), counted)
    if interval.low is None or interval.high is None or counted == len(values):
        return exact.low, exact.high
    return max(0.0, min(interval.low, exact.low)), min(1.0, max(interval.high, exact.high))


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


def every_seed_at_least(bound: float) -> Rule:
    """No seed is smaller."""
    return Rule(f"every seed at least {bound:g}", low=bound, every_seed=True)


def every_seed_within(target: float, tolerance: float) -> Rule:
    """Each seed lies near a number, so that seeds far off on both sides do not pass on their mean."""
    return Rule(
        f"every seed within {tolerance:g} of {target:g}", target - tolerance, target + tolerance, every_seed=True
    )
