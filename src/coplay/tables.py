"""Evaluations as tables for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Literal

from coplay.evaluation import Aggregate, Estimate, SeatEstimate, SeatSummary, Summary
from coplay.stats import Interval

_UNBOUNDED = 10**9
"""Letters of a line; no table is as wide."""


def table(report: Summary) -> str:
    """The summary of one match as text for a person."""
    rows = [_summary_row(seat, s, report["episodes"]) for seat, s in report["seats"].items()]
    return _table(_head(report) + "; ± is the 95% interval over episodes", rows, report["states"])


def seeds_table(report: Aggregate) -> str:
    """The summary over seeds as text for a person."""
    head = f"{_head(report)} x {len(report['seeds'])} seeds; ± is the 95% interval over seeds"
    rows = [_estimate_row(seat, s) for seat, s in report["seats"].items()]
    return _table(head, rows, {state: estimate["mean"] for state, estimate in report["states"].items()})


def align(rows: Sequence[Sequence[str]], *, numbers: bool = False, least: Sequence[int] = ()) -> list[str]:
    """Lines of a table as text: every column as wide as its widest cell, two spaces between them.

    The lines are the same on a terminal of any width, in a pipe and in a file: nothing is wrapped, cut, coloured or read as markup.

    Args:
        rows: the cells. A row may end early. Characters that cannot be printed, such as line ends, are written as Python writes them.
        numbers: whether all columns but the first hold numbers, which stand to the right.
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
        grid.add_row(*(Text(_printable(cell)) for cell in row))
    written = StringIO()
    plain = Console(
        file=written, width=_UNBOUNDED, height=1, color_system=None, force_terminal=False, force_jupyter=False
    )
    plain.print(grid)
    return [line.rstrip() for line in written.getvalue().removesuffix("\n").split("\n")]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _head(report: Summary | Aggregate) -> str:
    return f"{report['game']}, {report['rounds']} rounds, {report['episodes']} episodes"


def _table(head: str, rows: Sequence[Sequence[str]], states: Mapping[str, float]) -> str:
    columns = ["seat", "player", "per round", "total", "illegal", "actions"]
    return "\n".join([head, "", *align([columns, *rows]), "", "states  " + _shares(states)])


def _summary_row(seat: str, s: SeatSummary, episodes: int) -> list[str]:
    ci95 = s["ci95"] if episodes > 1 else None
    per_round = "-" if s["per_round"] is None else str(Interval(s["per_round"], ci95, episodes))
    return [seat, s["player"], per_round, f"{s['total']:.2f}", f"{s['illegal']:.1%}", _shares(s["actions"])]


def _estimate_row(seat: str, s: SeatEstimate) -> list[str]:
    per_round = "-" if s["per_round"] is None else _written(s["per_round"])
    shares = _shares({action: estimate["mean"] for action, estimate in s["actions"].items()})
    return [seat, s["player"], per_round, _written(s["total"]), f"{s['illegal']['mean']:.1%}", shares]


def _written(estimate: Estimate) -> str:
    return str(Interval(estimate["mean"], estimate["ci95"], estimate["n"]))


def _shares(shares: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {share:.1%}" for name, share in shares.items())
