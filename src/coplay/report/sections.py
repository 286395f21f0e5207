"""The content of a page's sections as plain data, without markup."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coplay.report.data import Arm, interval_of, same_game, state_index, states_of
from coplay.report.evaluation_plot import Published
from coplay.report.formats import figure, short
from coplay.report.outcome import late_means, outcome
from coplay.report.palette import SEATS, STATES
from coplay.report.values import Record, estimate, is_number

OF_A_RUN = ("version", "started", "command")
"""Entries of ``env.json`` about the single run, not about the machine."""


FACTS = {
    "recipe": "recipe",
    "game": "game",
    "seeds": "seeds",
    "trials": "trials",
    "episodes": "episodes a trial",
    "rounds": "rounds an episode",
    "games": "games in parallel",
}
"""The settings at the top of a page, and what they are called there."""

Segments = tuple[tuple[str, float, str], ...]
"""A bar: name, share and class of each joint action."""


@dataclass(frozen=True)
class Ending:
    """Where an arm ended."""

    label: str
    """The arm, as a reader is shown it."""
    source: str
    """What the shares are means over, in words."""
    shares: Segments
    """Mean over seeds."""
    seeds: tuple[Segments, ...]
    """A bar for each seed; none for a single seed."""


@dataclass(frozen=True)
class Settings:
    """How an arm was run."""

    label: str
    """The arm, as a reader is shown it."""
    path: str
    """Its directory."""
    command: str
    """The command that started it; empty if that is not known."""
    settings: Mapping[str, str]
    """The config as dotted keys and values."""


def published_values(table: Sequence[Record] | None) -> Published:
    """(arm, seat) to the published value and its half-width, from the rows of a table that are about a seat's reward."""
    return {
        (str(row.get("arm")), str(row.get("seat"))): (value, estimate(row.get("published_ci95")))
        for row in table or ()
        if row.get("seat") and is_number(value := row.get("published"))
    }


def flatten(config: Record, prefix: str = "") -> dict[str, str]:
    """A nested config as dotted keys and JSON values: ``seats.row.role`` to ``"shaper"``."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, dict) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return flat


def state_class(name: str, states: Sequence[str]) -> str:
    """The class that colours a state's cells."""
    index = state_index(name, states)
    return "s-x" if index is None else f"s-{index % len(STATES)}"


def state_classes(arms: Sequence[Arm]) -> dict[str, str]:
    """The class of every state of any arm; a state has its place among those of its own game."""
    found: dict[str, str] = {}
    for arm in arms:
        states = states_of(same_game(arm, arms))
        found |= {name: state_class(name, states) for name in states}
    return found


def facts(arms: Sequence[Arm], players: str | None = None) -> list[tuple[str, str]]:
    """The main settings as terms and values, first the model, or the players where they are named; where arms differ, all their values."""
    told = [("players", players) if players else ("model", _common(arm.run.model for arm in arms))]
    for key, term in FACTS.items():
        values = [arm.run.game if key == "game" else arm.run.config.get(key) for arm in arms]
        if any(value is not None for value in values):
            told.append((term, _common(str(len(v)) if isinstance(v, list) else figure(v, 0) for v in values)))
    started = [str(arm.run.env["started"]) for arm in arms if arm.run.env.get("started")]
    return [*told, ("started", started[0][:16].replace("T", " "))] if started else told


def _common(values: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(values))


def endings(arms: Sequence[Arm]) -> list[Ending]:
    """Each arm's share of rounds in each joint action where it ended."""
    bars = []
    for arm in arms:
        states, result = states_of(same_game(arm, arms)), outcome(arm.run)
        whole, *seeds = (
            tuple((name, shares[name], state_class(name, states)) for name in states if shares.get(name))
            for shares in (result.states, *result.seed_states.values())
        )
        bars.append(Ending(arm.label, result.source, whole, tuple(seeds) if result.n_seeds > 1 else ()))
    return bars


