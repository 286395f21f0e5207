"""From a distribution and a uniform number to a choice, and to the reply that makes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coplay.games.records import Action, Reply, Request

if TYPE_CHECKING:
    from coplay.games.base import Game


def sample(probs: Sequence[float], draw: float) -> int:
    """The index that a uniform ``draw`` in [0, 1) picks from a distribution, by inverting its cumulative sum.

    Never picks an index of probability 0, however the sum was rounded.
    """
    total = 0.0
    last = 0
    for i, p in enumerate(probs):
        if p > 0.0:
            total += p
            last = i
            if draw < total:
                return i
    return last


def drawn_reply(
    game: Game, request: Request, choices: Sequence[Action], probs: tuple[float, ...], *, indexed: bool = False
) -> Reply:
    """The reply that makes the choice which the request's chance draws, with the probability of each choice.

    Args:
        game: the rules, which write the choice as text.
        request: what is asked.
        choices: what can be chosen.
        probs: the probability of each.
        indexed: whether the reply's token is the choice's index, by which policies that learn score it again.
    """
    i = sample(probs, request.draw)
    text = game.render_action(request, choices[i])
    return Reply(text, choices[i], (i,) if indexed else (), (math.log(probs[i]),), probs=probs)
