"""What the pages say of runs: settings that differ from the recipe's, results, and what several runs differ in. Plain data, without markup."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.files.reading import expected_shape
from coplay.report.data import Arm, RunData, interval_of
from coplay.report.outcome import late_means, outcome
from coplay.report.sections import differences, flatten
from coplay.report.values import at, estimate, section
from coplay.statistics import Interval

NOT_SETTINGS = ("version", "recipe")
"""Entries of ``config.json`` that no recipe decides."""


@dataclass(frozen=True)
class SeatResult:
    """What a seat came to."""

    run: str
    """The run, as a reader is shown it where there are several."""
    seat: str
    """The seat."""
    place: int
    """Which seat that is, in the order of seats."""
    role: str
    """Who sat there, in words."""
    payoff: Interval | None
    """Payoff per round, over seeds."""
    illegal: Interval | None
    """Share of illegal replies, over seeds."""
    actions: tuple[tuple[str, float], ...]
    """Share of each action, in the evaluation."""
    source: str
    """What the numbers are means over, in words."""


def results(run: RunData) -> list[SeatResult]:
    """What each seat came to: in the evaluation, or at the end of training before there is one."""
    if not run.metrics and run.eval is None:
        return []
    found = outcome(run)
    return [
        SeatResult(
            "",
            seat,
            place,
            run.role(seat),
            found.reward(seat),
            _illegal(run, seat, evaluated=found.evaluated),
            tuple(
                (action, share)
                for action, value in section(run.eval, "seats", seat, "actions").items()
                if (share := estimate(value)) is not None
            ),
            found.source,
        )
        for place, seat in enumerate(run.seats)
    ]


def _illegal(run: RunData, seat: str, *, evaluated: bool) -> Interval | None:
    if not evaluated:
        return interval_of(list(late_means(run, f"illegal/{seat}").values()))
    return interval_of([estimate(at(one, "seats", seat, "illegal")) for one in section(run.eval, "seeds").values()])


def from_recipe(run: RunData) -> list[tuple[str, str, str]] | None:
    """The settings that differ from the recipe's: name, the recipe's value, the run's; None where the recipe is not known."""
    from coplay.recipes import recipe_config  # late: it takes a second

    try:
        with expected_shape(run.path / "config.json"):
            recipe = recipe_config(run.config)
    except UsageError:
        return None
    if recipe is None:
        return None
    theirs, own = flatten(recipe.model_dump(mode="json")), flatten(run.config)
    return [
        (key, theirs.get(key, "\u2013"), own.get(key, "\u2013"))
        for key in dict.fromkeys([*own, *theirs])
        if own.get(key) != theirs.get(key) and key.partition(".")[0] not in NOT_SETTINGS
    ]


def differing(runs: Sequence[RunData], labels: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The settings in which runs differ, with each run's value."""
    return differences([Arm(label, label, run) for run, label in zip(runs, labels, strict=True)])


def ago(seconds: float) -> str:
    """How long ago something was, in words."""
    for size, word in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'s' if count > 1 else ''} ago"
    return "just now"


def moment(when: float) -> str:
    """A time of this machine's clock, to the minute, with its zone's offset."""
    return time.strftime("%Y-%m-%d %H:%M %z", time.localtime(when))
