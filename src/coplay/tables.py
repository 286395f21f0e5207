"""Tables as text for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coplay.errors import missing_extra

if TYPE_CHECKING:
    import pandas


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table as text: every column padded to its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Records as a data frame, a row each.

    Raises:
        UsageError: with the install line, if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise missing_extra("pandas", "frames") from None
    return pandas.DataFrame.from_records(list(rows))
