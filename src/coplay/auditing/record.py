"""What an audit finds, and its form as ``audit.json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from coplay.terminal.tables import Column

VERSION = 1
"""Version of the form of ``audit.json``."""

Kind = Literal["exact", "lower_bound", "estimate"]
"""``exact``: no chance is left in it. ``lower_bound``: of what a best response gets. ``estimate``: the mean of games, or of seeds."""

Verdict = Literal["pass", "fail", "ungraded"]
"""``ungraded``: nothing was asked for, or something that was asked for could not be measured. Never a pass."""

MEASURES: Mapping[str, str] = {
    "takes": "what the co-player gets per round, in one seat, with the player in all others",
    "gets": "what the player gets per round in these games, the mean of its seats",
    "margin": "takes minus gets: by how much the co-player does better than the player",
    "welfare": "what all seats together get per round",
    "cooperates": "how often the player takes its first action, such as cooperate, in all these rounds",
    "illegal": "the share of the player's replies that name no action",
    "collusion": "how often the player took part in what the game calls harmful coordination; meant for co-players that invite it",
    "externality": "the share of the attainable welfare that these games lost",
}
"""Every measure but those of the profile, with what it is. ``cooperates/STATE``, such as ``cooperates/CD``, is the rate after one state of the last
round, own action first."""

BEST_RESPONSE = "best_response"
"""What the co-player is called that does its best, by enumeration."""

SHAPER, NAIVE = "shaper", "naive"
"""What the co-players are called that the player learns beside: one that commits to a policy, and one that learns by the same rule."""

PROFILE = "cooperates/"
"""What measures of the profile begin with."""

RELABELLED = "relabelled/"
"""What measures begin with that say by how much the rate of the first action changes if the actions are called otherwise: ``relabelled/J/F``."""

DISGUISED = "disguised/"
"""The same for a game that is told otherwise: ``disguised/x10``, ``disguised/+5``, ``disguised/tiles``."""

PRESENTATIONS = (RELABELLED, DISGUISED)
"""What measures begin with that say by how much conduct changes where the same game is presented otherwise: neither good nor bad."""

MEASURE_COLUMNS: dict[str, Column] = {
    "name": Column("string", "which measure"),
    "co_player": Column("string", "who plays with the player"),
    "trials": Column("int64", "trials of training behind it; 0 of co-players that do not learn"),
    "episodes": Column("int64", "episodes behind it; 0 for values by enumeration"),
    "value": Column("float64", "the number; missing if every round was void"),
    "ci95": Column("float64", "half-width of its 95 % interval; missing where the spread cannot be known"),
    "n_seeds": Column("int64", "independent learners; 0 of co-players that do not learn"),
    "effective_n": Column("int64", "how many independent numbers are behind the value"),
    "kind": Column("string", "`exact`, `lower_bound` or `estimate`"),
}
"""The columns of measures in a data frame."""

SHARES = ("cooperates", "illegal", "collusion")
"""Measures that are shares of replies or rounds, as those of the profile are."""

LOWER_IS_BETTER = ("takes", "margin", "illegal", "collusion", "externality")
"""Measures that a player should keep small; of all others larger is better."""


class MeasureRecord(TypedDict):
    """A measure in ``audit.json``."""

    name: str
    """Which measure, of :data:`MEASURES`, or ``cooperates/STATE``."""
    co_player: str
    """Who plays with the player."""
    budget: dict[str, object]
    """What was spent: ``episodes``, and of a learner ``trials``, ``games`` and whether it has ``converged``."""
    value: float | None
    """The number; None if there is none, as every round was void."""
    ci95: float | None
    """Half the width of its 95 % interval; 0 for an exact value, None where the spread cannot be known."""
    n_seeds: int
    """Learners of that kind, trained independently; 0 for co-players that do not learn."""
    effective_n: int
    """Independent numbers behind the value: seeds, or games. Games that all went the same way are one."""
    kind: Kind
    """See :data:`Kind`."""


class AuditRecord(TypedDict):
    """``audit.json``, and what ``coplay audit --json`` prints."""

    version: int
    """Version of this form."""
    player: str
    """The player, as it was named."""
    game: str
    """Name of the game."""
    rounds: int
    """The most rounds of an episode."""
    verdict: Verdict
    """What gate and baseline say."""
    reasons: list[str]
    """Why, a sentence for each threshold and each comparison that did not pass."""
    measures: list[MeasureRecord]
    """All measures."""
    notes: list[str]
    """What could not be measured and why, and what counts for less than it seems."""


@dataclass(frozen=True)
class Measure:
    """One number of an audit. Fields are those of :class:`MeasureRecord`."""

    name: str
    """Which measure."""
    co_player: str
    """Who plays with the player."""
    budget: Mapping[str, object]
    """What was spent."""
    value: float | None
    """The number."""
    ci95: float | None
    """Half the width of its interval."""
    n_seeds: int
    """Independent learners; 0 for co-players that do not learn."""
    effective_n: int
    """Independent numbers behind the value."""
    kind: Kind
    """How sure it is."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the 95 % interval, of shares from 0 to 1; None where there is no number or its spread cannot be known."""
        if self.value is None or self.ci95 is None:
            return None
        low, high = self.value - self.ci95, self.value + self.ci95
        return (max(0.0, low), min(1.0, high)) if self.name in SHARES or self.name.startswith(PROFILE) else (low, high)

    @property
    def bad_end(self) -> float | None:
        """The end of the interval that a cautious reader takes."""
        if self.interval is None:
            return None
        return self.interval[self.name in LOWER_IS_BETTER]

    def to_dict(self) -> MeasureRecord:
        """As ``audit.json`` has it."""
        return {
            "name": self.name,
            "co_player": self.co_player,
            "budget": dict(self.budget),
            "value": self.value,
            "ci95": self.ci95,
            "n_seeds": self.n_seeds,
            "effective_n": self.effective_n,
            "kind": self.kind,
        }


@dataclass(frozen=True)
class Audit:
    """What was found about a player in a game, before anybody judges it."""

    player: str
    """The player, as it was named."""
    game: str
    """Name of the game."""
    rounds: int
    """The most rounds of an episode."""
    measures: Sequence[Measure]
    """All measures."""
    notes: Sequence[str]
    """What could not be measured and why, and what counts for less than it seems."""


def latest(measures: Sequence[Measure]) -> dict[tuple[str, str], Measure]:
    """By name and co-player the measure after the longest training."""
    found: dict[tuple[str, str], Measure] = {}
    for one in measures:
        key = (one.name, one.co_player)
        if key not in found or trials_of(one) >= trials_of(found[key]):
            found[key] = one
    return found


def trials_of(one: Measure) -> int:
    """Trials of training behind a measure; 0 of co-players that do not learn."""
    return int(str(one.budget.get("trials", 0)))


def measure_rows(measures: Iterable[Measure]) -> Iterator[dict[str, object]]:
    """A row for each measure, with :data:`MEASURE_COLUMNS`."""
    for one in measures:
        yield {**one.to_dict(), "trials": trials_of(one), "episodes": int(str(one.budget.get("episodes", 0)))}


def curves(measures: Sequence[Measure]) -> dict[str, list[Measure]]:
    """What learners of each kind take, in the order of trials; kinds that were not measured are left out."""
    found: dict[str, list[Measure]] = {}
    for one in measures:
        if one.name == "takes" and trials_of(one) and one.value is not None:
            found.setdefault(one.co_player, []).append(one)
    return found
