"""The training figure, as in ShapeLLM's Figures 2 and 13: reward and state visitation over trials, panel by panel or whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coplay.report.canvas import BOTTOM, LEFT, WIDTH, add_axes, legend_above, new_figure, plain, style
from coplay.report.data import ILLEGAL, Arm, RunData, Series, same_game, state_index, states_of
from coplay.report.palette import MUTED, seat_colour, state_colour
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = 24
"""Height of a panel's title, in pixels."""

LETTERS, FEW = 3, 6
"""Up to this length of names and number of states, names are written at the ends of their lines; otherwise in a legend."""

REWARDS_HIGH, STATES_HIGH = 170, 170
"""Height of the axes, in pixels."""

LEGEND_ROW = 16
"""Height of a row of a legend, in pixels."""

LETTER, HANDLE = 6.4, 45
"""Width of a letter of a legend and of what else an entry has, in pixels, about."""

MIN_SEEDS = 3
"""Seeds from which on a band is drawn. The 95 % interval of two seeds is 13 times as wide as their distance and hides the lines."""

SEEN = 0.005
"""Share of rounds from which on, at any time, a state's line is labelled; others stay at the axis."""


def training_figure(arms: Sequence[Arm]) -> Figure:
    """Reward per step (top) and state visitation (bottom) over trials, a column an arm."""
    return grid_figure([arms], shows=("reward", "states"))


def grid_figure(rows: Sequence[Sequence[Arm]], *, shows: Sequence[str]) -> Figure:
    """Draw arms in a grid; arms of one game share the limits of their reward axes.

    Args:
        rows: the arms, row by row.
        shows: ``reward`` and ``states``, or one of them: what is drawn of each arm, one above the other.

    Returns:
        The figure, a dashed or full line a player or state for the mean over seeds, its 95% band, and a faint line for each seed.
    """
    arms = [arm for row in rows for arm in row]
    boxes = {"reward": reward_box(arms), "states": max(state_box(states_of(same_game(arm, arms))) for arm in arms)}
    height = TITLE + sum(boxes[what][0] for what in shows)
    width = WIDTH * max(map(len, rows))
    with style():
        figure = new_figure(width, height * len(rows))
        for r, row in enumerate(rows):
            for c, arm in enumerate(row):
                peers = same_game(arm, arms)
                y: float = height * r + TITLE
                for what in shows:
                    box, top = boxes[what]
                    axes = add_axes(figure, box, top, x=WIDTH * c, y=y)
                    if what == "reward":
                        reward_panel(axes, arm.run, limits=reward_limits(peers))
                    else:
                        state_panel(axes, arm.run, states_of(peers))
                    y += box
                place = ((WIDTH * c + LEFT) / width, 1 - (height * r + 2) / (height * len(rows)))
                figure.text(*place, plain(arm.label), fontsize=13, fontweight="bold", va="top", parse_math=False)
        return figure


def reward_panel(axes: Axes, run: RunData, *, limits: tuple[float, float] | None = None) -> None:
    """Both players' reward per step over training: mean, 95% band, and a faint line for each seed."""
    lines = [
        (run.series(metric), label) for (metric, _), label in zip(run.reward_lines, reward_labels(run), strict=True)
    ]
    line_panel(axes, run, lines, y_label="reward per step", limits=limits)


def line_panel(
    axes: Axes,
    run: RunData,
    lines: Sequence[tuple[Series, str]],
    *,
    y_label: str,
    limits: tuple[float, float] | None = None,
    colour_of: Callable[[int], str] = seat_colour,
) -> None:
    """Metrics over training: mean, 95% band, a faint line for each seed, and the last mean at the end of each line.

    Args:
        axes: where to draw.
        run: the run, for its trials.
        lines: the metrics, each with its name in the legend.
        y_label: what they are.
        limits: of the axis; None for those that fit.
        colour_of: from a line's place to its colour.
    """
    ends = []
    for i, (series, _) in enumerate(lines):
        colour = colour_of(i)
        _seed_lines(axes, series, colour=colour)
        end = _mean_and_band(axes, series, colour=colour, dashed=i % 2 == 1)
        decimals = 2 if abs(end) < 100 else 1  # there is room for five characters
        ends.append((end, colour, f"{end:.{decimals}f}"))
    _y_label(axes, y_label)
    if limits is not None:
        axes.set_ylim(*limits)
    _trial_axis(axes, run)
    _end_labels(axes, ends)
    _line_legend(axes, [(label, colour_of(i), i % 2 == 1) for i, (_, label) in enumerate(lines)])


def reward_labels(run: RunData) -> list[str]:
    """What the lines of the reward panel are called: seats with roles, or seats alone where many have the same role."""
    labels = [label for _, label in run.reward_lines]
    alike = len({run.role(seat) for seat in run.seats}) == 1
    return list(run.seats) if len(labels) == len(run.seats) > 2 and alike else labels


