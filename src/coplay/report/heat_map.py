"""Heat maps of a grid of outcomes: settings, or pairs of players; a panel for each seat, a number in every cell."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coplay.report.canvas import BOTTOM, new_figure, plain, style
from coplay.report.formats import figure as number
from coplay.report.palette import DENSITY, INK, PAPER
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coplay.evaluation.cross_play import CrossPlay

Number = tuple[float, float | None]
"""A cell's mean and the half-width of its 95 % interval, if it has one."""

_CELL = (74, 40)
"""Width and height of a cell in pixels."""

_LETTER = 6.2
"""Width of a letter of the tick labels, in pixels, about."""

_LETTERS = 15
"""Letters on a line of a tick label."""

_WIDEST = 900
"""Width of a figure in pixels above which panels are placed one below the other."""

LEAST = 460
"""Width in pixels below which a figure is no longer made smaller with the page, so that its numbers can be read."""

_TOP, _GAP = 30, 26
"""Space above a panel and beside it, in pixels."""

_DARK_TEXT, _LIGHT_TEXT = "#101114", "#fdfdfd"
"""Text on light and dark cells. Not the palette's ink, which turns light on a dark page while the cells stay as they are."""


@dataclass(frozen=True)
class HeatMap:
    """One quantity on a grid."""

    title: str
    """What is shown."""
    down: tuple[str, tuple[str, ...]]
    """The name of the vertical axis, and of each line from the top."""
    across: tuple[str, tuple[str, ...]]
    """The name of the horizontal axis, and of each column from the left."""
    cells: tuple[tuple[Number | None, ...], ...]
    """Lines of cells; None where nothing is known yet."""


def cross_play_map(found: CrossPlay) -> HeatMap:
    """The mean payoffs of all pairs, as a map."""
    names = found.players
    cells = tuple(
        tuple((interval.mean, interval.half_width) for interval in (found.interval(i, j) for j in range(len(names))))
        for i in range(len(names))
    )
    over = "" if found.over is None else f", ± over {found.over}"
    return HeatMap(f"{found.game}: payoff per round{over}", ("player", names), ("co-player", names), cells)


def heat_map_figure(maps: Sequence[HeatMap]) -> Figure:
    """Draw maps of the same grid on one scale of colours: beside one another, or one below the other if they are wide.

    Args:
        maps: at least one; all have the axes of the first.

    Returns:
        The figure; every cell carries its mean and, smaller, its interval.
    """
    size = _Size.of(maps)
    means = [cell[0] for each in maps for line in each.cells for cell in line if cell is not None]
    low, most = (min(means), max(means)) if means else (0.0, 1.0)
    with style():
        figure = new_figure(size.width, size.height)
        for i, each in enumerate(maps):
            axes = figure.add_axes(size.box(i))
            _panel(axes, each, low, max(most, low + 1e-9), named=i == 0 or size.stacked)
    return figure


@dataclass(frozen=True)
class _Size:
    """Where the panels are, in pixels."""

    panels: int
    left: float
    wide: float
    high: float
    below: float
    stacked: bool

    @classmethod
    def of(cls, maps: Sequence[HeatMap]) -> _Size:
        first = maps[0]
        lines, columns = ([_wrapped(name) for name in axis[1]] for axis in (first.down, first.across))
        letters, heights = [_longest(name) for name in columns], [name.count("\n") for name in columns]
        cell = max(_CELL[0], _LETTER * max(letters) + 10)
        wide = max(cell * len(columns), 1.1 * _LETTER * max(len(plain(each.title)) for each in maps))
        left = 36 + _LETTER * max(_longest(name) for name in lines)
        below = BOTTOM + 13 * max(heights)
        stacked = left + len(maps) * (wide + _GAP) > _WIDEST
        return cls(len(maps), left, wide, _CELL[1] * len(lines), below, stacked)

    @property
    def width(self) -> float:
        return self.left + (1 if self.stacked else self.panels) * (self.wide + _GAP)

    @property
    def height(self) -> float:
        return (self.panels if self.stacked else 1) * (_TOP + self.high + self.below)

    def box(self, panel: int) -> tuple[float, float, float, float]:
        """A panel's axes as shares of the figure: left, bottom, width, height."""
        across, down = (0, panel) if self.stacked else (panel, 0)
        x = self.left + across * (self.wide + _GAP)
        y = self.height - (down + 1) * (_TOP + self.high + self.below) + self.below
        return x / self.width, y / self.height, self.wide / self.width, self.high / self.height


def _wrapped(name: str) -> str:
    """The name of a tick, on lines of at most ``_LETTERS`` letters; broken after an underscore rather than within a word."""
    lines = textwrap.wrap(plain(name).replace("_", "_ "), _LETTERS)
    return "\n".join(line.replace("_ ", "_") for line in lines) or " "


def _longest(name: str) -> int:
    return max(map(len, name.split("\n")))


def heat_map_svg(maps: Sequence[HeatMap], *, prefix: str) -> str:
    """The figure as a ``<figure>`` element no wider than it is drawn; see :func:`coplay.report.svg.inline`."""
    with style():
        markup = inline(heat_map_figure(maps), prefix=prefix, label="; ".join(each.title for each in maps))
    width = _Size.of(maps).width
    return f'<figure style="max-width:{width:.0f}px;min-width:{min(width, LEAST):.0f}px">{markup}</figure>'


def _panel(axes: Axes, shown: HeatMap, low: float, most: float, *, named: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb

    colours, norm = LinearSegmentedColormap.from_list("outcomes", DENSITY), Normalize(low, most)
    grid = np.array([[np.nan if cell is None else cell[0] for cell in line] for line in shown.cells])
    axes.pcolormesh(np.ma.masked_invalid(grid), cmap=colours, norm=norm, edgecolors=PAPER.light, linewidth=2)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_title(plain(shown.title), loc="left", fontsize=11, color=INK.light, parse_math=False)
    axes.set_xlabel(plain(shown.across[0]), parse_math=False)
    for axis, ticks in ((axes.xaxis, shown.across[1]), (axes.yaxis, shown.down[1] if named else ())):
        axis.set_ticks([i + 0.5 for i in range(len(ticks))], [_wrapped(name) for name in ticks])
        for label in axis.get_ticklabels():
            label.set_parse_math(False)
    axes.spines["bottom"].set_visible(False)
    if named:
        axes.set_ylabel(plain(shown.down[0]), parse_math=False)
    for y, line in enumerate(shown.cells):
        for x, cell in enumerate(line):
            if cell is None:
                continue
            mean, half = cell
            red, green, blue = to_rgb(colours(norm(mean)))
            ink = _DARK_TEXT if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else _LIGHT_TEXT
            lines = [(0.5 if half is None else 0.36, number(mean), 11.0)]
            lines += [] if half is None else [(0.7, f"± {number(half)}", 8.5)]
            for down, text, size in lines:
                axes.text(x + 0.5, y + down, text, fontsize=size, ha="center", va="center", color=ink)
