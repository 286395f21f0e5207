"""What a single complete game comes to for each seat, named as the metrics of training are."""

from __future__ import annotations

from collections.abc import Sequence

from coplay.games.records import EpisodeRecord
from coplay.play.rows import game_rows

MEASURES = {
    "reward": "mean payoff per round, over rounds that are not void",
    "illegal": "share of the rounds in which a reply of the seat could not be parsed, among those in which it was asked",
    "cooperate": "share of cooperative rounds among those in which its conduct is known",
}
"""Each measure of a seat, and what it is."""


def measures_of(game: EpisodeRecord) -> dict[str, float]:
    """``reward/SEAT``, ``illegal/SEAT`` and, in games whose states are letters C and D, ``cooperate/SEAT``; only those that have a value."""
    found: dict[str, float | None] = {}
    rows = list(game_rows([game]))
    for place, seat in enumerate(game["players"]):
        own = [row for row in rows if row["seat"] == seat]
        paid = [row["payoff"] for row in own if not row["void"] and row["payoff"] is not None]
        found[f"reward/{seat}"] = mean([float(str(payoff)) for payoff in paid])
        found[f"illegal/{seat}"] = mean([float(not row["legal"]) for row in own if row["legal"] is not None])
        found[f"cooperate/{seat}"] = mean([float(one == "C") for one in _letters(game, place) if one in "CD"])
    return {name: value for name, value in found.items() if value is not None}


def _letters(game: EpisodeRecord, place: int) -> str:
    """What a seat did in each round, in letters; empty where the states are no letters of C, D, - and I."""
    states, seats = game["states"], len(game["players"])
    known = all(set(state) <= set("CDI-") and (len(state) == seats or state == "I") for state in states)
    return "".join(state[place] if len(state) == seats else state for state in states) if known else ""


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None
