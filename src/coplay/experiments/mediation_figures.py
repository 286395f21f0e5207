"""Figures of a mediator's training from finished runs: its actions, rows of tables by checkpoint, and rows against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import experiments_of, setting_of
from coplay.games.mediator_seat import MEDIATOR
from coplay.recipes.experiments import FigureSpec, Panel
from coplay.recipes.kinds import Scale
from coplay.report.areas_plot import Areas, areas_figure, mediation_areas
from coplay.report.checkpoint_plot import Checkpoint, CheckpointPanel, checkpoint_figure
from coplay.report.frontier_plot import Point, frontier_figure
from coplay.report.heat_map import HeatMap, Number, heat_map_figure
from coplay.runs.directory import RunDirectory
from coplay.statistics import Interval, mean_ci95

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coplay.report.data import Arm as ReportArm

PanelT = TypeVar("PanelT")

KINDS = ("actions", "checkpoints", "frontier", "map")
"""What this module draws, as :attr:`coplay.recipes.experiments.FigureSpec.shows` has it."""


@dataclass(frozen=True)
class _Shown:
    """A panel with its run."""

    panel: Panel
    arm: ReportArm
    scale: Scale

    @property
    def updates(self) -> int:
        """How long it was trained."""
        trials = self.arm.run.config.get("trials")
        return trials if isinstance(trials, int) else 0

    @property
    def label(self) -> str:
        """What its arm is called where it stands for itself."""
        return self.panel.arm

    def values(self, role: str) -> list[float]:
        """A row of its table, one number a seed that has one."""
        panel, setting = self.panel, setting_of(self.panel, self.scale)
        (experiment,) = experiments_of(panel.experiment, panel.game)
        row = next(
            one
            for one in experiment.table
            if (one.arm, one.role, one.setting) == (panel.arm, role, panel.setting) and one.measure is not None
        )
        name = panel.arm if setting is None else f"{panel.arm}@{setting.name}"
        found = RunDirectory.open(self.arm.run.path).evaluation("eval.json" if setting is None else setting.file)
        assert row.measure is not None
        return row.measure(Results({name: found}))

    def interval(self, role: str) -> Interval:
        """Its mean over seeds."""
        return _interval(self.values(role))


def _interval(values: Sequence[float]) -> Interval:
    """The mean over the seeds that have a number."""
    return mean_ci95([value for value in values if math.isfinite(value)])


def mediation_figure(figure: FigureSpec, arms: Sequence[ReportArm], scale: Scale) -> Figure:
    """Draw a figure whose runs are finished.

    Args:
        figure: one of :data:`KINDS`.
        arms: the run of each of its panels.
        scale: of the runs.
    """
    shown = [_Shown(panel, arm, scale) for panel, arm in zip(figure.panels, arms, strict=True)]
    if "actions" in figure.shows:
        return _actions(figure, shown)
    if "checkpoints" in figure.shows:
        return _checkpoints(figure, shown)
    return _frontier(figure, shown) if "frontier" in figure.shows else heat_map_figure([_map(figure, shown)])


def _actions(figure: FigureSpec, shown: Sequence[_Shown]) -> Figure:
    areas = []
    for one in shown:
        found = mediation_areas(one.arm.run, one.panel.title) or Areas(one.panel.title, [0.0], {"none": [1.0]})
        reached = figure.marked is not None and found.steps[-1] > figure.marked
        areas.append(Areas(found.title, found.steps, found.shares, figure.marked if reached else None))
    return areas_figure(_in_rows(areas, figure.columns))


def _in_rows(items: Sequence[PanelT], columns: int) -> list[Sequence[PanelT]]:
    return [items[i : i + columns] for i in range(0, len(items), columns)]


def _checkpoints(figure: FigureSpec, shown: Sequence[_Shown]) -> Figure:
    panels = []
    for title in _titles(shown):
        own = [one for one in shown if one.panel.title == title]
        families: dict[str, list[Checkpoint]] = {}
        references: dict[str, float] = {}
        for one in own:
            interval = one.interval(figure.row)
            if one.panel.family:
                mark = Checkpoint(one.updates, interval.mean, interval.half_width)
                families.setdefault(one.panel.family, []).append(mark)
            else:
                references[one.label] = interval.mean
        training = _rewards(own) if "training" in figure.shows else {}
        panels.append(CheckpointPanel(title, families, references, training))
    rows = _in_rows(panels, figure.columns)
    return checkpoint_figure(rows, of=figure.row, reward="the mediator's reward a round")


def _rewards(own: Sequence[_Shown]) -> dict[str, list[tuple[float, float]]]:
    """The mediator's reward over training, of the longest training of each family."""
    longest: dict[str, _Shown] = {}
    for one in own:
        family = one.panel.family
        if family and (family not in longest or one.updates > longest[family].updates):
            longest[family] = one
    found = {}
    for family, one in longest.items():
        series = one.arm.run.series(f"reward/{MEDIATOR}")
        if not series.empty:
            found[family] = list(zip(series.steps.tolist(), series.band().mean.tolist(), strict=True))
    return found


def _frontier(figure: FigureSpec, shown: Sequence[_Shown]) -> Figure:
    families: dict[str, list[Point]] = {}
    fixed: dict[str, Point] = {}
    for arm in dict.fromkeys(one.panel.arm for one in shown):
        own = [one for one in shown if one.panel.arm == arm]
        x, y = (_interval(_averaged([one.values(row) for one in own])) for row in (figure.across, figure.row))
        point = Point(x.mean, y.mean, x.half_width, y.half_width)
        if own[0].panel.family:
            families.setdefault(own[0].panel.family, []).append(point)
        else:
            fixed[own[0].label] = point
    return frontier_figure(
        families,
        fixed,
        x_label=figure.across,
        y_label=figure.row,
        reference=figure.reference or None,
        x_line=None if figure.marked is None else (figure.mark, figure.marked),
    )


def _averaged(settings: Sequence[Sequence[float]]) -> list[float]:
    """Seed by seed, the mean over settings."""
    return [sum(values) / len(values) for values in zip(*settings, strict=True)]


def _map(figure: FigureSpec, shown: Sequence[_Shown]) -> HeatMap:
    """Settings down, families and their checkpoints across."""
    cells: dict[tuple[str, str], Number] = {}
    for one in shown:
        interval = one.interval(figure.row)
        cells[one.panel.title, f"{one.panel.family} {one.updates}"] = (interval.mean, interval.half_width)
    down, across = (tuple(dict.fromkeys(place[axis] for place in cells)) for axis in (0, 1))
    lines = tuple(tuple(cells.get((line, column)) for column in across) for line in down)
    return HeatMap(figure.row, ("evaluated", down), ("mediator", across), lines)


def _titles(shown: Sequence[_Shown]) -> list[str]:
    return list(dict.fromkeys(one.panel.title for one in shown))
