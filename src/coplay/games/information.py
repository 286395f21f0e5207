"""Information sets as text: what a seat knows when it acts, equal for equal knowledge.

Enumeration and play name them by the same functions, so that what was chosen for an information set is found again where it comes up in a game.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence

from coplay.games.base import Game
from coplay.games.memory import Memory, Observation
from coplay.games.records import Phase, Request, Round, Turn


def remembered(
    game: Game, memory: Memory, texts: Sequence[str], observation: Callable[[], Observation], *, window: int
) -> Hashable:
    """What a seat knows of an episode's earlier rounds with a memory: equal for histories that are alike to it.

    Args:
        game: the rules.
        memory: what it remembers.
        texts: the earlier rounds as the seat saw them, as text.
        observation: what the memory shows it; called only where that matters.
        window: H of the window memory.
    """
    if type(game).is_over is not Game.is_over:  # when an episode ends may depend on all of it
        return tuple(texts)
    if memory is Memory.NONE:
        return ()
    if memory in (Memory.TRANSCRIPT, Memory.CHAT):
        return tuple(texts)
    seen = observation()
    if memory is Memory.LAST_CHOICE:
        shown = seen.round
        return ((), None, seen) if shown is None else ((texts[shown],), shown + 1 == len(texts), seen)
    rounds = 1 + window if memory is Memory.WINDOW else 1  # the round before the window is recapitulated
    return (tuple(texts[-rounds:]), seen)


def information_key(state: Hashable, phase: Phase, now: Round, own: Sequence[Turn]) -> str:
    """A name for an information set, of 16 letters and digits.

    Args:
        state: what the seat remembers of earlier rounds; see :func:`remembered`.
        phase: what it is asked for.
        now: the round in progress as the seat sees it.
        own: its replies of the episode so far, of which those of this round count.
    """
    done = [(turn.phase, turn.turn, turn.reply.action) for turn in own if turn.round == now.number]
    text = repr((state, phase.name, phase.turn, now, done))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def key_of_request(
    game: Game,
    request: Request,
    memory: Memory,
    *,
    window: int,
    recall: Callable[[Sequence[Round]], Hashable] | None = None,
) -> str:
    """The name of a request's information set, for a seat with that memory, or one that sums the past up."""
    if recall is not None and type(game).is_over is Game.is_over:
        return information_key(recall(request.past), request.phase, request.now, request.own)
    texts = [repr(one) for one in request.past]
    state = remembered(game, memory, texts, lambda: request.observation, window=window)
    return information_key(state, request.phase, request.now, request.own)
