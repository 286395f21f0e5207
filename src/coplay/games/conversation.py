"""A game in words: what a seat reads before it replies, as a conversation. Pure functions of what the seat knows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from itertools import groupby

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.memory import COUNTING, Memory, Observation, from_own_view
from coplay.games.records import Act, Outcome, Phase, Request, Round
from coplay.text.chat import ChatMessage
from coplay.text.rendering import lines

MOST_LISTED = 256
"""States of a round up to which a prompt lists counts."""


def check_memory(game: Game, memory: Memory) -> None:
    """Refuse a memory of which a prompt can show nothing in this game, or would list too much; raises UsageError."""
    states = states_of(game)
    if memory is Memory.LAST_CHOICE:
        missing = _missing_for_choices(game)
        if missing:
            raise UsageError(
                f"memory=last_choice tells of the last round in which a co-player had a choice; {missing}; or use memory=last_round"
            )
    if memory in COUNTING and states > MOST_LISTED:
        raise UsageError(
            f"a round of game {game.name!r} can end in {states} states, and counts are shown of at most {MOST_LISTED}; use"
            " memory=last_round, or fewer seats or actions"
        )


def _missing_for_choices(game: Game) -> str | None:
    """What a game lacks to tell of the last round in which there was a choice, and what to do; None if nothing."""
    if states_of(game) == 1:
        return f"game {game.name!r} does not say what the choices were: write `conducts` and `outcome`"
    if "dated" not in inspect.signature(game.recap).parameters:
        return f"the `recap` of game {game.name!r} cannot tell of an earlier round: give it the argument `dated`, as Game.recap has it"
    return None


def states_of(game: Game) -> int:
    """In how many states a round can end."""
    return math.prod(len(game.conducts(seat)) or 1 for seat in game.seats)


def chat_messages(game: Game, request: Request, memory: Memory) -> list[ChatMessage]:
    """What a seat reads before it replies; the last message is what it is asked now.

    Args:
        game: the rules and their words.
        request: what the seat knows.
        memory: ``chat`` gives the whole conversation of the episode, with the seat's own replies as they were, ``window`` that of the last
            H rounds; every other memory gives one message with a recap of the last round, or of the last one in which a co-player had a
            choice, and with counts where the memory has them.
    """
    seat = request.seat
    question = game.question(request.now, request.phase, seat)
    if memory not in (Memory.CHAT, Memory.WINDOW):
        announced = [game.announce(act, seat) for act in request.now.acts]
        past = _shown(memory, request)
        counts = _counts(game, seat, request.observation) if memory in COUNTING else ""
        return [
            ChatMessage(
                "user", lines(game.rules(seat), counts, *_news(game, past, request.now, seat), *announced, question)
            )
        ]
    messages: list[ChatMessage] = []
    first = 0 if memory is Memory.CHAT else max(0, len(request.past) - len(request.observation.recent or ()))
    for number, one in enumerate(request.past[first:], first):
        messages += _questions(game, request, one, request.past[:number])
    messages += _questions(game, request, request.now, request.past)
    announced = _announced(game, request.now, seat)
    fresh = not any(act.seat == seat for act in request.now.acts)
    news = _news(game, request.past, request.now, seat) if fresh else []
    messages.append(ChatMessage("user", lines(*news, *announced, question)))
    return [ChatMessage("user", lines(game.rules(seat), messages[0].text)), *messages[1:]]


def _shown(memory: Memory, request: Request) -> Sequence[Round]:
    """The rounds of the past up to the one that a memory of a single round shows."""
    if memory is Memory.NONE:
        return ()
    if memory is Memory.LAST_CHOICE:
        shown = request.observation.round
        return () if shown is None else request.past[: shown + 1]
    return request.past


def _questions(game: Game, request: Request, one: Round, past: Sequence[Round]) -> list[ChatMessage]:
    """The questions of a round that the seat has answered, each with its reply."""
    seat = request.seat
    replies = {(turn.phase, turn.turn): turn.reply.text for turn in request.own if turn.round == one.number}
    announced = _news(game, past, one, seat)
    found: list[ChatMessage] = []
    before: tuple[Act, ...] = ()
    for (name, turn), group in groupby(one.acts, key=lambda act: (act.phase, act.turn)):
        acts = tuple(group)
        if seat in [act.seat for act in acts] and (name, turn) in replies:
            now = game.observe(Round(one.number, one.deal, before), seat)
            phase = Phase(name, tuple(act.seat for act in acts), turn)
            found.append(ChatMessage("user", lines(*announced, game.question(now, phase, seat))))
            found.append(ChatMessage("assistant", replies[name, turn]))
            announced = []
        announced += [game.announce(act, seat) for act in acts if act.seat != seat]
        before += acts
    return found


def _announced(game: Game, one: Round, seat: str) -> list[str]:
    """What the others have done in this round since the seat acted itself, in the same phase or later."""
    acts = list(one.acts)
    own = [i for i, act in enumerate(acts) if act.seat == seat]
    if own:
        phase = (acts[own[-1]].phase, acts[own[-1]].turn)
        acts = [act for i, act in enumerate(acts) if i > own[-1] or (act.phase, act.turn) == phase]
    return [game.announce(act, seat) for act in acts if act.seat != seat]


def _news(game: Game, past: Sequence[Round], now: Round, seat: str) -> list[str]:
    """What is announced when a round begins."""
    begun = game.observe(Round(now.number, now.deal), seat)
    return [_recap(game, past[-1], now, seat) if past else "", game.opening(begun, seat)]


def _recap(game: Game, one: Round, now: Round, seat: str) -> str:
    """What a seat is told of an earlier round; which round it was, if not the one before."""
    return game.recap(one, seat) if one.number + 1 == now.number else game.recap(one, seat, dated=True)


def _counts(game: Game, seat: str, observation: Observation) -> str:
    """How often each state occurred before the last round, as the seat sees it; empty where nothing is counted, or not yet."""
    if not observation.counts:
        return ""
    index = game.seats.index(seat)
    names = [game.state_name(Outcome(from_own_view(index, state))) for state in game.own_states(seat)]
    counted = ", ".join(f"{name}: {count}" for name, count in zip(names, observation.counts, strict=True))
    who = ", ".join(game.call(one) for one in game.seats)
    return f"Rounds so far by what was done ({who}): {counted}."
