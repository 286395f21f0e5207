"""Tables as text for a person at a terminal, and as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from coplay.errors import missing_extra
from coplay.terminal.printable import printable

if TYPE_CHECKING:
    import pandas


def align(rows: Sequence[Sequence[str]], *, numbers: bool = False, least: Sequence[int] = ()) -> list[str]:
    """Lines of a table as text: every column as wide as its widest cell, two spaces between them.

    The lines are the same on a terminal of any width, in a pipe and in a file: nothing is wrapped, cut, coloured or read as markup.

    Args:
        rows: the cells. A row may end early. Characters that cannot be printed, such as line ends, are written as Python writes them.
        numbers: whether all columns but the first hold numbers, which are right-aligned.
        least: the least widths of the first columns.
    """
    from rich.cells import cell_len  # late: it takes a moment

    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max(column) for column in zip_longest(least, *([cell_len(cell) for cell in row] for row in shown), fillvalue=0)
    ]

    def padded(cell: str, column: int) -> str:
        space = " " * (widths[column] - cell_len(cell))
        return space + cell if numbers and column else cell + space

    return ["  ".join(padded(cell, column) for column, cell in enumerate(row)).rstrip() for row in shown]


class Column(NamedTuple):
    """A column of a data frame."""

    dtype: str
    """Its type, as pandas calls it."""
    meaning: str
    """What it holds."""


def frame(rows: Iterable[Mapping[str, object]], columns: Mapping[str, Column] | None = None) -> pandas.DataFrame:
    """Records as a data frame, a row each.

    Args:
        rows: the records.
        columns: what the frame consists of, in order, whatever rows there are; by default what the rows have.

    Raises:
        UsageError: with the install line, if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise missing_extra("pandas", "frames") from None
    if columns is None:
        return pandas.DataFrame.from_records(list(rows))
    held: dict[str, list[object]] = {name: [] for name in columns}
    for row in rows:
        for name, values in held.items():
            values.append(row.get(name))
    return pandas.DataFrame({name: pandas.Series(held[name], dtype=one.dtype) for name, one in columns.items()})
