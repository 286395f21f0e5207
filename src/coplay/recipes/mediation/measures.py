"""What the tables and claims of mediation measure: numbers of an arm's evaluation, one a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

from coplay.evaluation.measures import Measure, Results
from coplay.evaluation.mediation import UNREADABLE
from coplay.evaluation.mediation_record import MediationRecord
from coplay.evaluation.summary import diverged_seeds
from coplay.games.mediation_words import NONE

Number = Callable[[MediationRecord], float | None]
"""A number of one seed's record."""


def of_record(arm: str, number: Number) -> Measure:
    """A number of each seed's record, in the order of the seeds; NaN where it has none, and for a seed that has diverged."""

    def measure(results: Results) -> list[float]:
        found = dict.fromkeys(diverged_seeds(results.evals[arm]), math.nan)
        for seed, summary in results.evals[arm]["seeds"].items():
            value = number(summary["mediation"]) if "mediation" in summary else None
            found[int(seed)] = math.nan if value is None else value
        return [found[seed] for seed in sorted(found)]

    return measure


def welfare(arm: str) -> Measure:
    """The sum of all players' payoffs in a game."""
    return of_record(arm, lambda record: record["welfare"]["mean"])


def collective(arm: str, name: str) -> Measure:
    """A mean over rounds by its name in :meth:`coplay.games.base.Game.collective`, e.g. ``cooperation``."""
    return of_record(arm, lambda record: record["collective"][name]["mean"] if name in record["collective"] else None)


def cooperation(arm: str) -> Measure:
    """The rate of cooperation, from 0 to 1."""
    return collective(arm, "cooperation")


def interventions(arm: str) -> Measure:
    """Rounds of a game in which somebody was addressed."""
    return of_record(arm, lambda record: record["interventions"]["mean"])


def intervened(arm: str) -> Measure:
    """The share of rounds in which somebody was addressed."""
    silent = (NONE, UNREADABLE)
    return of_record(
        arm, lambda record: 1.0 - sum(one["mean"] for name, one in record["notices"].items() if name in silent)
    )


def unreadable(arm: str) -> Measure:
    """The share of rounds in which the mediator's reply could not be read."""
    return of_record(arm, lambda record: record["notices"].get(UNREADABLE, {"mean": 0.0})["mean"])
