"""The figure of an audit: what learners take after so many trials, below what a best response takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coplay.auditing.record import BEST_RESPONSE, Audit, Measure, curves, trials_of
from coplay.report.canvas import BOTTOM, WIDTH, add_axes, legend_above, new_figure, style
from coplay.report.palette import INK, seat_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _ABOVE = 190, 44
"""Height of the axes and of the legend above them, in pixels."""

_DASHES = ("-", "--", ":", "-.")
"""Of learners, in order: colour is never the only sign."""


def audit_figure(audit: Audit) -> Figure | None:
    """A line a kind of learner with its 95 % band over seeds, and the ceiling; None if nobody learnt."""
    found = curves(audit.measures)
    if not found:
        return None
    with style():
        height = _ABOVE + _HIGH + BOTTOM
        figure = new_figure(WIDTH, height)
        axes = add_axes(figure, height, _ABOVE)
        handles = [_line(axes, place, points) for place, points in enumerate(found.values())]
        labels = list(found)
        ceiling = next((one for one in audit.measures if one.co_player == BEST_RESPONSE), None)
        if ceiling is not None and ceiling.value is not None:
            handles.append(axes.axhline(ceiling.value, color=INK.light, linewidth=1, linestyle=(0, (1, 1.5))))
            labels.append("best response" if ceiling.kind == "exact" else "best response, at least")
        trials = sorted({trials_of(one) for points in found.values() for one in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(trials, [str(one) for one in trials])
        axes.minorticks_off()
        axes.set_xlabel("trials of training")
        axes.margins(x=0.06, y=0.12)
        legend_above(axes, handles, labels, columns=2)
        return figure


def _line(axes: Axes, place: int, points: Sequence[Measure]):  # type: ignore[no-untyped-def]  # matplotlib's lines
    x = [trials_of(one) for one in points]
    y = [one.value or 0.0 for one in points]
    colour = seat_colour(place)
    half = [one.ci95 or 0.0 for one in points]
    axes.fill_between(
        x,
        [a - b for a, b in zip(y, half, strict=True)],
        [a + b for a, b in zip(y, half, strict=True)],
        color=colour,
        alpha=0.18,
        linewidth=0,
    )
    (line,) = axes.plot(
        x, y, color=colour, linestyle=_DASHES[place % len(_DASHES)], marker="o", markersize=4, linewidth=1.8
    )
    return line
