"""What ``coplay export`` can write, by name."""

from __future__ import annotations

from pathlib import Path

from coplay.auditing.written import RECORD as AUDIT
from coplay.errors import UsageError
from coplay.export.games import GameLog, read_games
from coplay.export.names import Format, Table
from coplay.export.tables import table_frame

_SUFFIXES: dict[Format, str] = {
    "inspect": ".eval",
    "every-eval-ever": "-every-eval-ever",
    "csv": ".csv",
    "parquet": ".parquet",
}


def export(path: Path, to: Format, out: Path | None = None, *, table: Table | None = None) -> list[Path]:
    """Write a directory in the form of another tool.

    Args:
        path: the directory of a run, of recorded games, or (as a table) of an audit.
        to: the form.
        out: the file, or for ``every-eval-ever`` the directory; by default it lies beside the directory and has its name.
        table: for ``csv`` and ``parquet``: which table, by default the first that the directory has.

    Returns:
        What was written.

    Raises:
        UsageError: if the directory has nothing of the kind, something is there already, or a package is missing.
    """
    if not path.is_dir():
        raise UsageError(f"there is no directory {path}")
    if to in ("csv", "parquet"):
        from coplay.export.tables import write_csv, write_parquet

        found = table_frame(path, table)
        target = out or _beside(path, f"{f'-{table}' if table else ''}{_SUFFIXES[to]}")
        (write_csv if to == "csv" else write_parquet)(found, target)
        return [target]
    if table is not None:
        raise UsageError(f"--table goes with --to csv and parquet, not with {to}")
    target = out or _beside(path, _SUFFIXES[to])
    log = _games(path, to)
    if to == "every-eval-ever":
        from coplay.export.every_eval_ever import write_every_eval_ever

        return write_every_eval_ever(log, target)
    from coplay.export.inspect_log import write_inspect_log

    if not log.games:
        raise UsageError(f"{path} has no complete games yet")
    write_inspect_log(log, target)
    return [target]


def _games(path: Path, to: Format) -> GameLog:
    if (path / AUDIT).exists():
        raise UsageError(
            f"{path} is an audit, which keeps no games; {to} takes a run or recorded games, csv takes all three"
        )
    return read_games(path)


def _beside(path: Path, suffix: str) -> Path:
    """The path that the directory's has with a suffix, also where it is given as ``.``."""
    whole = path.resolve()
    return (path.parent if path.name else whole.parent) / f"{whole.name}{suffix}"