def table_rows(arms: Sequence[Arm], table: Sequence[Record] | None) -> list[Record]:
    """The results table: the given rows, or the runs' own results where none are given."""
    labels = {arm.name: arm.label for arm in arms}
    colours = {(arm.name, seat): i % len(SEATS) for arm in arms for i, seat in enumerate(arm.run.seats)}
    missing = dict.fromkeys(("measured", "ci95", "n_seeds", "published", "published_ci95", "role", "second"))
    return [
        missing
        | dict(row)
        | {
            "arm": labels.get(str(row.get("arm")), row.get("arm")),
            "colour": colours.get((str(row.get("arm")), str(row.get("seat"))), 0),
            "comparison": compare(row),
        }
        for row in (_own_rows(arms) if table is None else table)
    ]


def compare(row: Record) -> str:
    """A measured value compared with the published one: whether the two 95% intervals overlap, else the difference."""
    measured, published = row.get("measured"), row.get("published")
    if not is_number(published):
        return ""
    if not is_number(measured):
        return "not measured"
    gap = measured - published
    reach = sum(half for key in ("ci95", "published_ci95") if is_number(half := row.get(key)))
    return "intervals overlap" if abs(gap) <= reach + 0.005 else ("+" if gap > 0 else "") + figure(gap)


def _own_rows(arms: Sequence[Arm]) -> list[Record]:
    return [
        {
            "arm": arm.name,
            "seat": seat,
            "role": arm.run.role(seat),
            "measured": reward.mean if reward else None,
            "ci95": reward.half_width if reward else None,
            "n_seeds": reward.n if reward else 0,
        }
        for arm in arms
        for result in [outcome(arm.run)]
        for seat in arm.run.seats
        for reward in [result.reward(seat)]
    ]


def configs(arms: Sequence[Arm]) -> list[Settings]:
    """Each arm's directory, the command that started it, and its settings."""
    commands = [arm.run.env.get("command") or "" for arm in arms]
    lines = [shlex.join(map(str, command)) if isinstance(command, list) else str(command) for command in commands]
    return [
        Settings(arm.label, str(arm.run.path), line, flatten(arm.run.config))
        for arm, line in zip(arms, lines, strict=True)
    ]


def differences(arms: Sequence[Arm]) -> list[tuple[str, list[str]]]:
    """The config keys in which the arms differ, with each arm's value."""
    flat = [flatten(arm.run.config) for arm in arms]
    keys = dict.fromkeys(key for config in flat for key in config)
    values = {key: [config.get(key, "\u2013") for config in flat] for key in keys}
    return [(key, row) for key, row in values.items() if len(set(row)) > 1]


def environments(arms: Sequence[Arm]) -> list[tuple[str, dict[str, str]]]:
    """The environments, one entry for arms that share one (command and time of start aside)."""
    found: list[tuple[list[str], dict[str, str]]] = []
    for arm in arms:
        env = {key: value for key, value in flatten(arm.run.env).items() if key.partition(".")[0] not in OF_A_RUN}
        for labels, known in found:
            if known == env:
                labels.append(arm.label)
                break
        else:
            found.append(([arm.label], env))
    return [(", ".join(labels), env) for labels, env in found if env]


def diagnostics(arms: Sequence[Arm]) -> list[tuple[str, list[str]]]:
    """Every metric but rewards and states, averaged over the last tenth of training: mean ± 95% interval over seeds."""
    names = dict.fromkeys(name for arm in arms for name in arm.run.metric_names())
    rows = []
    for name in names:
        if name.startswith(("reward/", "state/")):
            continue
        intervals = [interval_of(list(late_means(arm.run, name).values())) for arm in arms]
        if not any(intervals):
            continue
        cells = [
            "\u2013" if i is None else short(i.mean) + (f" ± {short(i.half_width)}" if i.half_width else "")
            for i in intervals
        ]
        rows.append((name, cells))
    return rows


def notes(arms: Sequence[Arm]) -> list[tuple[str, str, str, int]]:
    """Notes of the learners, such as a skipped step: (arm, metric, note, how often)."""
    texts = Counter(
        (arm.label, name, text)
        for arm in arms
        for record in arm.run.metrics
        for name, text in record.items()
        if isinstance(text, str) and text
    )
    return [(*key, n) for key, n in texts.most_common(20)]
