"""A paper's figures from finished runs: which can be drawn, and the page of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.experiments.catalogue import all_figures, arm_of, experiments_of
from coplay.experiments.pages import FigurePage
from coplay.experiments.request import Request, arm_directory
from coplay.recipes import recipe_trials
from coplay.recipes.experiments import FigureSpec, table_rows
from coplay.runs.directory import read_evaluation

if TYPE_CHECKING:
    from coplay.report.data import Arm as ReportArm


def drawable(request: Request, asked: Sequence[FigureSpec], out: Path) -> list[FigureSpec]:
    """The figures, asked for or not, whose runs a directory holds, finished; those asked for may show one game alone."""
    by_id = {figure.id: figure for figure in [*all_figures(), *asked]}
    return [figure for figure in by_id.values() if _is_finished(request, figure, out)]


def _is_finished(request: Request, figure: FigureSpec, out: Path) -> bool:
    from coplay.experiments.initial_policies import policies_file

    if "labels" in figure.shows:
        return policies_file(out).exists()
    return all((arm_directory(request, out, arm_of(panel)) / "eval.json").exists() for panel in figure.panels)


def write_figure_page(request: Request, figure: FigureSpec, out: Path, page: Path) -> FigurePage:
    """Draw a finished figure as PNG and PDF and write ``report.html`` and ``figures/`` into ``page``; ``out`` has the runs."""
    image = page / "figures" / f"{figure.name}.png"
    if "labels" in figure.shows:
        from coplay.experiments.initial_policies import first_policies, write_first_policies_page

        return FigurePage(figure, write_first_policies_page(page, figure, first_policies(out)), image)
    from coplay.report.page import write_report
    from coplay.report.training_plot import grid_figure

    arms = _arms(request, figure, out)
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


def _arms(request: Request, figure: FigureSpec, out: Path) -> list[ReportArm]:
    from coplay.report.data import Arm as ReportArm
    from coplay.report.data import load_run

    runs = [load_run(arm_directory(request, out, arm_of(panel))) for panel in figure.panels]
    return [
        ReportArm(panel.title, panel.title, run, recipe_trials(run.config))
        for panel, run in zip(figure.panels, runs, strict=True)
    ]


def _table(figure: FigureSpec, arms: Sequence[ReportArm]) -> list[dict[str, object]]:
    """The rows of the tables that are about the figure's runs."""
    rows = []
    for panel, arm in zip(figure.panels, arms, strict=True):
        (experiment,) = experiments_of(panel.experiment, panel.game)
        found = table_rows(experiment, {panel.arm: read_evaluation(arm.run.path / "eval.json")}, only=panel.arm)
        rows += [{**asdict(row), "arm": arm.name} for row in found]
    return rows
