"""Evaluations as tables for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coplay.evaluation.summary import Aggregate, Estimate, SeatEstimate, SeatSummary, Summary
from coplay.statistics import Interval
from coplay.terminal.tables import align


def table(report: Summary) -> str:
    """The summary of one match as text for a person."""
    rows = [_summary_row(seat, s, report["episodes"]) for seat, s in report["seats"].items()]
    return _table(_head(report) + "; ± is the 95% interval over episodes", rows, report["states"])


def seeds_table(report: Aggregate) -> str:
    """The summary over seeds as text for a person."""
    head = f"{_head(report)} x {len(report['seeds'])} seeds; ± is the 95% interval over seeds"
    rows = [_estimate_row(seat, s) for seat, s in report["seats"].items()]
    return _table(head, rows, {state: estimate["mean"] for state, estimate in report["states"].items()})


def _head(report: Summary | Aggregate) -> str:
    return f"{report['game']}, {report['rounds']} rounds, {report['episodes']} episodes"


def _table(head: str, rows: Sequence[Sequence[str]], states: Mapping[str, float]) -> str:
    columns = ["seat", "player", "per round", "total", "illegal", "actions"]
    return "\n".join([head, "", *align([columns, *rows]), "", "states  " + _shares(states)])


def _summary_row(seat: str, s: SeatSummary, episodes: int) -> list[str]:
    per_round = "-" if s["per_round"] is None else str(Interval(s["per_round"], s["ci95"], episodes))
    return [seat, s["player"], per_round, f"{s['total']:.2f}", f"{s['illegal']:.1%}", _shares(s["actions"])]


def _estimate_row(seat: str, s: SeatEstimate) -> list[str]:
    per_round = "-" if s["per_round"] is None else _written(s["per_round"])
    shares = _shares({action: estimate["mean"] for action, estimate in s["actions"].items()})
    return [seat, s["player"], per_round, _written(s["total"]), f"{s['illegal']['mean']:.1%}", shares]


def _written(estimate: Estimate) -> str:
    return str(Interval(estimate["mean"], estimate["ci95"], estimate["n"]))


def _shares(shares: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {share:.1%}" for name, share in shares.items())
