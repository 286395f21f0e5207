"""Complete games as ``episodes.jsonl`` keeps them: what each seat read, replied, was dealt and was paid."""

from __future__ import annotations

from coplay.games.base import Game
from coplay.games.records import Episode, EpisodeRecord, Reply, Round, Turn


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
                "turns": [_turn(game, episode, one, seat) for one in episode.rounds],
            }
            for seat in game.seats
        },
    }


def _turn(game: Game, episode: Episode, one: Round, seat: str) -> dict[str, object]:
    """What a seat did in a round; a round in which it was not asked has no reply."""
    turns = [turn for turn in episode.turns[seat] if turn.round == one.number]
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
    if earlier:
        record["before"] = [{"phase": turn.phase, **reply} for turn, reply in zip(turns, earlier, strict=False)]
    return record


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


def _probs(game: Game, seat: str, reply: Reply) -> dict[str, float] | None:
    if reply.probs is None or game.actions is None:
        return None
    return dict(zip(game.actions[seat], (round(p, 5) for p in reply.probs), strict=True))
