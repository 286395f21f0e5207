"""Games as rows of a data frame: one for each seat and round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coplay.games.records import EpisodeRecord, RoundRecord, shown_action
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
    "void": Column("bool", "whether the round counts neither in memories nor in mean payoffs"),
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
    "told": Column(
        "string", "what it alone, or not every seat, was told of what others did, such as a mediator's message"
    ),
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
        for number, (state, one) in enumerate(zip(record["states"], record["rounds"], strict=True), 1):
            for seat, player in record["players"].items():
                where = {"round": number, "seat": seat, "player": player, "state": state}
                yield {**of_game, **where, **_turn(one, seat)}


def _turn(one: RoundRecord, seat: str) -> dict[str, object]:
    """What a seat did in a round, and what it was told and paid."""
    own = [act for act in one["acts"] if act["seat"] == seat]
    earlier, last = own[:-1], own[-1] if own else None
    action = None if last is None else shown_action(last)
    messages = [words for act in earlier if act["phase"] == MESSAGE and (words := shown_action(act))]
    others = [shown_action(act) or "" for act in earlier if act["phase"] != MESSAGE]
    probs = {} if last is None else last.get("probs", {})
    return {
        "action": action,
        "void": one.get("void", False),
        "legal": all(act["action"] is not None for act in own) if own else None,
        "payoff": one["payoffs"][seat],
        "message": "\n".join(messages) if messages else None,
        "before": "; ".join(others) if others else None,
        "prompt": None if last is None else last.get("prompt"),
        "reply": None if last is None else last["reply"],
        "probability": probs.get(action) if isinstance(probs, dict) and action is not None else None,
        "dealt": one.get("dealt", {}).get(seat),
        "told": told_to(one, seat),
        "retries": 0 if last is None else last.get("retries", 0),
        "fallback": last is not None and last.get("fallback", False),
    }


def told_to(one: RoundRecord, seat: str) -> str | None:
    """What a seat was told in a round of acts that not all others may know of; None if nothing."""
    texts = [readers[seat] for act in one["acts"] if seat in (readers := act.get("readers") or {})]
    return "\n".join(texts) if texts else None
