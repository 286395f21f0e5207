"""Stored games: all that a game consisted of as JSON, in ``episodes.jsonl`` of runs and ``games.jsonl`` of recordings, and games restored from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from coplay.games.base import Game
from coplay.games.memory import Observation
from coplay.games.records import (
    Act,
    Action,
    ActRecord,
    Episode,
    EpisodeRecord,
    Occupant,
    Outcome,
    Reply,
    Round,
    RoundRecord,
    Turn,
)
from coplay.play.loop import StreamNames, chance_of
from coplay.play.rules import checked_view


def episode_record(game: Game, episode: Episode, *, step: int = 1, number: int = 1) -> EpisodeRecord:
    """A game as JSON keeps it: who did what in which order, who may know of it, what was paid, and which rounds are void.

    Args:
        game: the rules.
        episode: what was played.
        step: the trial, from 1.
        number: the episode within the trial, from 1.
    """
    turns = {(turn.round, turn.phase, turn.turn, seat): turn for seat, own in episode.turns.items() for turn in own}
    record: EpisodeRecord = {
        "step": step,
        "seed": episode.seed,
        "game": episode.game,
        "episode": number,
        "states": [game.state_name(outcome) for outcome in episode.outcomes],
        "players": {seat: episode.seated[seat].name for seat in game.seats},
        "rounds": [
            _round(game, episode, one, outcome, turns)
            for one, outcome in zip(episode.rounds, episode.outcomes, strict=True)
        ],
    }
    fallback = [seat for seat in game.seats if getattr(episode.seated[seat].player, "fallback", False)]
    if fallback:
        record["fallback"] = fallback
    return record


def _round(
    game: Game, episode: Episode, one: Round, outcome: Outcome, turns: Mapping[tuple[int, str, int, str], Turn]
) -> RoundRecord:
    views = {seat: checked_view(game, one, seat) for seat in game.seats}
    if all(view.acts == one.acts for view in views.values()):
        views = {}  # nothing is hidden
    record: RoundRecord = {
        "acts": [_act(game, episode, act, turns[(one.number, *_place(act))], views) for act in one.acts],
        "payoffs": dict(one.payoffs or {}),
    }
    if outcome.void:
        record["void"] = True
    dealt = {seat: words for seat in game.seats if (words := game.show_deal(one, seat)) is not None}
    if dealt:
        record["dealt"] = dealt
    return record


def _place(act: Act) -> tuple[str, int, str]:
    """What tells an act from all others of its round."""
    return act.phase, act.turn, act.seat


def _act(game: Game, episode: Episode, act: Act, turn: Turn, views: Mapping[str, Round]) -> ActRecord:
    """An act as it is stored; ``views`` are empty where all seats see the whole round."""
    reply = turn.reply
    write = getattr(episode.seated[act.seat].player, "prompt_text", None)
    prompt = None if write is None else write(turn)
    words = None if act.action is None else game.show(act.action)
    action = None if words is None else _plain(act.action, words)
    record: ActRecord = {"seat": act.seat, "phase": act.phase, "reply": reply.text, "action": action}
    if act.turn:
        record["turn"] = act.turn
    if prompt is not None:
        record["prompt"] = prompt
    if words is not None and words != action:
        record["shown"] = words
    if not game.shows_acts:
        record["readers"] = None
    elif views and (readers := _readers(game, act, views)) is not None:
        record["readers"] = readers
    if reply.probs is not None:
        probs = [round(p, 5) for p in reply.probs]
        named = None if game.actions is None else game.actions[act.seat]
        record["probs"] = probs if named is None else dict(zip(named, probs, strict=True))
    if reply.retries:
        record["retries"] = reply.retries
    if reply.fallback:
        record["fallback"] = True
    return record


def _readers(game: Game, act: Act, views: Mapping[str, Round]) -> dict[str, str] | None:
    """The other seats that see an act in the round that is over, with what the game tells them of it; None if all others see it as it is."""
    seen = {
        seat: known
        for seat, view in views.items()
        if seat != act.seat
        for known in view.acts
        if _place(known) == _place(act)
    }
    if len(seen) == len(views) - 1 and all(known == act for known in seen.values()):
        return None
    return {seat: game.announce(known, seat) for seat, known in seen.items()}


def _plain(value: Any, otherwise: object) -> Any:
    """An action as JSON has it: lists for tuples; ``otherwise`` for what it cannot hold."""
    if isinstance(value, tuple | list):
        return [_plain(one, str(one)) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one, str(one)) for key, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return otherwise
    return value if isinstance(value, str | int | float) else otherwise


class _Recorded:
    """Who sat in a seat of a stored game: a name, and whether it had a fallback."""

    def __init__(self, name: str, *, fallback: bool) -> None:
        self.name, self.fallback = name, fallback


def recorded_episode(game: Game, record: EpisodeRecord, streams: StreamNames) -> Episode:
    """The game that :func:`episode_record` has written. Prompts and tokens are not restored; what was dealt is dealt again.

    Args:
        game: the rules.
        record: what was written.
        streams: of the deals, when it was played.

    Raises:
        KeyError, TypeError, ValueError: if it is another form.
    """
    seed, index = int(record["seed"]), int(record["game"])
    rounds: list[Round] = []
    turns: dict[str, list[Turn]] = {seat: [] for seat in game.seats}
    for number, one in enumerate(record["rounds"]):
        deal = game.deal(chance_of(game, seed, index, number, streams), tuple(rounds))
        acts = []
        for told in one["acts"]:
            act = Act(told["phase"], told.get("turn", 0), told["seat"], _action(told["action"]))
            acts.append(act)
            turns[act.seat].append(Turn(act.seat, number, act.phase, act.turn, Observation(), _reply(told, act)))
        rounds.append(Round(number, deal, tuple(acts), one["payoffs"]))
    fallback = record.get("fallback", [])
    seated = {
        seat: Occupant(_Recorded(name, fallback=seat in fallback), name) for seat, name in record["players"].items()
    }
    return Episode(seed, index, index, seated, rounds, [game.outcome(one) for one in rounds], turns)


def _reply(told: ActRecord, act: Act) -> Reply:
    probs = told.get("probs")
    chances = None if probs is None else tuple(map(float, probs.values() if isinstance(probs, dict) else probs))
    return Reply(
        told["reply"], act.action, probs=chances, retries=told.get("retries", 0), fallback=told.get("fallback", False)
    )


def _action(value: Any) -> Action | None:
    """An action as games have it: JSON has lists for tuples."""
    return tuple(map(_action, value)) if isinstance(value, list) else value
