"""Tables as text for a person at a terminal, and as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Literal

from coplay.errors import missing_extra
from coplay.terminal.printable import printable

if TYPE_CHECKING:
    import pandas

_UNBOUNDED = 10**9
"""Characters of a line; no table is as wide."""


def align(rows: Sequence[Sequence[str]], *, numbers: bool = False, least: Sequence[int] = ()) -> list[str]:
    """Lines of a table as text: every column as wide as its widest cell, two spaces between them.

    The lines are the same on a terminal of any width, in a pipe and in a file: nothing is wrapped, cut, coloured or read as markup.

    Args:
        rows: the cells. A row may end early. Characters that cannot be printed, such as line ends, are written as Python writes them.
        numbers: whether all columns but the first hold numbers, which are right-aligned.
        least: the least widths of the first columns.
    """
    if not rows:
        return []
    from rich.console import Console  # late: it takes a moment
    from rich.table import Table
    from rich.text import Text

    grid, columns = Table.grid(padding=(0, 2, 0, 0)), max(map(len, rows))
    for i, width in enumerate([*least, *[0] * columns][:columns]):
        justify: Literal["left", "right"] = "right" if numbers and i else "left"
        grid.add_column(justify=justify, min_width=width, no_wrap=True, overflow="crop")
    for row in rows:
        grid.add_row(*(Text(printable(cell)) for cell in row))
    written = StringIO()
    plain = Console(
        file=written, width=_UNBOUNDED, height=1, color_system=None, force_terminal=False, force_jupyter=False
    )
    plain.print(grid)
    return [line.rstrip() for line in written.getvalue().removesuffix("\n").split("\n")]


def frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Records as a data frame, a row each.

    Raises:
        UsageError: with the install line, if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise missing_extra("pandas", "frames") from None
    return pandas.DataFrame.from_records(list(rows))
