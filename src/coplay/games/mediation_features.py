"""What a network sees in a mediator's seat: the meta-state of Learning to Mediate, section 3.3, as numbers.

In order: the share of the episode's rounds that are over; for each of the last H rounds, the latest first, whether there was one and each player's
shortfall in it (1 where it could not be parsed); each player's payoffs so far, as ``sign(x) log(1 + |x|)``; a 1 for the game, of those that the paper has,
or for any other; and where the mediator is informed, a 1 for the context.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from coplay.games.base import Game
from coplay.games.records import Request, Round

GAMES = ("ipd-3", "stag-hunt-3", "chicken-3", "bertrand")
"""The paper's games; a network trained in one of them can be shown another."""


def names_of_standing(game: Game, *, window: int, informed: bool) -> tuple[str, ...]:
    """The names of :func:`features_of_standing`, in the same order."""
    seats = game.seats
    rounds = [name for ago in range(1, window + 1) for name in (f"{ago} ago", *(f"{ago} ago {seat}" for seat in seats))]
    contexts = game.contexts if informed else ()
    return ("round", *rounds, *(f"payoffs {seat}" for seat in seats), *GAMES, "other game", *contexts)


def features_of_standing(
    game: Game, request: Request, context: str, *, window: int, informed: bool
) -> tuple[float, ...]:
    """The numbers of a mediator's request; see the module.

    Args:
        game: the game within.
        request: what the mediator is asked.
        context: the game's context, if the mediator is told.
        window: H.
        informed: whether there are numbers for the context.
    """
    past = request.past
    found = [request.now.number / game.rounds]
    for ago in range(1, window + 1):
        found += _round(game, past[-ago]) if ago <= len(past) else [0.0] * (1 + len(game.seats))
    for seat in game.seats:
        total = _total(past, seat)
        found.append(math.copysign(math.log1p(abs(total)), total))
    found += [float(game.name == name) for name in GAMES]
    found.append(float(game.name not in GAMES))
    if informed:
        found += [float(context == name) for name in game.contexts]
    return tuple(found)


def _round(game: Game, one: Round) -> list[float]:
    shortfalls = (game.shortfall(one, seat) for seat in game.seats)
    return [1.0, *(1.0 if value is None else value for value in shortfalls)]


def _total(past: Sequence[Round], seat: str) -> float:
    return sum((one.payoffs or {}).get(seat) or 0.0 for one in past)
