"""Figures: training curves as in ShapeLLM's Figures 2 and 13, and the evaluation beside the published numbers.

Matplotlib is imported where it is first needed and drawn with the Agg canvas, so nothing here wants a display. Colours are the
print colours of :mod:`coplay.report.palette`; :mod:`coplay.report.svg` turns them into the page's variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coplay.report.data import ILLEGAL, Arm, RunData, Series
from coplay.report.outcome import Outcome, outcome
from coplay.report.palette import INK, MUTED, RULE, seat_colour, state_colour
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 400
"""Width of a panel in pixels. A point is a pixel of the page's SVG, so text stays readable from a telephone to a desktop."""

LEFT, RIGHT, BOTTOM = 54, 40, 40
"""Margins beside and below every axes, in pixels: the same in all, so that panels set one above another line up."""

LETTERS = 3
"""Length up to which a state's name stands at the end of its line; longer ones go into a legend."""

LONGEST = 48
"""Longest text set in a figure, in characters."""

Published = Mapping[tuple[str, str], tuple[float, float | None]]
"""(arm, seat) to the published reward per step and its half-width, if printed."""

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.edgecolor": MUTED.light,
    "axes.labelcolor": MUTED.light,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": RULE.light,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "text.color": INK.light,
    "xtick.color": MUTED.light,
    "ytick.color": MUTED.light,
    "ytick.major.size": 0,
    "xtick.major.size": 3,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "coplay",
}


def training_figure(arms: Sequence[Arm]) -> Figure:
    """Reward per step (top) and state visitation (bottom) over trials, a column an arm."""
    states, limits = states_of(arms), reward_limits(arms)
    title, (reward_height, reward_top), (state_height, state_top) = 24, REWARD_BOX, state_box(states)
    with _style():
        figure = _figure(WIDTH * len(arms), title + reward_height + state_height)
        for i, arm in enumerate(arms):
            x = WIDTH * i
            reward_panel(_axes(figure, reward_height, reward_top, x=x, y=title), arm.run, limits=limits)
            state_panel(_axes(figure, state_height, state_top, x=x, y=title + reward_height), arm.run, states)
            place = (x + LEFT) / (WIDTH * len(arms))
            figure.text(place, 0.992, _plain(arm.label), fontsize=13, fontweight="bold", va="top", parse_math=False)
        return figure


def evaluation_figure(arms: Sequence[Arm], published: Published | None = None) -> Figure:
    """A dot for each seed's final reward per step, the mean with its 95% interval, and the published value."""
    rows = [(arm, seat, i) for arm in arms for i, seat in enumerate(arm.run.seats)]
    outcomes = {id(arm): outcome(arm.run) for arm in arms}
    with _style():
        height = 30 + 46 * max(1, len(rows)) + BOTTOM
        figure = _figure(WIDTH, height)
        axes = _axes(figure, height, 30, left=12, right=12)
        for y, (arm, seat, i) in enumerate(rows):
            label = (
                f"{arm.name.capitalize()}: {seat_label(arm.run, seat)}" if len(arms) > 1 else seat_label(arm.run, seat)
            )
            given = (published or {}).get((arm.name, seat))
            _dot_row(axes, y, label, outcomes[id(arm)], seat, colour=seat_colour(i), published=given)
        axes.set_ylim(len(rows) - 0.4, -0.75)
        axes.set_yticks([])
        axes.margins(x=0.06)
        _reach(axes, reward_limits(arms))
        axes.grid(visible=False)
        axes.set_xlabel(_source_label([outcomes[id(arm)] for arm in arms]), parse_math=False)
        _dot_legend(axes, with_published=bool(published))
        return figure


def reward_panel(axes: Axes, run: RunData, *, limits: tuple[float, float] | None = None) -> None:
    """Both seats' reward per step over training: mean, 95% band, and a faint line for each seed."""
    ends = []
    for i, seat in enumerate(run.seats):
        series, colour = run.series(f"reward/{seat}"), seat_colour(i)
        for row in series.values if len(series.seeds) > 1 else ():
            axes.plot(series.steps, row, color=colour, linewidth=0.6, alpha=0.3, zorder=2)
        end = _mean_and_band(axes, series, colour=colour, dashed=i % 2 == 1)
        ends.append((end, colour, f"{end:.2f}"))
    _y_label(axes, "reward per step")
    if limits is not None:
        axes.set_ylim(*limits)
    _trial_axis(axes, run)
    _end_labels(axes, ends)
    entries = [(seat_label(run, seat), seat_colour(i), i % 2 == 1) for i, seat in enumerate(run.seats)]
    _line_legend(axes, entries)


