"""The report: one HTML file that opens offline and refers to nothing outside itself.

Everything that came from a model, a config or a file is escaped; the page's content security policy admits no other script than
the one written here, by its hash, and no request to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from coplay.errors import UsageError
from coplay.files.writing import write_file
from coplay.models.known import EMBEDDED
from coplay.report import sections
from coplay.report.areas_plot import mediation_svg
from coplay.report.canvas import save
from coplay.report.data import Arm
from coplay.report.ending import conducts
from coplay.report.evaluation_plot import Published, evaluation_figure, evaluation_svg
from coplay.report.formats import decided, figure, percent, short
from coplay.report.heat_map import HeatMap, heat_map_figure, heat_map_svg
from coplay.report.palette import variables
from coplay.report.replay import embed, replay_data, strips
from coplay.report.safety import safety_sections
from coplay.report.safety_plot import held_out_svgs
from coplay.report.training_plot import MIN_SEEDS, reward_svg, state_svg, training_figure
from coplay.report.values import Record, is_number
from coplay.report.verdict import paper_model, verdict_parts
from coplay.statistics import decimals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATES = Path(__file__).parent / "templates"


def write_report(
    out_dir: Path,
    arms: Sequence[Arm],
    *,
    title: str,
    claims: Sequence[Record] | None = None,
    table: Sequence[Record] | None = None,
    lead: str | None = None,
    figures: Mapping[str, Figure] | None = None,
    maps: Sequence[HeatMap] = (),
    watched: Sequence[Arm] = (),
    models: Sequence[str] = (),
    players: str | None = None,
) -> Path:
    """Write ``report.html`` and ``figures/`` into a directory.

    Args:
        out_dir: where to write; for a single run, its run directory.
        arms: the runs, in the order of the page.
        title: the page's title.
        claims: as in ``claims.json``, if this reproduces a paper.
        table: rows with ``arm, seat, role, published, published_ci95, measured, ci95, n_seeds``, if there is a published table.
        lead: the first sentence; None for the summary of the results.
        figures: what to save, by name, perhaps nothing; None for the training and the evaluation figure.
        maps: results of pairs, if the arms form a grid.
        watched: arms of which only the games are shown, after those of the others.
        models: the models that the published numbers are of, one or two; empty for that of the recipe's paper.
        players: who plays, where no language model learns; None to name the model that does.

    Returns:
        The path of the page.

    Raises:
        UsageError: if there is no arm.
    """
    if not arms:
        raise UsageError("a report needs at least one run directory: coplay report DIR")
    save_figures(out_dir, arms, sections.published_values(table), figures)
    if maps:
        save(heat_map_figure(maps), out_dir, "map")
    saved = bool(maps) or figures is None or bool(figures)
    page = render(
        arms,
        title=title,
        claims=claims,
        table=table,
        lead=lead,
        maps=maps,
        watched=watched,
        models=models,
        saved=saved,
        players=players,
    )
    write_file(out_dir, "report.html", page)
    return out_dir / "report.html"


def save_figures(
    out_dir: Path,
    arms: Sequence[Arm],
    published: Published | None = None,
    figures: Mapping[str, Figure] | None = None,
) -> list[Path]:
    """Write ``figures/training`` and ``figures/evaluation``, or the figures given, as PNG and PDF; return the paths."""
    if figures is None:
        figures = {"training": training_figure(arms), "evaluation": evaluation_figure(arms, published)}
    return [path for name, figure in figures.items() for path in save(figure, out_dir, name)]


def render(
    arms: Sequence[Arm],
    *,
    title: str,
    claims: Sequence[Record] | None = None,
    table: Sequence[Record] | None = None,
    lead: str | None = None,
    maps: Sequence[HeatMap] = (),
    watched: Sequence[Arm] = (),
    models: Sequence[str] = (),
    saved: bool = True,
    players: str | None = None,
) -> str:
    """The page's text; arguments as for :func:`write_report`, and whether figures are saved beside it."""
    script = (TEMPLATES / "replay.js").read_text(encoding="utf-8")
    told, rest = verdict_parts(arms, claims, table)
    replay = replay_data([*arms, *watched])
    safety = safety_sections(arms)
    curves = [(arm.label, held_out_svgs(arm, prefix=f"h{i}-")) for i, arm in enumerate(arms)]
    held_out = [(label, [Markup(svg) for svg in svgs]) for label, svgs in curves if svgs]
    acts = [(arm.label, mediation_svg(arm, prefix=f"m{i}")) for i, arm in enumerate(arms)]
    context = {
        "title": title,
        "lead": lead or told,
        "rest": rest,
        "facts": sections.facts(arms, players),
        "stand_in": None if players else next((arm.run.model for arm in arms if arm.run.model in EMBEDDED), None),
        "paper_models": list(models) or [paper_model(arms[-1].run) or ""],
        "panels": [
            (arm.label, Markup(reward_svg(arm, arms, prefix=f"r{i}")), Markup(state_svg(arm, arms, prefix=f"s{i}")))
            for i, arm in enumerate(arms)
            if arm.run.config.get("trials") != 0 or len(arms) == 1
        ],
        "mediation": [(label, Markup(svg)) for label, svg in acts if svg],
        "evaluation": Markup(evaluation_svg(arms, sections.published_values(table), prefix="ev")),
        "bands": any(len(arm.run.seeds) >= MIN_SEEDS for arm in arms),
        "conduct": any("greedy" in conducts(arm.run) for arm in arms),
        "endings": sections.endings(arms),
        "rows": sections.table_rows(arms, table),
        "safety": safety,
        "held_out": held_out,
        "best_response": any("held_out/best_response" in arm.run.metric_names() for arm in arms),
        "has_published": any(is_number(row.get("published")) for row in table or ()),
        "measures": any(not row.get("seat") for row in table or ()),
        "map": Markup(heat_map_svg(maps, prefix="map")) if maps else None,
        "claims": claims or (),
        "labels": [arm.label for arm in arms],
        "differences": sections.differences(arms),
        "configs": sections.configs(arms),
        "environments": sections.environments(arms),
        "diagnostics": sections.diagnostics(arms),
        "notes": sections.notes(arms),
        "strips": strips(replay),
        "has_games": any(arm["games"] for arm in replay["arms"]),
        "state_classes": sections.state_classes(arms),
        "replay": Markup(embed(replay)),
        "saved": saved,
        "styles": Markup(styles()),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    return environment().get_template("report.html.j2").render(context)


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """Templates of a folder and those of reports, with everything escaped that they are given."""
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "decided": decided,
        "figure": figure,
        "decimals": decimals,
        "percent": percent,
        "short": short,
    }
    return environment


def styles() -> str:
    """The style sheet, with the palette's variables for light, dark and print before it."""
    light = "".join(f"{name}:{shade.light};" for name, shade in variables().items())
    dark = "".join(f"{name}:{shade.dark};" for name, shade in variables().items())
    sheet = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{sheet}"
