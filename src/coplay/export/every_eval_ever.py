"""Evaluations in the form of Every Eval Ever (https://github.com/evaleval/every_eval_ever, schema 0.3.0): a JSON document for each seat's player."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from coplay.errors import UsageError
from coplay.export.games import GameLog, Seated
from coplay.files.writing import json_text, new_directory, write_file

SCHEMA = "0.3.0"
"""The version of the schema."""

_URL = "https://pypi.org/project/coplay/"

_KINDS = {
    "per_round": ("mean payoff per round, over rounds that are not void", "points", None),
    "total": ("mean over games of the payoffs summed over rounds that are not void", "points", None),
    "illegal": ("share of replies that could not be parsed", "proportion", (0.0, 1.0)),
}
"""Of each measure but those of actions: what it is, its unit, and its bounds."""


def write_every_eval_ever(log: GameLog, out: Path, *, now: float | None = None) -> list[Path]:
    """Write a new directory with ``SEAT.json`` for each seat.

    Args:
        log: the games with their evaluation.
        out: the directory.
        now: the time, in seconds since 1970; by default that of the clock.

    Returns:
        The files.

    Raises:
        UsageError: if there is no evaluation, or the directory is taken.
    """
    if not log.seats:
        raise UsageError(
            f"{log.path} has no evaluation yet, and Every Eval Ever holds evaluations; finish the run first"
        )
    with new_directory(out) as temporary:
        for seat in log.seats:
            write_file(temporary, f"{seat}.json", json_text(evaluation_record(log, seat, now=now)))
    return [out / f"{seat}.json" for seat in log.seats]


def evaluation_record(log: GameLog, seat: str, *, now: float | None = None) -> dict[str, Any]:
    """The document about a seat's player.

    Args:
        log: the games with their evaluation.
        seat: the seat.
        now: see :func:`write_every_eval_ever`.
    """
    one, started = log.seats[seat], str(log.environment.get("started", ""))
    others = {other: found.player for other, found in log.seats.items() if other != seat}
    version = str(dict(log.environment.get("packages", {})).get("coplay", "unknown"))
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"coplay/{log.game}/{_identity(one.player)}/{log.name}-{seat}/{_seconds(started)}",
        "evaluation_timestamp": started,
        "retrieved_timestamp": str(time.time() if now is None else now),
        "source_metadata": {
            "source_name": "coplay",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "coplay", "version": version, "additional_details": {"url": _URL}},
        "model_info": {
            "name": one.player,
            "id": _identity(one.player),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown", "seat": seat},
        },
        "evaluation_results": list(_results(log, seat, one, others, started)),
    }


def _results(log: GameLog, seat: str, one: Seated, others: dict[str, str], started: str) -> Iterator[dict[str, Any]]:
    for name, (value, half) in one.numbers.items():
        meaning, unit, bounds = _KINDS.get(name) or (
            f"share of {name.partition('/')[2]} among its actions",
            "proportion",
            (0.0, 1.0),
        )
        score: dict[str, Any] = {"score": value, "details": {"seat": seat, "games": str(log.evaluated)}}
        if half is not None:
            interval = {"lower": value - half, "upper": value + half, "confidence_level": 0.95}
            score["uncertainty"] = {"confidence_interval": {**interval, "method": f"t-interval over {log.intervals}"}}
        low, high = bounds or ("-Infinity", "Infinity")
        yield {
            "evaluation_result_id": f"{log.game}/{seat}/{name}",
            "evaluation_name": f"{log.game}, {log.rounds} rounds",
            "source_data": {
                "dataset_name": f"coplay/{log.game}",
                "source_type": "other",
                "additional_details": {"rounds": str(log.rounds), **{f"player/{k}": v for k, v in others.items()}},
            },
            **({"evaluation_timestamp": started} if started else {}),
            "metric_config": {
                "evaluation_description": f"{seat}: {meaning}",
                "metric_id": f"coplay.{name}",
                "metric_name": name,
                "metric_unit": unit,
                "lower_is_better": name == "illegal",
                "score_type": "continuous",
                "min_score": low,
                "max_score": high,
            },
            "score_details": score,
        }


def _identity(player: str) -> str:
    """A player's name as an identifier with one slash: the Hub's id of a model, else its name under ``coplay``."""
    name = player.removeprefix("hf:")
    return name if name.count("/") == 1 and not name.startswith((".", "/")) else f"coplay/{name.replace('/', '-')}"


def _seconds(started: str) -> str:
    """A time in ISO's form as seconds since 1970; 0 if it is none."""
    try:
        return str(int(datetime.fromisoformat(started).timestamp()))
    except ValueError:
        return "0"
