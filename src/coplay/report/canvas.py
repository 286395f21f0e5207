"""What every figure of a report is drawn on: the style, sizes in pixels, and text as matplotlib can set it.

Matplotlib is imported where it is first needed and drawn with the Agg canvas, so nothing here wants a display. Colours are the
print colours of :mod:`coplay.report.palette`; :mod:`coplay.report.svg` turns them into the page's variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from coplay.files.writing import write_file
from coplay.report.palette import INK, MUTED, RULE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 400
"""Width of a panel in pixels. A point is a pixel of the page's SVG, so text stays readable from a telephone to a desktop."""

LEFT, RIGHT, BOTTOM = 54, 40, 40
"""Margins beside and below every axes, in pixels: the same in all, so that panels set one above another line up."""

MAX_CHARACTERS = 48
"""The most characters of a text in a figure."""

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
"""Matplotlib's settings for every figure."""


@contextmanager
def style() -> Iterator[None]:
    """Within the block, figures are drawn and saved in the report's style."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of that many pixels, apart from pyplot's state and from any display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasAgg(figure)
    return figure


def add_axes(
    figure: Figure, height: float, top: float, *, x: float = 0, y: float = 0, left: float = LEFT, right: float = RIGHT
) -> Axes:
    """Axes within a box ``WIDTH`` wide whose upper left corner is at (x, y), all in pixels from the upper left."""
    whole_width, whole_height = (72 * inches for inches in figure.get_size_inches())
    lower = (whole_height - y - height + BOTTOM) / whole_height
    wide, high = (WIDTH - left - right) / whole_width, (height - top - BOTTOM) / whole_height
    return figure.add_axes(((x + left) / whole_width, lower, wide, high))


def legend_above(axes: Axes, handles: Sequence[Artist], labels: Sequence[str], *, columns: int) -> None:
    """A legend above the axes."""
    legend = axes.legend(
        handles,
        [plain(label) for label in labels],
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        borderaxespad=0.1,
        handlelength=2.1,
        columnspacing=1.4,
        handletextpad=0.5,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write a figure into ``figures/`` of a directory as PNG (150 dpi) and PDF; equal figures become equal files. Returns the paths."""
    names = [f"figures/{name}.{suffix}" for suffix in ("png", "pdf")]
    for file in names:
        write_file(out, file, drawn(figure, PurePath(file).suffix))
    return [out / file for file in names]


FORMATS = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
"""File endings that can be written, and the entry that is left out of each so that equal figures become equal files."""


def save_as(path: Path, figure: Figure) -> None:
    """Write a figure as PNG (150 dpi), PDF or SVG, by the path's ending."""
    write_file(path.parent, path.name, drawn(figure, path.suffix.lower()))


def drawn(figure: Figure, suffix: str) -> bytes:
    """The content of a file with that ending that shows a figure."""
    content = BytesIO()
    with style():
        figure.savefig(content, format=suffix[1:], dpi=150, metadata={FORMATS[suffix]: None})
    return content.getvalue()


def plain(text: str) -> str:
    """Text as matplotlib can draw it: printable, on one line of at most ``MAX_CHARACTERS`` characters, and not hidden from legends by a leading underscore."""
    kept = "".join(c if c.isprintable() else " " for c in text.encode("utf-8", "replace").decode())
    kept = kept if len(kept) <= MAX_CHARACTERS else kept[: MAX_CHARACTERS - 1] + "\u2026"
    return f" {kept}" if kept.startswith("_") else kept
