"""Complete games in rounds, as ``episodes.jsonl`` keeps them: what each seat read and said, what was dealt, what was paid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coplay.games.rounds import Action
from coplay.games.split import SplitDeal
from coplay.rounds.metrics import state_of
from coplay.rounds.types import Reply, Round, RoundEpisode
from coplay.text.rounds import Worded


def game_record(
    words: Worded,
    game: RoundEpisode,
    *,
    step: int,
    names: Mapping[str, str],
    decode: Mapping[str, Callable[[Sequence[int]], str]],
) -> dict[str, Any]:
    """A game as JSON keeps it. A seat's turn has all its replies of a round; the last one, which settles it, stands for the turn.

    Args:
        words: the game.
        game: what was played.
        step: the trial, from 1.
        names: each seat's player.
        decode: of seats that were told token ids, how to read them.
    """
    return {
        "step": step,
        "seed": game.seed,
        "game": game.index,
        "episode": 1,
        "states": [state_of(words, one) for one in game.rounds],
        "seats": {
            seat: {"player": names[seat], "turns": [_turn(one, seat, decode.get(seat)) for one in game.rounds]}
            for seat in words.game.seats
        },
    }


def _turn(one: Round, seat: str, decode: Callable[[Sequence[int]], str] | None) -> dict[str, Any]:
    said = {phase: _reply(replies[seat], decode) for phase, replies in one.replies.items() if seat in replies}
    *earlier, last = said
    return {
        **said[last],
        "payoff": one.payoffs[seat],
        "probs": None,
        "dealt": dealt(one.deal, seat),
        "before": [{"phase": phase, **said[phase]} for phase in earlier],
    }


def _reply(reply: Reply, decode: Callable[[Sequence[int]], str] | None) -> dict[str, Any]:
    return {
        "prompt": decode(reply.prompt) if decode is not None and reply.prompt else None,
        "reply": reply.text,
        "action": in_words(reply.action),
        **({"retries": reply.retries} if reply.retries else {}),
    }


def in_words(action: Action | None) -> str | None:
    """An action as a reader is shown it; None if there is none."""
    if action is None or isinstance(action, str):
        return action
    return ", ".join(f"{amount} {item}" for item, amount in action.items())


def dealt(deal: Any, seat: str) -> str | None:
    """What the seat held, or what things were worth to it; None where nothing is dealt."""
    if not isinstance(deal, SplitDeal):
        return None
    worth = ", ".join(f"{item} {value}" for item, value in deal.values[seat].items())
    return f"{deal.hands[seat]}: {worth} each" if deal.hands is not None else f"{worth} each"
