"""Rules: when a measured number bears a claim out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coplay.statistics import mean_ci95

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
