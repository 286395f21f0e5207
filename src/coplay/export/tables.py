"""Data frames of a directory as files: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.auditing.record import MEASURE_COLUMNS, Measure, measure_rows
from coplay.auditing.written import RECORD as AUDIT
from coplay.auditing.written import read_audit
from coplay.errors import UsageError, missing_extra
from coplay.evaluation.rows import METRIC_COLUMNS, SEAT_COLUMNS, metric_rows, seat_rows
from coplay.export.games import read_games
from coplay.export.names import Table
from coplay.files.writing import new_file
from coplay.play.rows import GAME_COLUMNS, game_rows
from coplay.runs.directory import RunDirectory
from coplay.runs.recording import RECORD as RECORDING
from coplay.terminal.tables import Column, frame

if TYPE_CHECKING:
    import pandas


def tables_of(path: Path) -> tuple[Table, ...]:
    """The tables that a directory has, the most telling first."""
    if (path / AUDIT).exists():
        return ("measures",)
    return ("games",) if (path / RECORDING).exists() else ("metrics", "games", "evaluation")


def table_frame(path: Path, table: Table | None = None) -> pandas.DataFrame:
    """A table of a directory as a data frame.

    Args:
        path: the directory of a run, recorded games or an audit.
        table: the table; by default the first of :func:`tables_of`.

    Raises:
        UsageError: if the directory has no such table, or with the install line of pandas.
    """
    known = tables_of(path)
    table = known[0] if table is None else table
    if table not in known:
        raise UsageError(f"{path} has no table {table!r}; it has: {', '.join(known)}")
    rows, columns = _rows(path, table)
    return frame(rows, columns)


def _rows(path: Path, table: Table) -> tuple[Iterable[Mapping[str, object]], Mapping[str, Column]]:
    if table == "measures":
        return measure_rows(Measure(**one) for one in read_audit(path)["measures"]), MEASURE_COLUMNS
    if table == "games":
        return game_rows(read_games(path).games), GAME_COLUMNS
    run = RunDirectory.open(path)
    if table == "metrics":
        return metric_rows(run.metrics()), METRIC_COLUMNS
    return seat_rows(run.evaluation()["seeds"]), SEAT_COLUMNS


def write_csv(found: pandas.DataFrame, out: Path) -> None:
    """Write a CSV file, with a header; what is missing is empty."""
    with new_file(out) as temporary:
        found.to_csv(temporary, index=False, lineterminator="\n")


def write_parquet(found: pandas.DataFrame, out: Path) -> None:
    """Write a Parquet file, types included; raises UsageError with the install line if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise missing_extra("pyarrow", "parquet")
    with new_file(out) as temporary:
        found.to_parquet(temporary, engine="pyarrow", index=False)