def state_panel(axes: Axes, run: RunData, states: Sequence[str]) -> None:
    """The share of rounds spent in each joint action over training: mean and 95% band."""
    ends = []
    for name in (name for name in states if name in run.states):
        series, colour = run.series(f"state/{name}"), state_colour(state_index(name, states))
        end = _mean_and_band(axes, series, colour=colour, dashed=name == ILLEGAL)
        ends.append((end, colour, name))
    _y_label(axes, "state visitation")
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    _trial_axis(axes, run)
    if _lettered(states):
        _end_labels(axes, ends)
    else:
        _line_legend(axes, [(name, colour, name == ILLEGAL) for _, colour, name in ends], columns=2)


def reward_limits(arms: Sequence[Arm]) -> tuple[float, float] | None:
    """Limits of the reward axis that hold every seed of every arm; None if there are no rewards."""
    values = [arm.run.series(f"reward/{seat}").values for arm in arms for seat in arm.run.seats]
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.array([])
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def states_of(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Every state of any arm, the illegal one last; a state's place is its colour."""
    names = list(dict.fromkeys(name for arm in arms for name in arm.run.states))
    return tuple(sorted(names, key=lambda name: name == ILLEGAL))


def state_index(name: str, states: Sequence[str]) -> int | None:
    """The colour index of a state; None for the illegal one and for one that is not listed."""
    return None if name == ILLEGAL or name not in states else list(states).index(name)


def seat_label(run: RunData, seat: str) -> str:
    """A seat with its role, as a reader is shown it: ``row (shaper)``."""
    role = run.role(seat)
    return f"{seat} ({role})" if role else seat


def save_figures(out_dir: Path, arms: Sequence[Arm], published: Published | None = None) -> list[Path]:
    """Write ``figures/training`` and ``figures/evaluation`` as PNG (150 dpi) and PDF; return the paths."""
    folder = out_dir / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"training": training_figure(arms), "evaluation": evaluation_figure(arms, published)}
    paths = []
    with _style():
        for name, figure in figures.items():
            for suffix, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
                path = folder / f"{name}.{suffix}"
                figure.savefig(path, dpi=150, metadata=metadata)
                paths.append(path)
    return paths


def reward_svg(arm: Arm, arms: Sequence[Arm], *, prefix: str) -> str:
    """The reward panel of one arm, as markup to be set in the page."""
    height, top = REWARD_BOX
    with _style():
        figure = _figure(WIDTH, height)
        reward_panel(_axes(figure, height, top), arm.run, limits=reward_limits(arms))
        return inline(figure, prefix=prefix, label=f"Reward per step over trials, {arm.label}")


def state_svg(arm: Arm, arms: Sequence[Arm], *, prefix: str) -> str:
    """The state visitation panel of one arm, as markup to be set in the page."""
    states = states_of(arms)
    height, top = state_box(states)
    with _style():
        figure = _figure(WIDTH, height)
        state_panel(_axes(figure, height, top), arm.run, states)
        return inline(figure, prefix=prefix, label=f"State visitation over trials, {arm.label}")


def evaluation_svg(arms: Sequence[Arm], published: Published | None = None, *, prefix: str) -> str:
    """The evaluation figure, as markup to be set in the page."""
    with _style():
        return inline(evaluation_figure(arms, published), prefix=prefix, label="Final reward per step, a dot a seed")


REWARD_BOX = (236, 26)
"""Height of the reward panel and of what stands above its axes, in pixels."""


def state_box(states: Sequence[str]) -> tuple[int, int]:
    """Height of the state panel and of what stands above its axes, in pixels: a legend only if names are long."""
    top = 10 if _lettered(states) else 12 + 16 * math.ceil(len(states) / 2)
    return 170 + top + BOTTOM, top


