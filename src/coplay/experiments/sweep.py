"""Sweeps: a recipe trained over a grid of settings, a run directory a cell, and the results of all cells in one file.

The same command with the same directory resumes it: finished cells are kept, an unfinished one is trained on.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from coplay.errors import CoplayError, UsageError
from coplay.files.kinds import newest_version
from coplay.files.lock import locked
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config, parse_value, with_values
from coplay.runs.directory import RunDirectory, is_finished, is_taken
from coplay.runs.divergence import diverged_in
from coplay.statistics import Interval, mean_ci95
from coplay.tasks.executors import LOCAL, TaskExecutor
from coplay.text.rendering import counted

RECORD = "sweep.json"
"""The grid and its results, in a sweep's directory."""

MOST_AXES = 2
"""A map has as many dimensions as a page."""


@dataclass(frozen=True)
class Axis:
    """One setting and the values it takes."""

    key: str
    """Dotted key of :class:`coplay.runs.config.Config`."""
    values: tuple[object, ...]
    """JSON values, in the order of the map."""

    def names(self) -> list[str]:
        """The values as a reader is shown them."""
        return [value if isinstance(value, str) else json.dumps(value) for value in self.values]


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    values: tuple[object, ...]
    """One value an axis."""
    name: str
    """Its directory below ``cells/``."""
    config: Config
    """What is trained there."""


@dataclass(frozen=True)
class Sweep:
    """What to train: a config, and the settings that vary."""

    base: Config
    """All that the cells have in common."""
    axes: tuple[Axis, ...]
    """One or two."""

    def cells(self) -> list[Cell]:
        """All cells, the last axis fastest.

        Raises:
            UsageError: for an unknown key or an impossible value, with the nearest key.
        """
        found = []
        for number, values in enumerate(product(*(axis.values for axis in self.axes))):
            changes = dict(zip((axis.key for axis in self.axes), values, strict=True))
            found.append(Cell(values, _directory_name(number, changes), with_values(self.base, changes)))
        return found


