"""What a learner with few choices does over training: stacked areas of the shares of its actions (Learning to Mediate, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from coplay.report.canvas import BOTTOM, WIDTH, add_axes, legend_above, new_figure, plain, style
from coplay.report.data import Arm, RunData
from coplay.report.palette import ILLEGAL_STATE, INK, MUTED, RULE, SEATS, STATES
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _LEGEND, _TITLE = 130, 24, 22
"""Height of the axes, of the legend and of a panel's title, in pixels."""

_ALPHA = 0.8
"""Areas let the grid show through."""

_NAMED = {"none": RULE, "mild": STATES[0], "strong": SEATS[1], "unreadable": ILLEGAL_STATE}
"""Colours of actions that have one of their own: silence recedes, a warning stands out."""

_OTHERS = (STATES[0], SEATS[0], STATES[1], STATES[2], STATES[5], STATES[7])
"""Of all other actions, in order."""

METRIC = "notice/"
"""What the metrics of a mediator's actions begin with."""


@dataclass(frozen=True)
class Areas:
    """One panel: the shares of a few actions over training, which add up to 1."""

    title: str
    """What is shown above it; empty for nothing."""
    steps: Sequence[float]
    """N trials, ascending."""
    shares: Mapping[str, Sequence[float]]
    """The share of each action at each of them, from the lowest area up; NaN where nothing is known."""
    marked: float | None = None
    """A trial to mark by a dashed line, such as the one whose checkpoint is evaluated."""


def areas_figure(panels: Sequence[Sequence[Areas]]) -> Figure:
    """Panels in a grid, row by row; the legend names the actions of all."""
    names = list(dict.fromkeys(name for row in panels for one in row for name in one.shares))
    high = _TITLE + _HIGH + BOTTOM
    with style():
        figure = new_figure(WIDTH * max(map(len, panels)), _LEGEND + high * len(panels))
        for r, row in enumerate(panels):
            for c, one in enumerate(row):
                axes = add_axes(figure, high, _TITLE, x=WIDTH * c, y=_LEGEND + high * r)
                _panel(axes, one, names)
                axes.set_title(plain(one.title), loc="left", fontsize=11, color=INK.light, parse_math=False)
                if r == c == 0:
                    _legend(axes, names, above=1.0 + _TITLE / _HIGH)
        return figure


def mediation_areas(run: RunData, title: str = "") -> Areas | None:
    """What the mediator of a run did over training, as the mean over seeds; None of a run without one, or before its first trial."""
    metrics = [name for name in run.metric_names() if name.startswith(METRIC)]
    series = {name.removeprefix(METRIC): run.series(name) for name in metrics}
    series = {name: one for name, one in series.items() if not one.empty}
    if not series:
        return None
    steps = next(iter(series.values())).steps
    shares = {name: np.nan_to_num(one.band().mean).tolist() for name, one in series.items()}
    return Areas(title, steps.tolist(), shares)


def mediation_svg(arm: Arm, *, prefix: str) -> str | None:
    """The mediator's actions over training, as markup to be set in the page; None where there is no mediator."""
    found = mediation_areas(arm.run)
    if found is None:
        return None
    high = _LEGEND + _HIGH + BOTTOM
    with style():
        figure = new_figure(WIDTH, high)
        axes = add_axes(figure, high, _LEGEND)
        _panel(axes, found, list(found.shares))
        _legend(axes, list(found.shares), above=1.0)
        return inline(figure, prefix=prefix, label=f"What the mediator did over trials, {arm.label}")


def _panel(axes: Axes, shown: Areas, names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    steps = np.asarray(shown.steps, dtype=float)
    heights = np.cumsum([np.asarray(values, dtype=float) for values in shown.shares.values()], axis=0)
    below: npt.NDArray[np.float64] = np.zeros(len(steps))
    if len(steps) == 1:  # one trial is drawn as wide as two
        steps, heights, below = np.array([steps[0], steps[0] + 1]), np.repeat(heights, 2, axis=1), np.zeros(2)
    for name, top in zip(shown.shares, heights, strict=True):
        axes.fill_between(steps, below, top, color=_colour(name, names), alpha=_ALPHA, linewidth=0, zorder=2)
        below = top
    if shown.marked is not None:
        axes.axvline(shown.marked, color=INK.light, linewidth=1, linestyle=(0, (3.2, 1.6)), zorder=4)
    axes.set_xlim(float(steps[0]), float(steps[-1]))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_ylabel("rounds")
    axes.yaxis.set_label_coords(-0.125, 0.5)
    axes.set_xlabel("trial")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))


def _colour(name: str, names: Sequence[str]) -> str:
    if name in _NAMED:
        return (MUTED if name == "none" and len(names) == 1 else _NAMED[name]).light
    others = [one for one in names if one not in _NAMED]
    return _OTHERS[others.index(name) % len(_OTHERS)].light


def _legend(axes: Axes, names: Sequence[str], *, above: float) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=_colour(name, names), alpha=_ALPHA, linewidth=0) for name in names]
    legend_above(axes, handles, [name.replace("_", " ") for name in names], columns=min(len(names), 4))
    legend = axes.get_legend()
    assert legend is not None
    legend.set_bbox_to_anchor((-0.01, above), transform=axes.transAxes)
