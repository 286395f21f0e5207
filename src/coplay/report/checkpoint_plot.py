"""Checkpoints evaluated: a quantity by checkpoint with reference lines, and beside the reward of training (Learning to Mediate, Figures 1 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coplay.report.canvas import BOTTOM, WIDTH, add_axes, legend_above, new_figure, plain, style
from coplay.report.palette import INK, MUTED, state_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _TITLE, _ROW = 150, 22, 18
"""Height of the axes, of a panel's title and of a row of the legend, in pixels."""

_DASHES = ((0, (4, 2)), (0, (1, 1.6)), (0, (4, 1.5, 1, 1.5)), (0, (7, 2)))
"""Of the reference lines, in order."""

_MARKERS = "osD^vP"
"""Of the families, in order."""

_COLUMNS = 3
"""Entries of a row of the legend for each column of panels."""


@dataclass(frozen=True)
class Checkpoint:
    """One evaluation."""

    step: float
    """The trial that the checkpoint was written after."""
    mean: float
    """What was measured."""
    half_width: float | None = None
    """Half the width of its 95 % interval, if it has one."""


@dataclass(frozen=True)
class CheckpointPanel:
    """One panel: families of checkpoints, such as controllers by what they were trained on."""

    title: str
    """What is shown above it."""
    families: Mapping[str, Sequence[Checkpoint]]
    """The checkpoints of each family, in training order."""
    references: Mapping[str, float] = field(default_factory=dict)
    """Horizontal lines by name, such as rule-based controllers."""
    training: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Rewards over training, (trial, reward) by family: thin lines on an axis of their own."""


def checkpoint_figure(panels: Sequence[Sequence[CheckpointPanel]], *, of: str, reward: str = "reward") -> Figure:
    """Panels in a grid, row by row; all have the same limits, and the legend names the families and the reference lines of all.

    Args:
        panels: the grid.
        of: what was measured, for the vertical axis.
        reward: what training was paid for, for the axis of rewards.
    """
    every = [one for row in panels for one in row]
    families = list(dict.fromkeys(name for one in every for name in (*one.families, *one.training)))
    references = list(dict.fromkeys(name for one in every for name in one.references))
    columns = _COLUMNS * max(map(len, panels))
    legend = _ROW * -(-(len(families) + len(references)) // columns) + 6
    high = _TITLE + _HIGH + BOTTOM
    limits = _limits([mark for one in every for mark in _reached(one)])
    with style():
        figure = new_figure(WIDTH * max(map(len, panels)), legend + high * len(panels))
        for r, row in enumerate(panels):
            for c, one in enumerate(row):
                axes = add_axes(figure, high, _TITLE, x=WIDTH * c, y=legend + high * r)
                _panel(axes, one, families, references, limits)
                axes.set_ylabel(plain(of) if c == 0 else "", parse_math=False)
                axes.yaxis.set_label_coords(-0.14, 0.5)
                if one.training:
                    _rewards(axes, one, families, reward)
                if r == c == 0:
                    _legend(axes, families, references, columns)
        return figure


def _reached(one: CheckpointPanel) -> list[float]:
    found = [
        mark.mean + sign * (mark.half_width or 0.0) for own in one.families.values() for mark in own for sign in (-1, 1)
    ]
    return [*found, *one.references.values()]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def _panel(
    axes: Axes, shown: CheckpointPanel, families: Sequence[str], references: Sequence[str], limits: tuple[float, float]
) -> None:
    from matplotlib.ticker import MaxNLocator

    for name, height in shown.references.items():
        dashes = _DASHES[references.index(name) % len(_DASHES)]
        axes.axhline(height, color=INK.light, linewidth=1.1, linestyle=dashes, zorder=2)
    for name, marks in shown.families.items():
        place = families.index(name)
        colour, steps = state_colour(place), [mark.step for mark in marks]
        line = 0 if shown.training else 1.6
        axes.plot(
            steps,
            [mark.mean for mark in marks],
            color=colour,
            linewidth=line,
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=5.5,
            zorder=4,
        )
        for mark in marks:
            if mark.half_width is not None:
                ends = [mark.mean - mark.half_width, mark.mean + mark.half_width]
                axes.plot([mark.step] * 2, ends, color=colour, linewidth=1.1, alpha=0.7, zorder=3)
    axes.set_ylim(*limits)
    axes.margins(x=0.06)
    axes.set_title(plain(shown.title), loc="left", fontsize=11, color=INK.light, parse_math=False)
    axes.set_xlabel("trial")
    axes.yaxis.set_major_locator(
        MaxNLocator(nbins=4, steps=[1, 2, 5, 10])
    )  # short labels, beside which the axis's title fits
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))


def _rewards(axes: Axes, shown: CheckpointPanel, families: Sequence[str], label: str) -> None:
    """The rewards of training on the right axis."""
    right = axes.twinx()
    right.grid(visible=False)
    for name, line in shown.training.items():
        colour = state_colour(families.index(name))
        right.plot(
            [step for step, _ in line], [value for _, value in line], color=colour, linewidth=1, alpha=0.55, zorder=1
        )
    right.set_ylabel(plain(label), color=MUTED.light, parse_math=False, fontsize=9)
    right.tick_params(length=0, labelsize=8)
    axes.set_zorder(right.get_zorder() + 1)  # marks stand before lines
    axes.patch.set_visible(False)


def _legend(axes: Axes, families: Sequence[str], references: Sequence[str], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=state_colour(i), marker=_MARKERS[i % len(_MARKERS)], markersize=5.5, linewidth=1.6)
        for i in range(len(families))
    ]
    handles += [
        Line2D([], [], color=INK.light, linewidth=1.1, linestyle=_DASHES[i % len(_DASHES)])
        for i in range(len(references))
    ]
    legend_above(axes, handles, [*families, *references], columns=columns)
    legend = axes.get_legend()
    assert legend is not None
    legend.set_bbox_to_anchor((-0.01, 1.0 + _TITLE / _HIGH), transform=axes.transAxes)
