"""Evaluations as tables for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coplay.evaluation.mediation_tables import mediation_table
from coplay.evaluation.summary import Aggregate, Estimate, SeatEstimate, SeatSummary, Summary, diverged_seeds, told_of
from coplay.statistics import Interval
from coplay.terminal.tables import align
from coplay.text.rendering import counted, join

ALL_ILLEGAL = "try other labels (coplay labels), another chat format (chat=) or alignment (coplay align)"
"""What to do about a model none of whose replies can be parsed."""


def table(report: Summary, *, game: str | None = None) -> str:
    """The summary of one match as text for a person.

    Args:
        report: the summary.
        game: what to call the game if its name does not say all, e.g. ``ipd with payoffs 3,0,5,1``.
    """
    rows = [_summary_row(seat, s, report["episodes"]) for seat, s in report["seats"].items()]
    over = "; ± is the 95% interval over episodes" if report["episodes"] > 1 else ""
    text = _table(_head(report, game) + over, rows, report["states"])
    mute = _mute([seat for seat, s in report["seats"].items() if s["illegal"] == 1])
    return "\n\n".join(filter(None, [text, _mediation(report), mute]))


def seeds_table(report: Aggregate) -> str:
    """The summary over seeds as text for a person."""
    over = "; ± is the 95% interval over seeds" if len(report["seeds"]) > 1 else ""
    head = f"{_head(report)} x {counted(len(report['seeds']), 'seed')}{over}"
    rows = [_estimate_row(seat, s) for seat, s in report["seats"].items()]
    text = _table(head, rows, {state: estimate["mean"] for state, estimate in report["states"].items()})
    return "\n\n".join(filter(None, [text, _mediation(report), seeds_warning(report)]))


def diverged_lines(report: Aggregate) -> list[str]:
    """A line for each seed that has diverged."""
    return [told_of(seed, one) for seed, one in diverged_seeds(report).items()]


def seeds_warning(report: Aggregate) -> str:
    """What to do if nothing that a seat replied could be parsed; empty if all is well."""
    return _mute([seat for seat, s in report["seats"].items() if s["illegal"]["mean"] == 1])


def _mediation(report: Summary | Aggregate) -> str:
    """What the mediator did, in games with one; else empty."""
    return mediation_table(report["mediation"]) if "mediation" in report else ""


def _head(report: Summary | Aggregate, game: str | None = None) -> str:
    lengths = f"{counted(report['rounds'], 'round')}, {counted(report['episodes'], 'episode')}"
    return f"{game or report['game']}, {lengths}"


def _mute(seats: Sequence[str]) -> str:
    """What to do if nothing that a seat replied could be parsed."""
    return f"Every reply of {join(seats)} was illegal: {ALL_ILLEGAL}." if seats else ""


def _table(head: str, rows: Sequence[Sequence[str]], states: Mapping[str, float]) -> str:
    columns = ["seat", "player", "per round", "total", "illegal", "actions"]
    named = {
        state: share for state, share in states.items() if state.strip("-")
    }  # "--": actions without names, such as numbers
    closing = ["", f"states  {_shares(named)}"] if len(named) > 1 else []
    return "\n".join([head, "", *align([columns, *rows]), *closing])


def _summary_row(seat: str, s: SeatSummary, episodes: int) -> list[str]:
    per_round = "-" if s["per_round"] is None else str(Interval(s["per_round"], s["ci95"], episodes))
    illegal = _illegal(s["illegal"], s.get("fallback"))
    return [seat, s["player"], per_round, f"{s['total']:.2f}", illegal, _shares(s["actions"])]


def _estimate_row(seat: str, s: SeatEstimate) -> list[str]:
    per_round = "-" if s["per_round"] is None else _written(s["per_round"])
    shares = _shares({action: estimate["mean"] for action, estimate in s["actions"].items()})
    illegal = _illegal(s["illegal"]["mean"], s["fallback"]["mean"] if "fallback" in s else None)
    return [seat, s["player"], per_round, _written(s["total"]), illegal, shares]


def _illegal(share: float, fallback: float | None) -> str:
    """The share of illegal replies, with that of replies for which an action was chosen afterwards."""
    return f"{share:.1%}" if fallback is None else f"{share:.1%} (fallback {fallback:.1%})"


def _written(estimate: Estimate) -> str:
    return str(Interval(estimate["mean"], estimate["ci95"], estimate["n"]))


def _shares(shares: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {share:.1%}" for name, share in shares.items())
