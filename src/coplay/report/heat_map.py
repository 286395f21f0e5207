"""Heat maps of a grid of outcomes: settings, or who met whom; a panel a seat, a number in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coplay.report.canvas import BOTTOM, new_figure, plain, style
from coplay.report.formats import figure as number
from coplay.report.palette import DENSITY, INK, PAPER
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Number = tuple[float, float | None]
"""A cell's mean and the half-width of its 95 % interval, if it has one."""

_CELL = (74, 40)
"""Width and height of a cell in pixels."""

_LETTER = 6.2
"""Width of a letter of the tick labels, in pixels, about."""

_TOP, _GAP = 30, 26
"""Space above a panel and between two, in pixels."""

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


def heat_map_figure(maps: Sequence[HeatMap]) -> Figure:
    """Draw maps of the same grid beside one another, on one scale of colours.

    Args:
        maps: at least one; all have the axes of the first.

    Returns:
        The figure; every cell carries its mean and, smaller, its interval.
    """
    first = maps[0]
    names, columns = first.down[1], first.across[1]
    left = 30 + _LETTER * max(len(name) for name in names)
    cell = max(_CELL[0], _LETTER * max(len(name) for name in columns) + 10)
    wide = [max(cell * len(columns), 1.1 * _LETTER * len(plain(each.title))) for each in maps]
    high = _CELL[1] * len(names)
    width, height = left + sum(wide) + _GAP * len(maps), _TOP + high + BOTTOM
    means = [cell[0] for each in maps for line in each.cells for cell in line if cell is not None]
    low, most = (min(means), max(means)) if means else (0.0, 1.0)
    with style():
        figure = new_figure(width, height)
        x = left
        for i, each in enumerate(maps):
            axes = figure.add_axes((x / width, BOTTOM / height, wide[i] / width, high / height))
            _panel(axes, each, low, max(most, low + 1e-9), named=i == 0)
            x += wide[i] + _GAP
    return figure


def heat_map_svg(maps: Sequence[HeatMap], *, prefix: str) -> str:
    """The figure as markup for a page; see :func:`coplay.report.svg.inline`."""
    with style():
        return inline(heat_map_figure(maps), prefix=prefix, label="; ".join(each.title for each in maps))


def _panel(axes: Axes, shown: HeatMap, low: float, most: float, *, named: bool) -> None:
    from matplotlib.colors import Normalize, to_rgb

    colours, norm = _colours(), Normalize(low, most)
    grid = np.array([[np.nan if cell is None else cell[0] for cell in line] for line in shown.cells])
    axes.pcolormesh(np.ma.masked_invalid(grid), cmap=colours, norm=norm, edgecolors=PAPER.light, linewidth=2)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_title(plain(shown.title), loc="left", fontsize=11, color=INK.light, parse_math=False)
    axes.set_xlabel(plain(shown.across[0]), parse_math=False)
    for axis, ticks in ((axes.xaxis, shown.across[1]), (axes.yaxis, shown.down[1] if named else ())):
        axis.set_ticks([i + 0.5 for i in range(len(ticks))], [plain(name) for name in ticks])
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
            dark = sum(
                weight * part for weight, part in zip((0.3, 0.59, 0.11), to_rgb(colours(norm(mean))), strict=True)
            )
            ink = _DARK_TEXT if dark > 0.5 else _LIGHT_TEXT
            text: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            axes.text(x + 0.5, y + (0.5 if half is None else 0.36), number(mean), fontsize=11, **text)
            if half is not None:
                axes.text(x + 0.5, y + 0.7, f"± {number(half)}", fontsize=8.5, **text)


def _colours() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("outcomes", DENSITY)
