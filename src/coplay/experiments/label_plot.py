"""The figure of first policies: where a model starts for every pair of action labels, as in ShapeLLM's Figure 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coplay.experiments.labels import LabelPolicy
from coplay.report.canvas import STYLE
from coplay.report.palette import DENSITY, INK, MUTED, PAPER, STATES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

CELLS = 20
"""Cells along each axis of a heat map."""

MAX_TITLE = 80
"""Length to which a title is cut, in characters: what fits beside the legend."""

_SIZE = (14.0, 3.5)
"""Inches: five square panels beside one another."""


def density(policies: Sequence[LabelPolicy], prompt: int) -> NDArray[np.float64]:
    """How many pairs of labels lead to each policy under one of the five prompts.

    Returns:
        Counts [CELLS, CELLS] over the unit square; the first axis is P(first action), the second P(second action).
    """
    first = [min(1.0, policy.first[prompt]) for policy in policies]
    second = [min(1.0, policy.second[prompt]) for policy in policies]
    counts: NDArray[np.float64] = np.histogram2d(first, second, bins=CELLS, range=((0, 1), (0, 1)))[0]
    return counts


def label_figure(
    policies: Sequence[LabelPolicy],
    *,
    title: str,
    actions: tuple[str, str],
    prompts: Sequence[str],
    target: float | None = None,
) -> Figure:
    """A heat map for each prompt: P(first action) across, P(second action) up, and how many pairs of labels start there.

    Args:
        policies: one a pair of labels. The first is marked if there is a target: it is taken to be the nearest.
        title: what was measured on what.
        actions: the seat's actions.
        prompts: a short name for each prompt.
        target: a wanted P(first action), to be marked.
    """
    return _figure([(title, policies)], actions, prompts, target)


def label_rows_figure(
    rows: Sequence[tuple[str, Sequence[LabelPolicy]]], *, actions: tuple[str, str], prompts: Sequence[str]
) -> Figure:
    """The same heat maps for several models by name, a row a model, all on one scale; see :func:`label_figure`."""
    return _figure(rows, actions, prompts, None)


def _figure(
    rows: Sequence[tuple[str, Sequence[LabelPolicy]]],
    actions: tuple[str, str],
    prompts: Sequence[str],
    target: float | None,
) -> Figure:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    counts = [[density(policies, i) for i in range(len(prompts))] for _, policies in rows]
    norm = PowerNorm(
        0.5, 0, max(2.0, *(float(each.max()) for row in counts for each in row))
    )  # lone pairs stay visible
    alone = len(rows) == 1
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(_SIZE[0], _SIZE[1] * len(rows)), layout="constrained")
        FigureCanvasAgg(figure)
        parts: Sequence[Figure | SubFigure] = (
            [figure] if alone else list(figure.subfigures(len(rows), 1, squeeze=False)[:, 0])
        )
        for part, (title, policies), of_row in zip(parts, rows, counts, strict=True):
            row = part.subplots(1, len(prompts), sharex=True, sharey=True)
            for i, (axes, name, count) in enumerate(zip(row, prompts, of_row, strict=True)):
                _panel(axes, count, norm, rasterized=alone)
                axes.set_title(name, fontsize=11, parse_math=False)
                if target is not None:
                    for mark in (
                        _dot([policies[0].first[i]], [policies[0].second[i]]),
                        _diamond(target, halo=True),
                        _diamond(target),
                    ):
                        axes.add_line(mark)
            row[0].set_ylabel(f"P({actions[1]})", parse_math=False)
            row[len(prompts) // 2].set_xlabel(f"P({actions[0]})", parse_math=False)
            _colour_bar(row[-1], norm)
            _title(part, title)
            if target is not None:
                nearest = f"nearest pair: {'/'.join(policies[0].labels)}"
                _legend(figure, f"wanted: P({actions[0]}) = {target:g}", nearest)
        return figure


def _colours() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("pairs", DENSITY)


def _panel(axes: Axes, counts: NDArray[np.float64], norm: Normalize, *, rasterized: bool = True) -> None:
    """One heat map; empty cells stay white, and no policy lies beyond the diagonal."""
    edges = np.linspace(0, 1, CELLS + 1)
    axes.plot([0, 1], [1, 0], color=MUTED.light, linewidth=0.8, zorder=1)
    shown = np.ma.masked_equal(counts.T, 0)
    axes.pcolormesh(edges, edges, shown, cmap=_colours(), norm=norm, zorder=2, rasterized=rasterized)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_linewidth(0.8)


def _diamond(x: float | None = None, *, halo: bool = False) -> Line2D:
    """The mark of the wanted policy, P(first action) = ``x``; for the legend without a place."""
    from matplotlib.lines import Line2D

    x_data, y_data = ([], []) if x is None else ([x], [1 - x])
    edge, width = (PAPER.light, 3.4) if halo else (INK.light, 1.4)
    return Line2D(
        x_data, y_data, linewidth=0, marker="D", markersize=8, markerfacecolor="none", markeredgecolor=edge,
        markeredgewidth=width, clip_on=False, zorder=5,
    )  # fmt: skip


def _dot(x: Sequence[float] = (), y: Sequence[float] = ()) -> Line2D:
    """The mark of the nearest policy; for the legend without a place."""
    from matplotlib.lines import Line2D

    return Line2D(
        x, y, linewidth=0, marker="o", markersize=6.5, markerfacecolor=STATES[1].light, markeredgecolor=PAPER.light,
        markeredgewidth=1.0, clip_on=False, zorder=6,
    )  # fmt: skip


def _title(figure: Figure | SubFigure, title: str) -> None:
    shown = title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}\u2026"
    figure.suptitle(shown, x=0.01, ha="left", fontsize=13, fontweight="bold", parse_math=False)


def _legend(figure: Figure, wanted: str, nearest: str) -> None:
    legend = figure.legend(
        [_diamond(), _dot()], (wanted, nearest), loc="upper right", ncols=2, borderaxespad=0.2, handletextpad=0.3
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _colour_bar(last: Axes, norm: Normalize) -> None:
    """A scale beside the last panel, as high as it."""
    from matplotlib.cm import ScalarMappable

    bar = last.figure.colorbar(ScalarMappable(norm, _colours()), cax=last.inset_axes((1.06, 0, 0.06, 1)))
    assert bar.solids is not None
    bar.solids.set(rasterized=False, edgecolor="face")  # an offline page shows no embedded picture
    ticks = [n for n in (1, 5, 20, 50, 100, 200, 400, 600) if n <= (norm.vmax or 1)]
    bar.set_ticks(ticks, labels=[str(n) for n in ticks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("pairs of labels in a cell")
