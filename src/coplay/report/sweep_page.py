"""The page of a sweep: its map, its numbers cell by cell, and a page of each cell's run. Offline, and everything escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from coplay.report.canvas import save
from coplay.report.data import Arm, is_number, load_run, role_of
from coplay.report.heat_map import HeatMap, heat_map_figure, heat_map_svg
from coplay.report.page import environment, styles, write_report
from coplay.report.sections import flatten
from coplay.runs.version_1 import is_version_1, translated

Record = Mapping[str, Any]


def write_sweep_page(out: Path, found: Record) -> Path:
    """Write ``report.html``, ``figures/map`` as PNG and PDF, and the page of every finished cell whose run is there.

    Args:
        out: the sweep's directory.
        found: its ``sweep.json``.

    Returns:
        The path of the page.
    """
    maps = maps_of(found)
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    save(heat_map_figure(maps), folder, "map")
    links = write_cell_pages(out, found)
    path = out / "report.html"
    path.write_bytes(render(found, links).encode("utf-8", "replace"))
    return path


def write_cell_pages(out: Path, found: Record) -> dict[str, str]:
    """Write the page of every finished cell that has none newer than its evaluation; returns cells' paths with the links to their pages.

    Published sweeps have no cells' runs, and so no links.
    """
    links = {}
    for cell in found["cells"]:
        run = out / cell["path"]
        if not cell["finished"] or not (run / "eval.json").exists():
            continue
        page = run / "report.html"
        if not page.exists() or page.stat().st_mtime < (run / "eval.json").stat().st_mtime:
            settings = ", ".join(f"{key}={value}" for key, value in zip(_keys(found), _names(cell), strict=True))
            write_report(run, [Arm("run", settings, load_run(run))], title=f"{found['recipe']}, {settings}", figures={})
        links[str(cell["path"])] = f"{cell['path']}/report.html"
    return links


def render(found: Record, links: Mapping[str, str] | None = None) -> str:
    """The page's text; ``links`` leads from cells' paths to their pages."""
    maps, keys, base = maps_of(found), _keys(found), base_of(found)
    settings = {key.removeprefix("learners."): value for key, value in flatten(base).items()}
    context = {
        "title": f"{found['recipe']} over {' and '.join(keys)}",
        "styles": Markup(styles()),
        "map": Markup(heat_map_svg(maps, prefix="map")),
        "keys": keys,
        "seats": seats_of(found),
        "cells": [
            {**cell, "names": _names(cell), "link": (links or {}).get(str(cell["path"]))} for cell in found["cells"]
        ],
        "seeds": len(base["seeds"]),
        "trials": None if "trials" in keys else base.get("trials"),
        "model": _model(base),
        "settings": {key: value for key, value in settings.items() if key not in keys},
    }
    return environment().get_template("sweep.html.j2").render(context)


def maps_of(found: Record) -> list[HeatMap]:
    """One map a seat: reward per step, the first axis down and the second across; one axis alone lies across."""
    *above, across = found["axes"]
    down: Record = above[0] if above else {"key": "", "values": [""]}
    columns = tuple(_word(value) for value in across["values"])
    lines = tuple(_word(value) for value in down["values"])
    maps = []
    for seat in seats_of(found):
        numbers = [_number(cell, seat) for cell in found["cells"]]
        rows = tuple(tuple(numbers[i : i + len(columns)]) for i in range(0, len(numbers), len(columns)))
        title = f"{seat} ({role_of(base_of(found), seat)}): reward per step"
        maps.append(HeatMap(title, (down["key"], lines), (across["key"], columns), rows))
    return maps


def base_of(found: Record) -> dict[str, Any]:
    """What all cells have in common, in the form of today's configs."""
    base = dict(found["base"])
    return translated(base) if is_version_1(base) else base


def seats_of(found: Record) -> list[str]:
    """The seats, in the config's order."""
    return list(base_of(found).get("seats", {}))


def _keys(found: Record) -> list[str]:
    return [str(axis["key"]) for axis in found["axes"]]


def _names(cell: Record) -> list[str]:
    return [_word(value) for value in cell["values"]]


def _number(cell: Record, seat: str) -> tuple[float, float | None] | None:
    if not cell["finished"] or not is_number(mean := cell["seats"][seat]["mean"]):
        return None
    return mean, cell["seats"][seat]["ci95"]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _model(base: Record) -> str:
    kinds = {learner.get("policy") for learner in base["learners"].values()}
    return "tabular" if kinds == {"tabular"} else str(base["model"])
