"""The page of a figure alone: what it shows, of whom, and the figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from coplay.files.writing import write_file
from coplay.report.canvas import style
from coplay.report.page import environment, styles
from coplay.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 560
"""Width in pixels below which a figure is no longer made smaller with the page: it scrolls."""


def write_figure(page: Path, drawn: Figure, *, title: str, caption: str, players: str | None) -> Path:
    """Write ``report.html`` into a directory and return its path.

    Args:
        page: the directory.
        drawn: the figure.
        title: the page's title.
        caption: what is drawn.
        players: who plays, where no language model learns.
    """
    with style():
        svg = inline(drawn, prefix="f", label=caption)
    width = drawn.get_figwidth() * drawn.dpi
    context = {
        "title": title,
        "caption": caption,
        "players": players,
        "styles": Markup(styles()),
        "figure": Markup(svg),
        "most": f"{width:.0f}",
        "least": f"{min(width, _LEAST):.0f}",
    }
    write_file(page, "report.html", environment().get_template("figure.html.j2").render(context))
    return page / "report.html"