def _lettered(states: Sequence[str]) -> bool:
    return all(len(name) <= LETTERS for name in states)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def _figure(width: float, height: float) -> Figure:
    """A figure of that many pixels, apart from pyplot's state and from any display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasAgg(figure)
    return figure


def _axes(
    figure: Figure, height: float, top: float, *, x: float = 0, y: float = 0, left: float = LEFT, right: float = RIGHT
) -> Axes:
    """Axes within a box ``WIDTH`` wide whose upper left corner is at (x, y), all in pixels from the upper left."""
    whole_width, whole_height = (72 * inches for inches in figure.get_size_inches())
    lower = (whole_height - y - height + BOTTOM) / whole_height
    wide, high = (WIDTH - left - right) / whole_width, (height - top - BOTTOM) / whole_height
    return figure.add_axes(((x + left) / whole_width, lower, wide, high))


def _mean_and_band(axes: Axes, series: Series, *, colour: str, dashed: bool) -> float:
    """Draw a mean line with its band and return the last mean; NaN if there is none."""
    if series.empty:
        return float("nan")
    band = series.band()
    marker = "o" if len(series.steps) == 1 else None
    axes.fill_between(series.steps, band.low, band.high, color=colour, alpha=0.18, linewidth=0, zorder=3)
    dashes = (0, (3.2, 1.6)) if dashed else "-"
    axes.plot(series.steps, band.mean, color=colour, linewidth=2, linestyle=dashes, marker=marker, zorder=4)
    return float(band.mean[np.isfinite(band.mean)][-1])


def _y_label(axes: Axes, text: str) -> None:
    """The axis label at one distance from the axes, whatever the width of the numbers."""
    axes.set_ylabel(text)
    axes.yaxis.set_label_coords(-0.125, 0.5)


def _trial_axis(axes: Axes, run: RunData) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("trial")
    axes.set_xlim(1 if run.last_step > 1 else 0, max(2, run.last_step))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
    if not run.last_step:
        axes.text(0.5, 0.5, "no trials yet", transform=axes.transAxes, ha="center", color=MUTED.light)


def _end_labels(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write each line's label at its right end, moved apart where lines end close together."""
    known = [end for end in ends if np.isfinite(end[0])]
    low, high = axes.get_ylim()
    heights = spread([(y - low) / (high - low) for y, _, _ in known], gap=0.078)
    for height, (_, colour, text) in zip(heights, known, strict=True):
        place: dict[str, Any] = {
            "xy": (1.015, height),
            "xycoords": "axes fraction",
            "va": "center",
            "annotation_clip": False,
        }
        axes.annotate(_plain(text), color=colour, fontweight="bold", parse_math=False, **place)


def spread(heights: Sequence[float], *, gap: float, low: float = 0.02, high: float = 0.98) -> list[float]:
    """Move heights apart until neighbours differ by ``gap``, each group as near to its own centre as ``low`` to ``high`` allows."""

    def centre_of(group: list[int]) -> float:
        half = gap * (len(group) - 1) / 2
        return max(low + half, min(high - half, sum(heights[j] for j in group) / len(group)))

    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[list[int]] = []
    centres: list[float] = []
    for i in order:
        groups.append([i])
        centres.append(centre_of([i]))
        while len(groups) > 1 and centres[-1] - centres[-2] < gap * (len(groups[-1]) + len(groups[-2])) / 2:
            merged = groups[-2] + groups[-1]
            groups[-2:], centres[-2:] = [merged], [centre_of(merged)]
    moved = list(heights)
    for group, centre in zip(groups, centres, strict=True):
        for place, i in enumerate(group):
            moved[i] = centre + gap * (place - (len(group) - 1) / 2)
    return moved


def _line_legend(axes: Axes, entries: Sequence[tuple[str, str, bool]], *, columns: int = 3) -> None:
    """A legend above the axes from (text, colour, dashed)."""
    from matplotlib.lines import Line2D

    if not entries:
        return
    handles = [
        Line2D([], [], color=colour, linewidth=2, linestyle=(0, (3.2, 1.6)) if dashed else "-")
        for _, colour, dashed in entries
    ]
    legend = axes.legend(handles, [_plain(text) for text, _, _ in entries], ncols=columns, **_ABOVE)
    for text in legend.get_texts():
        text.set_parse_math(False)


_ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (-0.01, 1.0),
    "borderaxespad": 0.1,
    "handlelength": 2.1,
    "columnspacing": 1.4,
    "handletextpad": 0.5,
}


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
        0, y - 0.36, _plain(label), transform=in_row, color=colour, fontweight="bold", va="center", parse_math=False
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


def _reach(axes: Axes, limits: tuple[float, float] | None) -> None:
    """Widen the reward axis to that of the training curves, lest a difference of nothing look like one."""
    if limits is not None:
        low, high = axes.get_xlim()
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
        handles.append(
            Line2D(
                [],
                [],
                color=INK.light,
                marker="D",
                markersize=7,
                markerfacecolor="none",
                markeredgewidth=1.4,
                linewidth=0,
            )
        )
        labels.append("published")
    axes.legend(handles, labels, ncols=3, **_ABOVE)


def _source_label(outcomes: Sequence[Outcome]) -> str:
    sources = list(dict.fromkeys(result.source for result in outcomes))
    return "reward per step, " + (sources[0] if len(sources) == 1 else "where training ended")


def _plain(text: str) -> str:
    """Text as matplotlib can draw it: printable, on one line of bearable length, and not hidden from legends by a leading underscore."""
    kept = "".join(c if c.isprintable() else " " for c in text.encode("utf-8", "replace").decode())
    kept = kept if len(kept) <= LONGEST else kept[: LONGEST - 1] + "\u2026"
    return f" {kept}" if kept.startswith("_") else kept
