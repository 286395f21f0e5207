"""Two quantities against each other: controllers as points, checkpoints of one training joined in order (Learning to Mediate, Figures 3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coplay.report.canvas import BOTTOM, LEFT, add_axes, legend_above, new_figure, plain, style
from coplay.report.palette import INK, MUTED, state_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _ROW = 290, 18
"""Height of the axes and of a row of the legend, in pixels."""

_SHORT = 9
"""Characters of names of which three fit into a row of the legend; of longer ones two do."""

_NEAR_X, _NEAR_Y = 0.2, 0.08
"""Shares of all that is shown, within which two squares' names would cover each other."""

_SMALLEST, _LARGEST = 14.0, 70.0
"""Area of the first and of the last checkpoint's mark."""


@dataclass(frozen=True)
class Point:
    """A controller, evaluated."""

    x: float
    """The quantity along the horizontal axis."""
    y: float
    """The quantity along the vertical one."""
    x_half: float | None = None
    """Half the width of the 95 % interval of ``x``, if it has one."""
    y_half: float | None = None
    """Of ``y``."""


def frontier_figure(
    families: Mapping[str, Sequence[Point]],
    fixed: Mapping[str, Point],
    *,
    x_label: str,
    y_label: str,
    reference: str | None = None,
    x_line: tuple[str, float] | None = None,
) -> Figure:
    """Draw learned controllers as dots, larger the later their checkpoint, joined in training order; fixed ones as named squares.

    Args:
        families: the checkpoints of each training, in order.
        fixed: controllers that were not trained, by name.
        x_label: the horizontal quantity, and which way is better.
        y_label: the vertical one.
        reference: the fixed controller that dashed lines go through; what lies on the better side of both lines dominates it.
        x_line: a name and a value that a dotted line marks on the horizontal axis.

    Raises:
        ValueError: if the reference is none of the fixed controllers.
    """
    if reference is not None and reference not in fixed:
        raise ValueError(f"reference must be one of {', '.join(fixed)}, got {reference!r}")
    columns = 3 if all(len(name) <= _SHORT for name in families) else 2
    top = _ROW * max(1, -(-len(families) // columns)) + 6
    with style():
        figure = new_figure(400, top + _HIGH + BOTTOM)
        axes = add_axes(figure, top + _HIGH + BOTTOM, top, left=LEFT + 6, right=16)
        for i, points in enumerate(families.values()):
            _family(axes, points, state_colour(i))
        _fixed(axes, fixed, [*fixed.values(), *(one for points in families.values() for one in points)])
        if reference is not None:
            _lines_through(axes, fixed[reference])
        if x_line is not None:
            _marked(axes, *x_line)
        axes.margins(0.09)
        axes.grid(visible=True, axis="both")
        axes.set_xlabel(plain(x_label), parse_math=False)
        axes.set_ylabel(plain(y_label), parse_math=False)
        _legend(axes, list(families), columns)
        return figure


def _family(axes: Axes, points: Sequence[Point], colour: str) -> None:
    axes.plot([one.x for one in points], [one.y for one in points], color=colour, linewidth=1.2, alpha=0.7, zorder=3)
    for i, one in enumerate(points):
        size = _SMALLEST + (_LARGEST - _SMALLEST) * (i / (len(points) - 1) if len(points) > 1 else 1.0)
        _intervals(axes, one, colour)
        axes.scatter([one.x], [one.y], s=size, color=colour, linewidths=0, zorder=4)


def _fixed(axes: Axes, fixed: Mapping[str, Point], shown: Sequence[Point]) -> None:
    """Named squares; the lower one of two that are close together has its name below it."""
    wide, high = (max(of) - min(of) for of in ([one.x for one in shown], [one.y for one in shown]))
    for name, one in fixed.items():
        above = any(
            0 < other.y - one.y < _NEAR_Y * high and abs(other.x - one.x) < _NEAR_X * wide for other in fixed.values()
        )
        _intervals(axes, one, MUTED.light)
        axes.scatter(
            [one.x], [one.y], s=44, marker="s", facecolors="none", edgecolors=INK.light, linewidths=1.4, zorder=5
        )
        text = axes.annotate(
            plain(name),
            (one.x, one.y),
            xytext=(5, -12 if above else 5),
            textcoords="offset points",
            fontsize=9,
            zorder=6,
        )
        text.set_parse_math(False)


def _intervals(axes: Axes, one: Point, colour: str) -> None:
    if one.x_half is not None:
        axes.plot(
            [one.x - one.x_half, one.x + one.x_half], [one.y] * 2, color=colour, linewidth=0.9, alpha=0.5, zorder=2
        )
    if one.y_half is not None:
        axes.plot(
            [one.x] * 2, [one.y - one.y_half, one.y + one.y_half], color=colour, linewidth=0.9, alpha=0.5, zorder=2
        )


def _lines_through(axes: Axes, one: Point) -> None:
    for line in (axes.axvline, axes.axhline):
        line(one.x if line == axes.axvline else one.y, color=MUTED.light, linewidth=1, linestyle=(0, (4, 2)), zorder=1)


def _marked(axes: Axes, name: str, x: float) -> None:
    axes.axvline(x, color=INK.light, linewidth=1, linestyle=(0, (1, 1.6)), zorder=1)
    text = axes.text(
        x, 0.99, f" {plain(name)}", transform=axes.get_xaxis_transform(), fontsize=9, va="top", color=MUTED.light
    )
    text.set_parse_math(False)


def _legend(axes: Axes, families: Sequence[str], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=state_colour(i), marker="o", markersize=6, linewidth=1.2) for i in range(len(families))
    ]
    if handles:
        legend_above(axes, handles, list(families), columns=columns)
