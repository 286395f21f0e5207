"""From measurements to Markdown. Pure functions of the JSON that ``trial.py`` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from sections import SECTIONS

Result = Mapping[str, Any]
"""What ``trial.py`` writes."""

NAMES = {
    "seeds": "seeds",
    "games": "N, parallel games",
    "rounds": "T, rounds",
    "episodes": "E, episodes",
    "threads": "threads",
}
DEFAULTS = {"seeds": 5, "games": 5, "rounds": 20, "episodes": 5}
"""The recipe's values, which stand at ratio 1."""

COLUMNS = {
    "straightforward": "straightforward",
    "coplay, one seed": "coplay, 1 seed",
    "coplay, one process": "coplay, 5 seeds, 1 process",
    "coplay": "coplay, 5 seeds",
}
"""Columns of the comparison."""

_MARKED = re.compile(r"(<!-- (table|real model|longer): (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

EMBEDDED = "table"
"""Marks tables of the embedded model; other words are for those of a real one."""


def read(path: Path) -> Result | None:
    """The measurements, or None if none were made."""
    data: Result | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return data


def rendered(text: str, result: Result | None, *, of: str = EMBEDDED) -> str:
    """The page with every table of that kind between its markers rewritten."""
    return _MARKED.sub(
        lambda match: match[0] if match[2] != of else f"{match[1]}{table(match[3], result)}\n{match[4]}", text
    )


def page(result: Result) -> str:
    """All tables, for the terminal."""
    return "\n\n".join(table(name, result) for name in TABLES if name == "machine" or name in result)


def table(name: str, result: Result | None) -> str:
    """One table, or a line that says it was not measured."""
    if result is None or (name != "machine" and name not in result):
        return "*Not measured yet: the command above fills this in.*"
    return TABLES[name](result)


def machine(result: Result) -> str:
    """Where and with what."""
    found, settings = result["machine"], result["settings"]
    packages = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    warning = "**Made with `--quick`: a check of the script, not a measurement.** " if settings["quick"] else ""
    return (
        f"{warning}{found['cpu']}, {found['cores']} cores, {settings['threads']} threads for both loops; device {found['device']};"
        f" {found['platform']}; Python {found['python']}; {packages}. Load average when it began: {found['load_before']:.1f}."
        f" {settings['trials']} trials of each loop, alternating, after one to warm up; the whole took {found['minutes']:.0f} minutes."
    )


def compare(result: Result) -> str:
    """Both loops side by side; seconds are of this machine, the ratio is the claim."""
    rows = []
    loops = [name for name in COLUMNS if all(name in found["times"] for found in result["compare"].values())]
    for arm, found in result["compare"].items():
        each = {name: per_seed(found, name) for name in found["times"]}
        ratios = [slow / fast for slow, fast in zip(each["straightforward"], each["coplay"], strict=True)]
        rows.append(
            [
                arm,
                *(f"{median(each[name]):.2f} s" for name in loops),
                f"**{median(each['straightforward']) / median(each['coplay']):.1f}**",
                f"{min(ratios):.1f} to {max(ratios):.1f}",
                "yes" if found["same_games"] else "**no**",
            ]
        )
    head = ["arm", *(COLUMNS[name] for name in loops), "times faster", "over trials", "same games"]
    return markdown(head, rows)


def per_seed(found: Mapping[str, Any], name: str) -> list[float]:
    """Seconds a seed-trial of each measured trial."""
    return [seconds / found["seeds"][name] for seconds in found["times"][name]]


def sections(result: Result) -> str:
    """Seconds a seed-trial in each section, and its share of the whole."""
    seeds = result["settings"]["seeds"]
    columns = [
        (f"{arm}: {loop}", {name: value / (seeds if loop == "coplay" else 1) for name, value in found[loop].items()})
        for arm, found in result["sections"].items()
        for loop in ("straightforward", "coplay")
    ]
    totals = [sum(column.values()) for _, column in columns]
    rows = [[name, *map(_cell, (c.get(name) for _, c in columns), totals)] for name in SECTIONS]
    rows.append(["**all**", *(f"**{1000 * total:.0f} ms**" for total in totals)])
    return markdown(["section", *(name for name, _ in columns)], rows)


def _cell(seconds: float | None, total: float) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.0f} ms ({seconds / total:.0%})"


def scaling(result: Result) -> str:
    """Time of a trial against the recipe's own size."""
    quick = result["settings"]["quick"]
    rows = []
    for axis, points in result["scaling"].items():
        times = {point["value"]: median(point["times"]) for point in points}
        unit = times.get(DEFAULTS.get(axis, 1)) if not quick else None
        unit = unit or next(iter(times.values()))
        rows.append(
            [NAMES[axis], ", ".join(map(str, times)), ", ".join(f"{time / unit:.2f}" for time in times.values())]
        )
    return markdown(["varied", "values", "time of a trial (1 = the recipe's value; for threads, one thread)"], rows)


def memory(result: Result) -> str:
    """Peak resident memory of a process."""
    children = list(next(iter(result["memory"].values())))
    rows = [[arm, *(f"{found[child]:.0f} MB" for child in children)] for arm, found in result["memory"].items()]
    return markdown(["arm", *children], rows)


def products(result: Result) -> str:
    """Which share of the machine's fastest matrix product coplay's trial reaches."""
    rows = []
    for arm, found in result["products"].items():
        rate = found["operations"] / found["seconds"]
        each = found["operations"] / result["settings"]["seeds"]
        rows.append(
            [
                arm,
                f"{each / 1e12:.2f}",
                f"{rate / 1e9:.0f}",
                f"{found['peak'] / 1e9:.0f}",
                f"**{rate / found['peak']:.0%}**",
            ]
        )
    head = ["arm", "10^12 operations a seed-trial", "10^9 a second", "fastest product, 10^9 a second", "share"]
    return markdown(head, rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {
    "machine": machine,
    "compare": compare,
    "sections": sections,
    "scaling": scaling,
    "memory": memory,
    "products": products,
}
"""All tables by the name in their markers."""
