"""The evaluation figure: what every seed got per step after training, beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coplay.report.canvas import BOTTOM, WIDTH, add_axes, legend_above, new_figure, plain, style
from coplay.report.data import Arm, seat_label
from coplay.report.outcome import Outcome, outcome
from coplay.report.palette import INK, MUTED, RULE, seat_colour
from coplay.report.svg import inline
from coplay.report.training_plot import MIN_SEEDS, reward_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Published = Mapping[tuple[str, str], tuple[float, float | None]]
"""(arm, seat) to the published reward per step and its half-width, if printed."""


def evaluation_figure(arms: Sequence[Arm], published: Published | None = None) -> Figure:
    """A dot for each seed's final reward per step, the mean with its 95% interval, and the published value."""
    rows = [(arm, seat, i) for arm in arms for i, seat in enumerate(arm.run.seats)]
    outcomes = {id(arm): outcome(arm.run) for arm in arms}
    with style():
        height = 30 + 46 * max(1, len(rows)) + BOTTOM
        figure = new_figure(WIDTH, height)
        axes = add_axes(figure, height, 30, left=12, right=12)
        for y, (arm, seat, i) in enumerate(rows):
            of_arm = f"{arm.name[:1].upper()}{arm.name[1:]}: " if len(arms) > 1 else ""
            given = (published or {}).get((arm.name, seat))
            _dot_row(
                axes,
                y,
                of_arm + seat_label(arm.run, seat),
                outcomes[id(arm)],
                seat,
                colour=seat_colour(i),
                published=given,
            )
        axes.set_ylim(len(rows) - 0.4, -0.75)
        axes.set_yticks([])
        axes.margins(x=0.06)
        _set_limits(axes, reward_limits(arms), [outcomes[id(arm)] for arm in arms])
        axes.grid(visible=False)
        axes.set_xlabel(_source_label([outcomes[id(arm)] for arm in arms]), parse_math=False)
        _dot_legend(axes, with_published=bool(published))
        return figure


def evaluation_svg(arms: Sequence[Arm], published: Published | None = None, *, prefix: str) -> str:
    """The evaluation figure, as markup to be set in the page."""
    with style():
        return inline(evaluation_figure(arms, published), prefix=prefix, label="Final reward per step, a dot a seed")


def _dot_row(
    axes: Axes,
    y: int,
    label: str,
    result: Outcome,
    seat: str,
    *,
    colour: str,
    published: tuple[float, float | None] | None,
) -> None:
    """One seat of one arm: label, seeds, mean with interval, published value."""
    axes.axhline(y, color=RULE.light, linewidth=0.8, zorder=1)
    in_row = axes.get_yaxis_transform()
    axes.text(
        0, y - 0.36, plain(label), transform=in_row, color=colour, fontweight="bold", va="center", parse_math=False
    )
    values = list(result.rewards.get(seat, {}).values())
    interval = result.reward(seat)
    if interval is None:
        axes.text(0.5, y, "no reward recorded", transform=in_row, color=MUTED.light, ha="center", va="center")
        return
    jitter = np.linspace(-0.1, 0.1, len(values)) if len(values) > 1 else np.zeros(1)
    axes.scatter(values, y + jitter, s=26, color=colour, alpha=0.5, linewidths=0, zorder=3)
    if interval.low is not None and interval.high is not None:
        axes.plot([interval.low, interval.high], [y, y], color=colour, linewidth=3, solid_capstyle="butt", zorder=4)
    axes.plot([interval.mean] * 2, [y - 0.2, y + 0.2], color=colour, linewidth=2.4, solid_capstyle="butt", zorder=5)
    text = str(interval)
    if published is not None:
        axes.scatter(
            [published[0]], [y], s=62, marker="D", facecolors="none", edgecolors=INK.light, linewidths=1.4, zorder=6
        )
        text += f", paper {published[0]:.2f}"
    axes.text(1, y - 0.36, text, transform=in_row, ha="right", va="center", color=INK.light)


def _set_limits(axes: Axes, limits: tuple[float, float] | None, outcomes: Sequence[Outcome]) -> None:
    """Widen the reward axis to that of the training curves, so that a tiny difference does not look large.

    Where no arm has the seeds for a band, that is the whole axis: intervals of two seeds run out of it on both sides.
    """
    if limits is not None:
        few = max(result.n_seeds for result in outcomes) < MIN_SEEDS
        low, high = limits if few else axes.get_xlim()
        axes.set_xlim(min(low, limits[0]), max(high, limits[1]))


def _dot_legend(axes: Axes, *, with_published: bool) -> None:
    from matplotlib.lines import Line2D

    colour = MUTED.light
    handles = [
        Line2D([], [], color=colour, marker="o", markersize=5.5, linewidth=0, alpha=0.6),
        Line2D([], [], color=colour, marker="|", markersize=11, markeredgewidth=2.2, linewidth=3),
    ]
    labels = ["a seed", "mean, 95% interval"]
    if with_published:
        diamond = Line2D([], [], color=INK.light, marker="D", markersize=7, markeredgewidth=1.4, linewidth=0)
        diamond.set_markerfacecolor("none")
        handles.append(diamond)
        labels.append("published")
    legend_above(axes, handles, labels, columns=3)


def _source_label(outcomes: Sequence[Outcome]) -> str:
    sources = list(dict.fromkeys(result.source for result in outcomes))
    return "reward per step, " + (sources[0] if len(sources) == 1 else "where training ended")
