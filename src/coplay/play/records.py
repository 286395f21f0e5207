"""Complete games as ``episodes.jsonl`` keeps them: what each seat read, replied, was dealt and was paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coplay.games.base import Game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import addressed
from coplay.games.mediator_seat import MEDIATION, MEDIATOR
from coplay.games.memory import Observation
from coplay.games.records import Act, Action, Episode, EpisodeRecord, Occupant, Reply, Round, Turn
from coplay.play.loop import StreamNames, chance_of


def episode_record(game: Game, episode: Episode, *, step: int, number: int) -> EpisodeRecord:
    """A game as JSON keeps it. A seat's turn has all its replies of a round; the last one stands for the turn.

    Args:
        game: the rules.
        episode: what was played.
        step: the trial, from 1.
        number: the episode within the trial, from 1.
    """
    return {
        "step": step,
        "seed": episode.seed,
        "game": episode.game,
        "episode": number,
        "states": [game.state_name(outcome) for outcome in episode.outcomes],
        "seats": {
            seat: {
                "player": episode.seated[seat].name,
                "turns": _turns(game, episode, seat),
            }
            for seat in game.seats
        },
    }


def _turns(game: Game, episode: Episode, seat: str) -> list[dict[str, object]]:
    """What a seat did in each round."""
    of_round: dict[int, list[Turn]] = {}
    for turn in episode.turns[seat]:
        of_round.setdefault(turn.round, []).append(turn)
    return [_turn(game, episode, one, seat, of_round.get(one.number, [])) for one in episode.rounds]


def _turn(game: Game, episode: Episode, one: Round, seat: str, turns: Sequence[Turn]) -> dict[str, object]:
    """What a seat did in a round; a round in which it was not asked has no reply."""
    *earlier, last = [_reply(game, episode, turn) for turn in turns] or [
        {"prompt": None, "reply": None, "action": None}
    ]
    record = {
        **last,
        "payoff": (one.payoffs or {}).get(seat),
        "probs": _probs(game, seat, turns[-1].reply) if turns else None,
    }
    dealt = game.show_deal(one, seat)
    if dealt is not None:
        record["dealt"] = dealt
    record |= _mediation(game, one, seat)
    if earlier:
        record["before"] = [{"phase": turn.phase, **reply} for turn, reply in zip(turns, earlier, strict=False)]
    return record


def _mediation(game: Game, one: Round, seat: str) -> dict[str, object]:
    """Whom the mediator addressed, with what each read; of another seat what it read itself. Nothing in games without a mediator."""
    if not isinstance(game, Mediated):
        return {}
    to = next((addressed(act.action) for act in one.acts if act.phase == MEDIATION), {})
    if seat == MEDIATOR:
        return {"to": dict(to)}
    return {"told": to[seat]} if seat in to else {}


def _reply(game: Game, episode: Episode, turn: Turn) -> dict[str, object]:
    reply = turn.reply
    write = getattr(episode.seated[turn.seat].player, "prompt_text", None)
    return {
        "prompt": write(turn) if write is not None else None,
        "reply": reply.text,
        "action": None if reply.action is None else game.show(reply.action),
        **({"retries": reply.retries} if reply.retries else {}),
        **({"fallback": True} if reply.fallback else {}),
    }


def _acts(episode: Episode, one: Round) -> list[dict[str, object]]:
    """What was done in a round; of replies that told them with the probabilities of all choices, in the order of the game's choices."""
    told = {
        (turn.seat, turn.phase, turn.turn): turn.reply.probs
        for turns in episode.turns.values()
        for turn in turns
        if turn.round == one.number and turn.reply.probs is not None
    }
    found: list[dict[str, object]] = []
    for act in one.acts:
        probs = told.get((act.seat, act.phase, act.turn))
        chances = {} if probs is None else {"chances": [round(p, 6) for p in probs]}
        found.append({"phase": act.phase, "turn": act.turn, "seat": act.seat, "action": act.action, **chances})
    return found


def _probs(game: Game, seat: str, reply: Reply) -> dict[str, float] | None:
    if reply.probs is None or game.actions is None:
        return None
    return dict(zip(game.actions[seat], (round(p, 5) for p in reply.probs), strict=True))


class _Recorded:
    """Who sat in a seat of a recorded game: a name, and whether it had a fallback."""

    def __init__(self, name: str, *, fallback: bool) -> None:
        self.name, self.fallback = name, fallback


def complete_record(game: Game, episode: Episode) -> dict[str, object]:
    """A game with all that it consists of: :func:`episode_record`, and ``rounds`` with acts and payoffs as they were."""
    acts = [_acts(episode, one) for one in episode.rounds]
    fallback = {seat: True for seat, one in episode.seated.items() if getattr(one.player, "fallback", False)}
    return {
        **episode_record(game, episode, step=1, number=1),
        "rounds": [
            {"acts": own, "payoffs": dict(one.payoffs or {})} for own, one in zip(acts, episode.rounds, strict=True)
        ],
        **({"fallback": fallback} if fallback else {}),
    }


def recorded_episode(game: Game, record: Mapping[str, Any], streams: StreamNames) -> Episode:
    """The game that :func:`complete_record` has written. Prompts and tokens are not restored; what was dealt is dealt again.

    Args:
        game: the rules.
        record: what was written.
        streams: of the deals, when it was played.

    Raises:
        KeyError, TypeError, ValueError: if it is another form.
    """
    seated = {
        seat: Occupant(_Recorded(one["player"], fallback=seat in record.get("fallback", {})), one["player"])
        for seat, one in record["seats"].items()
    }
    seed, index = int(record["seed"]), int(record["game"])
    rounds: list[Round] = []
    for number, one in enumerate(record["rounds"]):
        acts = tuple(Act(a["phase"], a["turn"], a["seat"], _action(a["action"])) for a in one["acts"])
        deal = game.deal(chance_of(game, seed, index, number, streams), tuple(rounds))
        rounds.append(Round(number, deal, acts, one["payoffs"]))
    told = {
        (number, a["seat"], a["phase"], a["turn"]): tuple(map(float, a["chances"]))
        for number, one in enumerate(record["rounds"])
        for a in one["acts"]
        if "chances" in a
    }
    turns: dict[str, list[Turn]] = {}
    for seat in game.seats:
        own = record["seats"][seat]["turns"]
        turns[seat] = [
            Turn(
                seat,
                one.number,
                act.phase,
                act.turn,
                Observation(),
                Reply(
                    said["reply"] or "",
                    act.action,
                    probs=told.get((one.number, seat, act.phase, act.turn)),
                    fallback=bool(said.get("fallback")),
                ),
            )
            for one, turn in zip(rounds, own, strict=True)
            for act, said in zip([act for act in one.acts if act.seat == seat], _said(turn, one, seat), strict=True)
        ]
    outcomes = [game.outcome(one) for one in rounds]
    return Episode(seed, index, index, seated, rounds, outcomes, turns)


def _said(turn: Mapping[str, Any], one: Round, seat: str) -> Sequence[Mapping[str, Any]]:
    """All that a seat said in a round, in order."""
    if not any(act.seat == seat for act in one.acts):
        return ()
    return (*turn.get("before", ()), turn)


def _action(value: Any) -> Action | None:
    """An action as games have it: JSON has lists for tuples."""
    return tuple(map(_action, value)) if isinstance(value, list) else value
