"""The form of a run's ``safety.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from coplay.evaluation.safety import SafetySummary
from coplay.games.safety import Gains, Weights

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
    weights: Weights
    """The weights of the objective."""
    measure: Gains
    """What the objective means by a co-player's gain."""
    seeds: Mapping[str, SeedSafety]
    """By seed, those that have diverged left out."""
