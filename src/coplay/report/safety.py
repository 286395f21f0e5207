"""How safe a run's learner is against pools of co-players, from ``safety.json``: the section's tables as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.evaluation.safety import NAMES
from coplay.report.data import Arm, interval_of
from coplay.report.values import Record, at, estimate, items, section
from coplay.statistics import Interval

POLICIES: Mapping[str, str] = {"last": "last policy", "selected": "selected policy"}
"""The policies that are measured, and what they are called."""

MEASURES: Mapping[str, str] = {
    **{name: words for name, words in NAMES.items() if name != "safety"},
    "best_response": "a best response gets",
    "safety": NAMES["safety"],
}
"""The rows of the table of measures, in order."""

ALWAYS = ("pay", "exploit_over_agent", "exploit_over_fair", "safety")
"""Measures that have a row even if nothing is known of them."""

PAYOFFS = ("own", "theirs")
"""What is shown of each co-player: the learner's payoff and its co-player's."""


@dataclass(frozen=True)
class CoPlayer:
    """A row of payoffs against one co-player."""

    pool: str
    """Its pool."""
    name: str
    """Its name."""
    payoffs: tuple[Interval | None, ...]
    """For each policy the learner's payoff and the co-player's."""


@dataclass(frozen=True)
class Safety:
    """The safety of one arm."""

    label: str
    """The arm, as a reader is shown it."""
    learner: str
    """Who was measured."""
    episodes: object
    """Games against each co-player."""
    n_seeds: int
    """Seeds that were measured."""
    weights: str
    """The objective's weights in words."""
    measure: str
    """What the objective means by a co-player's gain."""
    policies: tuple[str, ...]
    """The columns: what the measured policies are called."""
    chosen: str
    """The trials of the selected policies, seed by seed, in words; empty where none was selected."""
    measures: tuple[tuple[str, tuple[Interval | None, ...]], ...]
    """A row for each measure: its name and, for each policy, its mean over seeds."""
    against: tuple[CoPlayer, ...]
    """A row for each co-player."""


def safety_sections(arms: Sequence[Arm]) -> list[Safety]:
    """The safety of every arm that was measured."""
    return [_safety(arm, arm.run.safety) for arm in arms if section(arm.run.safety, "seeds")]


def _safety(arm: Arm, found: Record | None) -> Safety:
    seeds = section(found, "seeds")
    policies = [name for name in POLICIES if any(section(one, name) for one in seeds.values())]
    by_policy = [[section(one, name) for one in seeds.values()] for name in policies]
    rows = [(name, tuple(_interval([one.get(name) for one in records]) for records in by_policy)) for name in MEASURES]
    steps = {seed: step for seed, one in seeds.items() if (step := at(one, "selected_step")) is not None}
    weights = section(found, "weights")
    return Safety(
        label=arm.label,
        learner=str(at(found, "learner") or ""),
        episodes=at(found, "episodes"),
        n_seeds=len(seeds),
        weights=", ".join(f"{name} {value}" for name, value in weights.items()),
        measure=str(at(found, "measure") or "over_agent"),
        policies=tuple(POLICIES[name] for name in policies),
        chosen=", ".join(f"trial {step} (seed {seed})" for seed, step in steps.items()),
        measures=tuple((MEASURES[name], cells) for name, cells in rows if name in ALWAYS or any(cells)),
        against=tuple(_against(by_policy)),
    )


def _against(by_policy: Sequence[Sequence[Record]]) -> list[CoPlayer]:
    """Payoffs by co-player, in the order of the file."""
    seen: dict[tuple[str, str], list[dict[str, list[object]]]] = {}
    for i, records in enumerate(by_policy):
        for one in (one for record in records for one in items(record.get("against"))):
            key = str(at(one, "pool") or ""), str(at(one, "name") or "")
            columns = seen.setdefault(key, [{name: [] for name in PAYOFFS} for _ in by_policy])
            for name in PAYOFFS:
                columns[i][name].append(at(one, name))
    return [
        CoPlayer(pool, name, tuple(_interval(of_policy[what]) for of_policy in columns for what in PAYOFFS))
        for (pool, name), columns in seen.items()
    ]


def _interval(values: Sequence[object]) -> Interval | None:
    """Mean and interval of the numbers among these."""
    return interval_of([estimate(one) for one in values])
