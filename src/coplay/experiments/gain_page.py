"""The page of a figure of gains: what a number of its second panel's arm is above that of the first, game by game."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import arm_of, experiments_of
from coplay.experiments.request import Request, arm_directory
from coplay.files.writing import write_file
from coplay.models.known import EMBEDDED
from coplay.recipes.experiments import FigureSpec, Panel, Published
from coplay.report.canvas import save, style
from coplay.report.gain_plot import Gain, gain_figure
from coplay.report.page import environment, styles
from coplay.report.svg import inline
from coplay.runs.directory import RunDirectory


def write_gain_page(request: Request, figure: FigureSpec, runs: Path, page: Path) -> Path:
    """Write ``report.html`` and the figure as PNG and PDF into ``page``; ``runs`` has the runs. Returns the path of the page."""
    pairs = list(zip(figure.panels[::2], figure.panels[1::2], strict=True))
    gains = [gain_of(request, before, after, figure.row, runs) for before, after in pairs]
    drawn = gain_figure(gains, of=f"difference in {figure.row.rstrip(' ↑↓').lower()}")
    save(drawn, page, figure.name)
    with style():
        svg = inline(drawn, prefix="g", label=figure.caption)
    model = request.config(arm_of(figure.panels[0])).model
    context = {
        "title": figure.title,
        "caption": figure.caption,
        "styles": Markup(styles()),
        "figure": Markup(svg),
        "stand_in": model if model in EMBEDDED else None,
        "models": list(dict.fromkeys(name for gain in gains for name in gain.published)),
        "gains": gains,
    }
    write_file(page, "report.html", environment().get_template("gains.html.j2").render(context))
    return page / "report.html"


def gain_of(request: Request, before: Panel, after: Panel, row: str, runs: Path) -> Gain:
    """One bar: a row of a table, of two of its arms on the same seeds."""
    (experiment,) = experiments_of(after.experiment, after.game)
    first, second = (_row(experiment.table, panel.arm, row) for panel in (before, after))
    measured = []
    for panel, published in ((before, first), (after, second)):
        run = RunDirectory.open(arm_directory(request, runs, arm_of(panel)))
        safety = run.safety()
        results = Results({panel.arm: run.evaluation()}, safety={} if safety is None else {panel.arm: safety})
        assert published.measure is not None
        measured.append(published.measure(results))
    values = [b - a for a, b in zip(*measured, strict=True)]
    pairs = zip(experiment.models, ((first.value, second.value), (first.second, second.second)), strict=False)
    known = {model: b - a for model, (a, b) in pairs if a is not None and b is not None}
    return Gain(after.title, tuple(values), known)


def _row(table: tuple[Published, ...], arm: str, role: str) -> Published:
    return next(row for row in table if row.arm == arm and row.role == role)
