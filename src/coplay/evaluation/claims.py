"""Claims: sentences of the papers turned into checks on measured numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter

from coplay.evaluation.measures import Count, Measure, Results, SeedCount
from coplay.evaluation.rules import Rule, Verdict, interval_of
from coplay.statistics import decimals, mean_ci95, written


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
    counted: Count | None = None
    """How many things all seeds' numbers together are a share of, so that the exact interval counts; None if they are no shares."""
    margins: Measure | None = None
    """The half-width of each seed's own interval over games, for a rule about every seed; None if it is not known."""
    in_text: bool = False
    """Whether it is about replies in text, which tables do not give: on tabular learners it would hold whatever happens, and is not checked."""

    @property
    def fewest_seeds(self) -> int | None:
        """Of a claim about a share of seeds, how many it takes to hold at all; None of any other."""
        return self.rule.fewest_seeds() if isinstance(self.counted, SeedCount) else None


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
    """Half-width of the mean's 95 % t-interval; None for a single seed. Of an exact interval, the longer of its two sides."""
    n_seeds: int
    """Number of seeds."""
    model: str
    """The model that was trained; ``tabular`` for tables."""
    verdict: Verdict
    """Whether the claim holds."""
    interval: tuple[float, float] | None = None
    """The ends of the exact interval of a share of counted things; None for other numbers, whose interval is ``measured`` ± ``ci95``."""
    fewest_seeds: int | None = None
    """Of a share of seeds, how many it takes to hold at all; None of other numbers, and in older files."""

    @property
    def holds(self) -> bool:
        """Whether the verdict is ``holds``."""
        return self.verdict == "holds"

    @property
    def lacks_seeds(self) -> bool:
        """Whether it could not have held whatever came out, since there were too few seeds."""
        return self.fewest_seeds is not None and self.n_seeds < self.fewest_seeds

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Read an object of ``claims.json``; files older than the verdict have ``holds`` alone."""
        holds = data.get("holds")
        verdict = "undecided" if holds is None else "holds" if holds else "fails"
        return TypeAdapter(cls).validate_python({"rule": "", "verdict": verdict, **data})

    def to_dict(self) -> dict[str, object]:
        """An object of ``claims.json``."""
        return {**self.__dict__, "holds": self.holds}

    def measured_text(self) -> str:
        """The number with its interval: ``0.95 ± 0.02``, or ``1.00 [0.48, 1.00]`` if the interval is an exact one."""
        if self.measured is None:
            return "a seed without a number"
        if self.interval is None:
            return written(self.measured, self.ci95)
        low, high = self.interval
        digits = decimals(high - low)
        return f"{self.measured:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"

    def __str__(self) -> str:
        """A line for the terminal: the verdict, the number beside the paper's, and the sentence."""
        measured = self.measured_text()
        paper = "" if self.published is None else f" (paper {self.published:.2f})"
        few = f" It takes {self.fewest_seeds} seeds to hold." if self.lacks_seeds else ""
        return f"{self.verdict:>9}  {measured}{paper}  {self.claim}{few}"


def check_claims(claims: Sequence[Claim], results: Results, *, model: str) -> list[CheckedClaim]:
    """Check claims against the results measured on a model."""
    return [
        _checked(
            claim,
            claim.measure(results),
            None if claim.counted is None else claim.counted(results),
            None if claim.margins is None else claim.margins(results),
            model,
        )
        for claim in claims
    ]


def _checked(
    claim: Claim, values: Sequence[float], counted: int | None, margins: Sequence[float] | None, model: str
) -> CheckedClaim:
    interval, known = mean_ci95(values), all(map(math.isfinite, values))
    exact = interval_of(values, counted=counted) if known and counted is not None else None
    half = interval.half_width if exact is None else max(interval.mean - exact[0], exact[1] - interval.mean)
    return CheckedClaim(
        claim.id,
        claim.paper,
        claim.text,
        claim.rule.words,
        claim.published,
        interval.mean if known else None,
        half if known else None,
        interval.n,
        model,
        claim.rule.verdict(values, counted=counted, margins=margins),
        exact,
        claim.fewest_seeds,
    )


def verdict_counts(claims: Sequence[CheckedClaim]) -> str:
    """A sentence such as ``7 of 11 claims hold; 3 are undecided.``."""
    open_ = sum(claim.verdict == "undecided" for claim in claims)
    undecided = f"; {open_} {'is' if open_ == 1 else 'are'} undecided" if open_ else ""
    return f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold{undecided}."