def state_panel(axes: Axes, run: RunData, states: Sequence[str]) -> None:
    """The share of rounds spent in each joint action over training: mean, 95% band, and a faint line for each seed."""
    ends = []
    for name in (name for name in states if name in run.states):
        series, colour = run.series(f"state/{name}"), state_colour(state_index(name, states))
        _seed_lines(axes, series, colour=colour)
        end = _mean_and_band(axes, series, colour=colour, dashed=name == ILLEGAL)
        if not series.empty and float(np.nanmax(series.values)) > SEEN:
            ends.append((end, colour, name))
    _y_label(axes, "state visitation")
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    _trial_axis(axes, run)
    if _lettered(states):
        _end_labels(axes, ends)
    else:
        _line_legend(axes, [(name, colour, name == ILLEGAL) for _, colour, name in ends])


def reward_svg(arm: Arm, arms: Sequence[Arm], *, prefix: str) -> str:
    """The reward panel of one arm, as markup to be set in the page."""
    height, top = reward_box(same_game(arm, arms))
    with style():
        figure = new_figure(WIDTH, height)
        reward_panel(add_axes(figure, height, top), arm.run, limits=reward_limits(same_game(arm, arms)))
        return inline(figure, prefix=prefix, label=f"Reward per step over trials, {arm.label}")


def state_svg(arm: Arm, arms: Sequence[Arm], *, prefix: str) -> str:
    """The state visitation panel of one arm, as markup to be set in the page."""
    states = states_of(same_game(arm, arms))
    height, top = state_box(states)
    with style():
        figure = new_figure(WIDTH, height)
        state_panel(add_axes(figure, height, top), arm.run, states)
        return inline(figure, prefix=prefix, label=f"State visitation over trials, {arm.label}")


def reward_limits(arms: Sequence[Arm]) -> tuple[float, float] | None:
    """Limits of the reward axis that hold every seed of every arm; None if there are no rewards."""
    values = [arm.run.series(metric).values for arm in arms for metric, _ in arm.run.reward_lines]
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.array([])
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def reward_box(arms: Sequence[Arm]) -> tuple[int, int]:
    """Height of the reward panel and of the legend above its axes, in pixels."""
    return max(line_box(reward_labels(arm.run)) for arm in arms)


def line_box(labels: Sequence[str]) -> tuple[int, int]:
    """Height of a panel of lines and of the legend above its axes, in pixels."""
    top = 10 + LEGEND_ROW * _legend_rows(labels)
    return REWARDS_HIGH + top + BOTTOM, top


def state_box(states: Sequence[str]) -> tuple[int, int]:
    """Height of the state panel and of the space above its axes, in pixels; a legend is there only if names are long or many."""
    top = 10 if _lettered(states) else 12 + LEGEND_ROW * _legend_rows(states)
    return STATES_HIGH + top + BOTTOM, top


def _lettered(states: Sequence[str]) -> bool:
    return len(states) <= FEW and all(len(name) <= LETTERS for name in states)


def _legend_rows(texts: Sequence[str]) -> int:
    return math.ceil(len(texts) / _legend_columns(texts))


def _legend_columns(texts: Sequence[str]) -> int:
    """As many columns as fit above the axes."""
    widest = LETTER * max((len(plain(text)) for text in texts), default=0) + HANDLE
    return max(1, min(len(texts), int((WIDTH - LEFT) / widest)))


def _seed_lines(axes: Axes, series: Series, *, colour: str) -> None:
    """A faint line for each seed, if there is more than one."""
    for row in series.values if len(series.seeds) > 1 else ():
        axes.plot(series.steps, row, color=colour, linewidth=0.6, alpha=0.4, zorder=2)


def _mean_and_band(axes: Axes, series: Series, *, colour: str, dashed: bool) -> float:
    """Draw a mean line with its band and return the last mean; NaN if there is none."""
    if series.empty:
        return float("nan")
    band = series.band()
    marker = "o" if len(series.steps) == 1 else None
    if len(series.seeds) >= MIN_SEEDS:
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
    """Write each line's label at its right end, moved apart where lines end close together, with a line that leads back."""
    known = [end for end in ends if np.isfinite(end[0])]
    low, high = axes.get_ylim()
    ends_at = [(y - low) / (high - low) for y, _, _ in known]
    heights = spread(ends_at, gap=0.078)
    for height, end, (_, colour, text) in zip(heights, ends_at, known, strict=True):
        # A label that had to move is led back to its line.
        axes.plot([1.002, 1.028], [end, height], color=colour, linewidth=0.9, transform=axes.transAxes, clip_on=False)
        label = axes.text(1.035, height, plain(text), color=colour, va="center", transform=axes.transAxes)
        label.set(fontweight="bold", parse_math=False)


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


def _line_legend(axes: Axes, entries: Sequence[tuple[str, str, bool]]) -> None:
    """A legend above the axes from (text, colour, dashed)."""
    from matplotlib.lines import Line2D

    if not entries:
        return
    handles = [
        Line2D([], [], color=colour, linewidth=2, linestyle=(0, (3.2, 1.6)) if dashed else "-")
        for _, colour, dashed in entries
    ]
    labels = [text for text, _, _ in entries]
    legend_above(axes, handles, labels, columns=_legend_columns(labels))
