"""Gains as bars: what each game's learner has more than before, beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coplay.report.canvas import BOTTOM, add_axes, legend_above, new_figure, plain, style
from coplay.report.palette import INK, MUTED, RULE, seat_colour
from coplay.statistics import Interval, mean_ci95

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _ROW = 400, 52
"""Width of the figure and height of a bar's row, in pixels."""

_MARKERS = "Ds"
"""Of the first and the second published model."""


@dataclass(frozen=True)
class Gain:
    """One bar."""

    label: str
    """What is shown."""
    values: tuple[float, ...]
    """A gain a seed."""
    published: Mapping[str, float]
    """The published gain by model."""

    @property
    def interval(self) -> Interval:
        """The mean over seeds and its 95 % interval."""
        return mean_ci95(self.values)


def gain_figure(gains: Sequence[Gain], *, of: str) -> Figure:
    """A bar a gain with its interval, a dot a seed, and a mark for each published model.

    Args:
        gains: the bars, from the top.
        of: what is gained, for the axis.
    """
    models = list(dict.fromkeys(model for gain in gains for model in gain.published))
    with style():
        height = 44 + _ROW * len(gains) + BOTTOM
        figure = new_figure(_WIDTH, height)
        axes = add_axes(figure, height, 44, left=12, right=12)
        for y, gain in enumerate(gains):
            _bar(axes, y, gain, models)
        axes.set_ylim(len(gains) - 0.4, -0.75)
        axes.set_yticks([])
        axes.use_sticky_edges = False  # a mark near 0 is drawn whole
        axes.margins(x=0.06)
        axes.grid(visible=False)
        axes.set_xlabel(of, parse_math=False)
        _legend(axes, models)
        return figure


def _bar(axes: Axes, y: int, gain: Gain, models: Sequence[str]) -> None:
    colour, found = seat_colour(0), gain.interval
    in_row = axes.get_yaxis_transform()
    axes.text(0, y - 0.4, plain(gain.label), transform=in_row, color=colour, fontweight="bold", va="center")
    axes.text(1, y - 0.4, str(found), transform=in_row, ha="right", va="center", color=INK.light)
    axes.barh(y, found.mean, height=0.3, color=colour, alpha=0.28, zorder=1)
    axes.plot([0, 0], [y - 0.24, y + 0.24], color=INK.light, linewidth=1, zorder=2)
    axes.axhline(y + 0.32, color=RULE.light, linewidth=0.8, zorder=1)
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [y, y], color=colour, linewidth=3, solid_capstyle="butt", zorder=4)
    jitter = np.linspace(-0.1, 0.1, len(gain.values)) if len(gain.values) > 1 else np.zeros(1)
    axes.scatter(gain.values, y + jitter, s=22, color=colour, alpha=0.6, linewidths=0, zorder=3)
    for model, value in gain.published.items():
        axes.scatter(
            [value],
            [y],
            s=50,
            marker=_MARKERS[models.index(model) % len(_MARKERS)],
            facecolors="none",
            edgecolors=INK.light,
            linewidths=1.4,
            zorder=6,
        )


def _legend(axes: Axes, models: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    colour = MUTED.light
    handles = [Line2D([], [], color=colour, marker="o", markersize=5, linewidth=3, alpha=0.7)]
    labels = ["seeds, mean, 95% interval"]
    for i, model in enumerate(models):
        mark = Line2D([], [], color=INK.light, marker=_MARKERS[i % len(_MARKERS)], markersize=6.5, linewidth=0)
        mark.set_markerfacecolor("none")
        handles.append(mark)
        labels.append(model)
    legend_above(axes, handles, labels, columns=2)