def axes_from(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Axes from ``KEY=V1,V2,...``; values are JSON where they are JSON, else words, and commas within brackets separate nothing.

    Raises:
        UsageError: saying what is wrong with which.
    """
    if not 1 <= len(texts) <= MOST_AXES:
        raise UsageError(f"sweep needs --over KEY=V1,V2 once or twice; got it {counted(len(texts), 'time')}")
    axes = []
    for text in texts:
        key, equals, listed = text.partition("=")
        values = [parse_value(word) for word in split_values(listed)] if equals else []
        if not key.strip() or not values or "" in values:
            raise UsageError(f"--over takes KEY=V1,V2,..., e.g. row.ppo.clip=0.1,0.2; got {text!r}")
        axis = Axis(key.strip(), tuple(values))
        if len(set(axis.names())) < len(values):
            raise UsageError(f"--over {axis.key}: every value once, please; got {listed}")
        if axis.key == "seeds":
            raise UsageError("--over seeds: every cell is trained on all seeds; name them with --seeds")
        axes.append(axis)
    if len({axis.key for axis in axes}) < len(axes):
        raise UsageError(f"--over {axes[0].key}: one axis a setting; put all its values into one --over")
    return tuple(axes)


def split_values(text: str) -> list[str]:
    """Cut at commas that are not within brackets or quotes: ``[1,2],3`` is two values."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


@dataclass(frozen=True)
class SweepResult:
    """What a sweep came to."""

    page: Path
    """Its page."""
    diverged: tuple[str, ...]
    """A line for each seed that has diverged."""


def sweep(wanted: Sweep, out: Path, *, quiet: bool = False, executor: TaskExecutor = LOCAL) -> SweepResult:
    """Train every cell that is not finished yet, then write ``sweep.json``, the maps and the page.

    Args:
        wanted: the grid.
        out: the directory; empty, new, or one that holds this very sweep.
        quiet: show no progress.
        executor: who trains the cells.

    Raises:
        UsageError: for anything wrong with a cell or with the directory, before anything is written.
        Interrupted: on Ctrl-C, after saving.
    """
    executor.prepare(out, quiet=quiet)
    cells = wanted.cells()
    _claim_directory(wanted, cells, out)
    from coplay.report.sweep_page import write_sweep_page
    from coplay.runs.tasks import PartTask

    with locked(out):
        store = Store.open(out, "sweep")
        store.tidy()
        tasks = [
            PartTask(
                name=f"{number}/{len(cells)} {cell.name}",
                directory=out / "cells" / cell.name,
                config=cell.config,
                resume_with=f"--out {out}",
            )
            for number, cell in enumerate(cells, 1)
        ]
        diverged: dict[Path, list[str]] = {}
        results = _Results(wanted, out)
        try:
            for task, lines in executor.run(tasks, resume=f"the same command with --out {out} resumes it", quiet=quiet):
                diverged[task.directory] = lines
                results.write_now_and_then(store)
        except CoplayError:
            results.write(store)
            raise
        results.write(store)
        lines = [line for task in tasks for line in diverged[task.directory]]
        return SweepResult(write_sweep_page(out, read_sweep(out)), tuple(lines))


class _Results:
    """``sweep.json``, written anew while cells are trained. With many cells that takes a while, and is then done less often."""

    def __init__(self, wanted: Sweep, out: Path) -> None:
        self._wanted, self._out = wanted, out
        self._next = 0.0

    def write_now_and_then(self, store: Store) -> None:
        """Write it, if that takes a small part of the time since the last time."""
        if time.monotonic() >= self._next:
            self.write(store)

    def write(self, store: Store) -> None:
        """Write it."""
        started = time.monotonic()
        store.replace(RECORD, json_text(record(self._wanted, self._out)))
        ended = time.monotonic()
        self._next = ended + _SELDOM * (ended - started)


_SELDOM = 20
"""The seconds between two writings of ``sweep.json``, in seconds that one takes."""


def read_sweep(out: Path) -> dict[str, Any]:
    """The contents of a directory's ``sweep.json``; raises UsageError if it is no sweep, or damaged."""
    try:
        found = Store.open(out, "sweep").read_object(RECORD)
    except FileNotFoundError:
        raise UsageError(f"{out} is no directory of `coplay sweep`: it has no {RECORD}") from None
    with expected_shape(out / RECORD):
        for axis in found["axes"]:
            _ = str(axis["key"]), list(axis["values"])
        for cell in found["cells"]:
            _ = list(cell["values"]), str(cell["path"]), bool(cell["finished"])
        _ = str(found["recipe"]), dict(found["base"])
    return found


def record(wanted: Sweep, out: Path) -> dict[str, object]:
    """The contents of ``sweep.json``: the grid, and the results of each cell so far."""
    return {**_grid(wanted), "cells": [_cell_record(cell, out) for cell in wanted.cells()]}


def _grid(wanted: Sweep) -> dict[str, object]:
    return {
        "version": newest_version(RECORD),
        "recipe": wanted.base.recipe,
        "axes": [{"key": axis.key, "values": list(axis.values)} for axis in wanted.axes],
        "base": wanted.base.model_dump(mode="json"),
    }


def _cell_record(cell: Cell, out: Path) -> dict[str, object]:
    path = out / "cells" / cell.name
    about: dict[str, object] = {"values": list(cell.values), "path": f"cells/{cell.name}"}
    if not is_finished(path):
        diverged = diverged_in(RunDirectory.open(path).metrics()) if is_taken(path) else {}
        return {**about, "finished": False, **({"diverged": diverged} if diverged else {})}
    evaluation = RunDirectory.open(path).evaluation()
    seeds = evaluation["seeds"]
    about |= {"diverged": evaluation["diverged"]} if "diverged" in evaluation else {}
    rewards = {
        seat: {seed: one["seats"][seat]["per_round"] for seed, one in seeds.items()} for seat in cell.config.seats
    }
    seats = {seat: asdict(outcome) for seat, outcome in seat_outcomes(rewards).items()}
    return {**about, "finished": True, "seats": seats}


@dataclass(frozen=True)
class SeatOutcome:
    """The rewards of a seat in a cell."""

    mean: float | None
    """Mean over seeds of the reward per step; None if no seed has one."""
    ci95: float | None
    """Half-width of the mean's 95 % t-interval; None for a single seed."""
    n: int
    """Number of seeds with a reward."""
    ahead: float
    """Share of seeds in which the seat has the largest reward of all seats."""
    seeds: Mapping[str, float | None]
    """The reward of each seed; None for a seed without a single legal round."""


def seat_outcomes(rewards: Mapping[str, Mapping[str, float | None]]) -> dict[str, SeatOutcome]:
    """Sum up the rewards per step by seat and seed. A seed without a reward counts neither in the mean nor as ahead."""
    found = {}
    for seat, by_seed in rewards.items():
        known = [value for value in by_seed.values() if value is not None]
        interval = mean_ci95(known) if known else Interval(math.nan, None, 0)
        others = [theirs for name, theirs in rewards.items() if name != seat]
        ahead = [
            own is not None and all(other is not None and own > other for other in (theirs[seed] for theirs in others))
            for seed, own in by_seed.items()
        ]
        mean = interval.mean if known else None
        found[seat] = SeatOutcome(mean, interval.half_width, len(known), sum(ahead) / len(ahead), dict(by_seed))
    return found


def _claim_directory(wanted: Sweep, cells: Sequence[Cell], out: Path) -> None:
    """Make the directory, or find this very sweep in it; all that can be wrong with any cell is found before."""
    if is_taken(out):
        found, asked = read_sweep(out), _grid(wanted)
        if found.get("axes") != asked["axes"]:
            was = " ".join(f"{axis['key']}={json.dumps(axis['values'])}" for axis in found.get("axes", []))
            raise UsageError(f"{out} holds a sweep over something else ({was}); choose another --out")
        base = parse_config(found.get("base", {})).model_dump(mode="json")  # perhaps of an older version
        if base != asked["base"]:
            differing = _differing_keys(base, asked["base"])
            raise UsageError(f"{out} holds a sweep with other settings ({', '.join(differing)}); choose another --out")
        return
    from coplay.runs.factory import check_all

    check_all({cell.name: cell.config for cell in cells})
    with new_directory(out) as temporary:
        Store(temporary, "sweep").replace(RECORD, json_text(record(wanted, out)))


def _differing_keys(a: object, b: object, prefix: str = "") -> list[str]:
    """Dotted keys in which two nested mappings differ."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return [] if a == b else [prefix.removesuffix(".")]
    keys = dict.fromkeys([*a, *b])
    return [found for key in keys for found in _differing_keys(a.get(key), b.get(key), f"{prefix}{key}.")]


def _directory_name(number: int, changes: Mapping[str, object]) -> str:
    """``03-clip-0.2_gae_chain-trial``: the number keeps apart what looks alike once cut to the letters of file names."""
    words = [f"{key.rpartition('.')[2]}-{value}" for key, value in changes.items()]
    return f"{number:02d}-" + re.sub(r"[^\w.-]+", "-", "_".join(words))[:60].strip("-.")
