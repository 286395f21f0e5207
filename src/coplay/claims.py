"""Claims: sentences of the papers turned into checks on measured numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coplay.stats import Interval, mean_ci95

Evals = Mapping[str, Mapping[str, Any]]
"""The ``eval.json`` of each arm."""


@dataclass(frozen=True)
class Claim:
    """One sentence, the number it is about, and when it holds."""

    id: str
    """``TABLE/GAME/WHAT``."""
    paper: str
    """Which paper, and where."""
    text: str
    """The sentence, in our words."""
    published: float
    """The paper's number."""
    measure: Callable[[Evals], list[float]]
    """Our number, one a seed."""
    holds: Callable[[Interval], bool]
    """Whether the mean and its 95 % interval bear the sentence out."""
    rule: str
    """That check in words."""


def per_seed(arm: str, seat: str) -> Callable[[Evals], list[float]]:
    """Each seed's reward per step of a seat in an arm's evaluation. A seed without a single legal round counts as NaN."""

    def measure(evals: Evals) -> list[float]:
        values = [summary["seats"][seat]["per_round"] for summary in evals[arm]["seeds"].values()]
        return [float("nan") if value is None else value for value in values]

    return measure


def illegal(arm: str) -> Callable[[Evals], list[float]]:
    """Each seed's share of illegal replies, mean of both seats."""

    def measure(evals: Evals) -> list[float]:
        return [
            sum(seat["illegal"] for seat in summary["seats"].values()) / len(summary["seats"])
            for summary in evals[arm]["seeds"].values()
        ]

    return measure


def _within(target: float, tolerance: float) -> Callable[[Interval], bool]:
    return lambda interval: abs(interval.mean - target) <= tolerance


TABLE_1 = "ShapeLLM, Table 1"

CLAIMS: list[Claim] = [
    Claim(
        "table1/ipd/baseline-row",
        TABLE_1,
        "Two naive learners converge to mutual defection: player 1's reward per step.",
        1.00,
        per_seed("baseline", "row"),
        _within(1.0, 0.05),
        "mean within 0.05 of 1.00",
    ),
    Claim(
        "table1/ipd/baseline-column",
        TABLE_1,
        "Two naive learners converge to mutual defection: player 2's reward per step.",
        1.00,
        per_seed("baseline", "column"),
        _within(1.0, 0.05),
        "mean within 0.05 of 1.00",
    ),
    Claim(
        "table1/ipd/shaper",
        TABLE_1,
        "A shaper exploits the naive learner: the shaper's reward per step.",
        3.96,
        per_seed("shaper", "row"),
        lambda interval: interval.mean >= 3.5,
        "mean at least 3.5",
    ),
    Claim(
        "table1/ipd/naive",
        TABLE_1,
        "A shaper exploits the naive learner: what is left to the naive learner per step.",
        0.10,
        per_seed("shaper", "column"),
        lambda interval: interval.mean <= 0.6,
        "mean at most 0.6",
    ),
    Claim(
        "table1/ipd/shaper-above-cooperation",
        "ShapeLLM, section 5.1",
        "The shaper gets more than any extortion or tit-for-tat strategy could: more than mutual cooperation's 3.",
        3.96,
        per_seed("shaper", "row"),
        lambda interval: interval.low is not None and interval.low > 3.0,
        "95 % interval above 3",
    ),
    Claim(
        "table1/ipd/naive-below-defection",
        "ShapeLLM, section 5.1",
        "The naive learner is left with less than mutual defection's payoff of 1.",
        0.10,
        per_seed("shaper", "column"),
        lambda interval: interval.high is not None and interval.high < 1.0,
        "95 % interval below 1",
    ),
    Claim(
        "table1/ipd/illegal",
        TABLE_1,
        "Illegal replies are rare in the shaping experiment (share of replies).",
        0.02,
        illegal("shaper"),
        lambda interval: interval.mean <= 0.03,
        "mean at most 3 %",
    ),
]
"""All claims, in the order of the papers."""


def check_claims(claims: list[Claim], evals: Evals, *, model: str) -> list[dict[str, Any]]:
    """Check claims against evaluations, as ``claims.json`` keeps them.

    An interval of one seed has no width: what needs an interval cannot hold on one seed.
    """
    rows = []
    for claim in claims:
        interval = mean_ci95(claim.measure(evals))
        known = math.isfinite(interval.mean)  # not so if a seed never had a legal round
        rows.append(
            {
                "id": claim.id,
                "paper": claim.paper,
                "claim": claim.text,
                "rule": claim.rule,
                "published": claim.published,
                "measured": interval.mean if known else None,
                "ci95": interval.half_width if known else None,
                "n_seeds": interval.n,
                "model": model,
                "holds": known and bool(claim.holds(interval)),
            }
        )
    return rows
