"""The figure of a probe: a model's policy by state, a panel for each game and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coplay.experiments.probe import Probe, Row
from coplay.experiments.probe_summary import START, Policy, by_pair, policies, short_states
from coplay.report.canvas import STYLE
from coplay.report.palette import MUTED, seat_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = (3.6, 2.5)
"""Inches of a panel."""

_APART = 0.22
"""How far the points without and with counts stand apart, in steps from state to state."""

_MARKERS = {False: "o", True: "s"}
"""Marks without counts and with them, beside the colours."""


def probe_figure(probe: Probe) -> Figure:
    """A row of panels a game, a panel a layout: P(first action) by state, a faint dot a pair of labels, and their mean with its interval."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = policies(probe)
    layouts = list(dict.fromkeys(policy.layout for policy in found))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_PANEL[0] * len(layouts), _PANEL[1] * len(probe.actions) + 0.5), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(len(probe.actions), len(layouts), sharey=True, squeeze=False)
        for row, (game, actions) in zip(grid, probe.actions.items(), strict=True):
            for axes, layout in zip(row, layouts, strict=True):
                shown = [one for one in found if (one.game, one.layout) == (game, layout)]
                rows = [one for one in probe.rows if (one.game, one.layout) == (game, layout)]
                _panel(axes, shown, rows, actions)
                axes.set_title(f"{game}, {layout}", fontsize=11, loc="left", parse_math=False)
            row[0].set_ylabel(f"P({actions[0]})", parse_math=False)
        _legend(figure)
        return figure


def _panel(axes: Axes, shown: Sequence[Policy], rows: Sequence[Row], actions: tuple[str, str]) -> None:
    names = short_states(actions)
    at = {state: x for x, state in enumerate(names)}
    axes.axhline(0.5, color=MUTED.light, linewidth=0.8, linestyle=(0, (2, 3)), zorder=1)
    for policy in shown:
        colour, marker = seat_colour(int(policy.counts)), _MARKERS[policy.counts]
        shift = _APART / 2 * (1 if policy.counts else -1)
        for state, interval in policy.states.items():
            x = at[state] + (0.0 if state == START else shift)
            own = [row for row in rows if row.state == state and (row.counts is not None) == policy.counts]
            points = by_pair(own, lambda row: row.p_first)
            axes.scatter([x] * len(points), points, s=12, color=colour, alpha=0.3, linewidths=0, zorder=2)
            if interval.low is not None and interval.high is not None:
                axes.plot(
                    [x, x], [max(0.0, interval.low), min(1.0, interval.high)], color=colour, linewidth=2, zorder=3
                )
            axes.plot([x], [interval.mean], marker=marker, markersize=6, color=colour, zorder=4)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(-0.03, 1.03))
    axes.set_xticks(range(len(names)), list(names.values()), parse_math=False)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=seat_colour(int(counts)), marker=marker, markersize=6, linewidth=2)
        for counts, marker in _MARKERS.items()
    ]
    names = ("without counts", "with even counts; mean over pairs of labels and 95% interval")
    figure.legend(handles, names, loc="outside upper left", ncols=2, handlelength=2.1, columnspacing=1.4)
