"""The page of a sweep: its map, its numbers cell by cell, and where each cell's run is. Offline, and everything escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from coplay.report.canvas import save
from coplay.report.heat_map import HeatMap, heat_map_figure, heat_map_svg
from coplay.report.page import environment, styles
from coplay.report.sections import flatten
from coplay.runs.version_1 import is_version_1, translated

Record = Mapping[str, Any]


def write_sweep_page(out: Path, found: Record) -> Path:
    """Write ``report.html`` and ``figures/map`` as PNG and PDF.

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
    path = out / "report.html"
    path.write_bytes(render(found).encode("utf-8", "replace"))
    return path


def render(found: Record) -> str:
    """The page's text."""
    maps = maps_of(found)
    keys = [axis["key"] for axis in found["axes"]]
    context = {
        "title": f"{found['recipe']} over {' and '.join(keys)}",
        "styles": Markup(styles()),
        "map": Markup(heat_map_svg(maps, prefix="map")),
        "keys": keys,
        "seats": seats_of(found),
        "cells": [{**cell, "names": [_word(value) for value in cell["values"]]} for cell in found["cells"]],
        "seeds": len(found["base"]["seeds"]),
        "model": _model(found["base"]),
        "settings": {key: value for key, value in flatten(found["base"]).items() if key not in keys},
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
        role = found["base"][seat]["role"]
        title = f"{seat} ({role}): reward per step"
        maps.append(HeatMap(title, (down["key"], lines), (across["key"], columns), rows))
    return maps


def seats_of(found: Record) -> list[str]:
    """The seats, in the config's order."""
    base = translated(found["base"]) if is_version_1(found["base"]) else found["base"]
    return list(base.get("seats", {}))


def _number(cell: Record, seat: str) -> tuple[float, float | None] | None:
    about = cell["seats"][seat] if cell["finished"] else {"mean": None}
    return None if about["mean"] is None else (about["mean"], about["ci95"])


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _model(base: Record) -> str:
    kinds = {base[seat]["learner"] for seat in ("row", "column") if base[seat]["player"] == "learner"}
    return "tabular" if kinds == {"tabular"} else str(base["model"])
