"""The form of a run's ``safety.json``, and claims about what it says: one number a seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from coplay.evaluation.safety import SafetySummary

Checkpoint = Literal["selected", "last"]
"""Which of a run's policies: the one that was chosen by its held-out games, or the last."""


class PolicySafety(SafetySummary):
    """What was measured of one policy."""

    best_response: float | None
    """What an exact best response gets per round from it; None where it cannot be computed."""


class SeedSafety(TypedDict):
    """One seed."""

    last: PolicySafety
    """The last policy."""
    selected: NotRequired[PolicySafety]
    """The chosen policy, in the same games; missing if none was to be chosen."""
    selected_step: NotRequired[int]
    """The trial after which it was saved."""


class SafetyReport(TypedDict):
    """A run's ``safety.json``."""

    version: int
    """Version of this form."""
    game: str
    """The game."""
    learner: str
    """The learner."""
    rounds: int
    """Rounds of a game."""
    episodes: int
    """Games against each co-player."""
    weights: Mapping[str, float]
    """The weights of the objective."""
    seeds: Mapping[str, SeedSafety]
    """By seed, those that have diverged left out."""


def policies(report: SafetyReport, checkpoint: Checkpoint = "selected") -> list[PolicySafety]:
    """What was measured of each seed's chosen policy, which is the last where none was to be chosen; or of the last."""
    return [one.get("selected", one["last"]) if checkpoint == "selected" else one["last"] for one in report["seeds"].values()]


def number_of(policy: PolicySafety, name: str) -> float:
    """One of its numbers; NaN where it has none."""
    value = policy[name]  # type: ignore[literal-required]
    return math.nan if value is None else float(value)
