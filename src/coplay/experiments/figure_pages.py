"""A paper's figures from finished runs: which can be drawn, and the page of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import all_figures, arm_of, experiments_of, setting_of
from coplay.experiments.pages import FigurePage, load_arm
from coplay.experiments.request import Request, arm_directory
from coplay.files.store import Store
from coplay.recipes.experiments import FigureSpec, table_rows
from coplay.runs.directory import RunDirectory, is_finished

if TYPE_CHECKING:
    from coplay.report.data import Arm as ReportArm


def drawable(request: Request, asked: Sequence[FigureSpec], out: Path) -> list[FigureSpec]:
    """The figures, asked for or not, whose runs a directory holds, finished; those asked for may show one game alone."""
    by_id = {figure.id: figure for figure in [*all_figures(), *asked]}
    return [figure for figure in by_id.values() if _is_finished(request, figure, out)]


def _is_finished(request: Request, figure: FigureSpec, out: Path) -> bool:
    from coplay.experiments.initial_policies import POLICIES

    if "labels" in figure.shows:
        return Store.open(out, "experiment").has(POLICIES)
    return all(
        is_finished(arm_directory(request, out, arm_of(panel)), [setting.file] if setting is not None else [])
        for panel in figure.panels
        for setting in [setting_of(panel, request.scale)]
    )


def write_figure_page(request: Request, figure: FigureSpec, out: Path, page: Path) -> FigurePage:
    """Draw a finished figure as PNG and PDF and write ``report.html`` and ``figures/`` into ``page``; ``out`` has the runs."""
    image = page / "figures" / f"{figure.name}.png"
    if "labels" in figure.shows:
        from coplay.experiments.initial_policies import first_policies, write_first_policies_page

        return FigurePage(figure, write_first_policies_page(page, figure, first_policies(out)), image)
    if "gain" in figure.shows:
        from coplay.experiments.gain_page import write_gain_page

        return FigurePage(figure, write_gain_page(request, figure, out, page), image)
    from coplay.experiments.mediation_figures import KINDS
    from coplay.report.page import write_report
    from coplay.report.training_plot import grid_figure

    if set(KINDS) & {*figure.shows}:
        return FigurePage(figure, _mediation_page(request, figure, out, page), image)
    arms = [load_arm(panel.title, panel.title, arm_directory(request, out, arm_of(panel))) for panel in figure.panels]
    rows = [arms[i : i + figure.columns] for i in range(0, len(arms), figure.columns)]
    report = write_report(
        page,
        arms,
        title=figure.title,
        table=_table(figure, arms),
        lead=figure.caption,
        figures={figure.name: grid_figure(rows, shows=figure.shows)},
    )
    return FigurePage(figure, report, image)


def _mediation_page(request: Request, figure: FigureSpec, out: Path, page: Path) -> Path:
    """The page of a figure of mediators: the figure alone, the numbers of which are in the tables of its experiments."""
    from coplay.experiments.mediation_figures import mediation_figure
    from coplay.experiments.who import players_named
    from coplay.report.canvas import save
    from coplay.report.figure_page import write_figure

    runs = {panel.arm: arm_of(panel) for panel in figure.panels}
    loaded = {name: load_arm(name, arm.label, arm_directory(request, out, arm)) for name, arm in runs.items()}
    drawn = mediation_figure(figure, [loaded[panel.arm] for panel in figure.panels], request.scale)
    save(drawn, page, figure.name)
    (experiment,) = experiments_of(figure.panels[0].experiment, figure.panels[0].game)
    players = players_named(request, experiment)
    return write_figure(page, drawn, title=figure.title, caption=figure.caption, players=players)


def _table(figure: FigureSpec, arms: Sequence[ReportArm]) -> list[dict[str, object]]:
    """The rows of the tables that are about the figure's runs."""
    rows = []
    for panel, arm in zip(figure.panels, arms, strict=True):
        (experiment,) = experiments_of(panel.experiment, panel.game)
        results = Results({panel.arm: RunDirectory.open(arm.run.path).evaluation()})
        found = table_rows(experiment, results, only=panel.arm)
        rows += [{**asdict(row), "arm": arm.name} for row in found]
    return rows
