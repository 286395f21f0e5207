"""Games as rows of a data frame: one for each seat and round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coplay.games.records import EpisodeRecord
from coplay.terminal.tables import Column

MESSAGE = "message"
"""The phase in which seats tell others something."""

GAME_COLUMNS: dict[str, Column] = {
    "seed": Column("int64", "the seed"),
    "trial": Column("int64", "the trial, from 1; always 1 in games that were played outside training"),
    "game": Column("int64", "the game among the seed's parallel games, from 0"),
    "episode": Column("int64", "the episode within the trial, from 1"),
    "round": Column("int64", "the round within the episode, from 1"),
    "seat": Column("string", "the seat"),
    "player": Column("string", "who sat there"),
    "state": Column("string", "what all seats did in the round, as in `states` of the file"),
    "action": Column("string", "the action its last reply was parsed as; missing if there is none"),
    "legal": Column("boolean", "whether all its replies of the round could be parsed; missing if it was not asked"),
    "payoff": Column("float64", "what the round paid it; missing if the round was void for it"),
    "message": Column("string", "what it told others in the round, a line a message; missing if it sent none"),
    "before": Column("string", "its other actions of the round before the last one, with `; ` between them"),
    "prompt": Column("string", "the exact text it read before its last reply; missing where the player reads none"),
    "reply": Column("string", "its last reply as it was given"),
    "probability": Column(
        "float64", "the probability with which it took the action; missing if the player does not tell it"
    ),
    "dealt": Column("string", "what it was dealt, in words"),
    "told": Column("string", "what a mediator wrote to it"),
    "retries": Column("int64", "replies that were discarded before the last one"),
    "fallback": Column("bool", "whether the last reply named no action, and the model was then made to choose one"),
}
"""The columns of games."""


def game_rows(records: Iterable[EpisodeRecord]) -> Iterator[dict[str, object]]:
    """A row for each game, round and seat, with :data:`GAME_COLUMNS`.

    Args:
        records: games as ``episodes.jsonl`` keeps them.
    """
    for record in records:
        of_game = {
            "seed": record["seed"],
            "trial": record["step"],
            "game": record["game"],
            "episode": record["episode"],
        }
        for number, state in enumerate(record["states"]):
            for seat, one in record["seats"].items():
                where = {"round": number + 1, "seat": seat, "player": one["player"], "state": state}
                yield {**of_game, **where, **_turn(one["turns"][number])}


def _turn(turn: Mapping[str, Any]) -> dict[str, object]:
    """What a seat did in a round."""
    earlier: Sequence[Mapping[str, Any]] = turn.get("before", ())
    said = [*earlier, turn]
    messages = [one["action"] for one in earlier if one["phase"] == MESSAGE and one["action"]]
    others = [one["action"] or "" for one in earlier if one["phase"] != MESSAGE]
    probs = turn.get("probs") or {}
    return {
        "action": turn["action"],
        "legal": None if turn["reply"] is None else all(one["action"] is not None for one in said),
        "payoff": turn["payoff"],
        "message": "\n".join(messages) if messages else None,
        "before": "; ".join(others) if others else None,
        "prompt": turn["prompt"],
        "reply": turn["reply"],
        "probability": probs.get(turn["action"]),
        "dealt": turn.get("dealt"),
        "told": turn.get("told"),
        "retries": turn.get("retries", 0),
        "fallback": turn.get("fallback", False),
    }
