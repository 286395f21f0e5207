"""The page of a sweep: its map, its numbers cell by cell, and a page of each cell's run. Offline, and everything escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from coplay.files.writing import folder_of, refuse_outside, write_file
from coplay.models.known import EMBEDDED
from coplay.report.canvas import save
from coplay.report.data import Arm, load_run, model_of, role_of, seated
from coplay.report.heat_map import HeatMap, Number, heat_map_figure, heat_map_svg
from coplay.report.page import environment, styles, write_report
from coplay.report.sections import flatten
from coplay.report.values import Record, at, estimate, items, section
from coplay.runs.version_1 import is_version_1, translated


def write_sweep_page(out: Path, found: Record) -> Path:
    """Write ``report.html``, ``figures/map`` as PNG and PDF, and the page of every finished cell whose run is there.

    Args:
        out: the sweep's directory.
        found: its ``sweep.json``.

    Returns:
        The path of the page.
    """
    save(heat_map_figure(maps_of(found)), out, "map")
    write_file(out, "report.html", render(found, _write_cell_pages(out, found)))
    return out / "report.html"


def _write_cell_pages(out: Path, found: Record) -> dict[str, str]:
    """Write the page of every finished cell that has none newer than its evaluation; returns cells' paths with the links to their pages.

    Published sweeps have no cells' runs, and so no links.
    """
    links = {}
    for cell in items(found.get("cells")):
        place = str(at(cell, "path"))
        refuse_outside(out, place)
        run = out / place
        if not at(cell, "finished") or not (run / "eval.json").exists():
            continue
        page = folder_of(out, f"{place}/report.html") / "report.html"
        if not page.exists() or page.stat().st_mtime < (run / "eval.json").stat().st_mtime:
            settings = ", ".join(f"{key}={name}" for key, name in zip(_keys(found), _names(cell), strict=True))
            arm = Arm("run", settings, load_run(run))
            write_report(run, [arm], title=f"{found['recipe']}, {settings}", figures={})
        links[place] = f"{place}/report.html"
    return links


def render(found: Record, links: Mapping[str, str] | None = None) -> str:
    """The page's text; ``links`` leads from cells' paths to their pages."""
    keys, base = _keys(found), _base(found)
    settings = {key.removeprefix("learners."): value for key, value in flatten(base).items()}
    cells = [(section(cell), _names(cell)) for cell in items(found.get("cells"))]
    model = model_of(base)
    context = {
        "title": f"{found['recipe']} over {' and '.join(keys)}",
        "styles": Markup(styles()),
        "map": Markup(heat_map_svg(maps_of(found), prefix="map")),
        "keys": keys,
        "seats": list(seated(base)),
        "cells": [{**cell, "names": names, "link": (links or {}).get(str(cell["path"]))} for cell, names in cells],
        "seeds": len(items(base.get("seeds"))),
        "trials": None if "trials" in keys else base.get("trials"),
        "model": model,
        "stand_in": model in EMBEDDED,
        "settings": {key: value for key, value in settings.items() if key not in keys},
    }
    return environment().get_template("sweep.html.j2").render(context)


def maps_of(found: Record) -> list[HeatMap]:
    """One map a seat: reward per step, the first axis down and the second across; one axis alone lies across."""
    axes = [(str(at(axis, "key")), _words(at(axis, "values"))) for axis in items(found.get("axes"))]
    down, across = axes if len(axes) > 1 else (("", ("",)), axes[0])
    base, columns = _base(found), len(across[1])
    maps = []
    for seat in seated(base):
        numbers = [_number(cell, seat) for cell in items(found.get("cells"))]
        rows = tuple(tuple(numbers[i : i + columns]) for i in range(0, len(numbers), columns))
        maps.append(HeatMap(f"{seat} ({role_of(base, seat)}): reward per step", down, across, rows))
    return maps


def _base(found: Record) -> Record:
    """What all cells have in common, in the form of today's configs."""
    base = section(found, "base")
    return translated(base) if is_version_1(base) else base


def _keys(found: Record) -> list[str]:
    return [str(at(axis, "key")) for axis in items(found.get("axes"))]


def _names(cell: object) -> tuple[str, ...]:
    return _words(at(cell, "values"))


def _words(values: object) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in items(values))


def _number(cell: object, seat: str) -> Number | None:
    mean = estimate(at(cell, "seats", seat))
    return None if mean is None else (mean, estimate(at(cell, "seats", seat, "ci95")))
