"""Metrics and evaluations as rows of data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from coplay.evaluation.summary import Summary
from coplay.terminal.tables import Column

METRIC_COLUMNS: dict[str, Column] = {
    "seed": Column("int64", "the seed"),
    "trial": Column("int64", "the trial, from 1"),
    "metric": Column("string", "the metric: of `reward/row` the part before the slash"),
    "of": Column("string", "what it is of: the part after the slash, a seat, a learner or a state; empty without one"),
    "value": Column("float64", "the number; missing if the metric had no occasion in the trial, or is text"),
    "text": Column("string", "the text of `note` and `diverged`; missing for numbers"),
}
"""The columns of metrics, long."""

SEAT_COLUMNS: dict[str, Column] = {
    "seed": Column("int64", "the seed"),
    "seat": Column("string", "the seat"),
    "player": Column("string", "who sat there"),
    "episodes": Column("int64", "number of games"),
    "total": Column("float64", "mean over games of the payoffs summed over rounds that are not void"),
    "per_round": Column("float64", "mean over games of the mean payoff of these rounds; missing if there were none"),
    "ci95": Column("float64", "half-width of the 95 % interval of `per_round` over games; missing for a single game"),
    "illegal": Column("float64", "share of its replies that could not be parsed"),
}
"""The columns of an evaluation."""

_NOT_METRICS = ("version", "step", "seed")


def metric_rows(lines: Iterable[Mapping[str, object]]) -> Iterator[dict[str, object]]:
    """A row for each seed, trial and metric, with :data:`METRIC_COLUMNS`.

    Args:
        lines: those of ``metrics.jsonl``.
    """
    for line in lines:
        for key, value in line.items():
            if key in _NOT_METRICS:
                continue
            metric, _, of = key.partition("/")
            is_text = isinstance(value, str)
            yield {
                "seed": line["seed"],
                "trial": line["step"],
                "metric": metric,
                "of": of,
                "value": None if is_text else value,
                "text": value if is_text else None,
            }


def seat_rows(by_seed: Mapping[str, Summary]) -> Iterator[dict[str, object]]:
    """A row for each seed and seat, with :data:`SEAT_COLUMNS`.

    Args:
        by_seed: the evaluation of each seed, as in ``eval.json``.
    """
    for number, summary in by_seed.items():
        for seat, one in summary["seats"].items():
            yield {"seed": int(number), "seat": seat, "episodes": summary["episodes"], **one}
