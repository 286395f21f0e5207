"""Rounds and requests of games with one simultaneous phase, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coplay.games import Game
from coplay.games.memory import START
from coplay.games.records import Act, Action, Request, Round

Pair = tuple[Action | None, Action | None]
"""What the two seats did, in order."""


def played(game: Game, pair: Pair, deal: Any = None, number: int = 0) -> Round:
    """A round that is over, with its payoffs."""
    phase = game.next_phase(Round(number, deal))
    assert phase is not None
    acts = tuple(Act(phase.name, 0, seat, action) for seat, action in zip(game.seats, pair, strict=True))
    over = Round(number, deal, acts)
    return Round(number, deal, acts, game.payoffs(over))


def paid(game: Game, pair: Pair, deal: Any = None) -> tuple[float | None, ...]:
    """What a round pays, in the order of seats."""
    payoffs = played(game, pair, deal).payoffs
    assert payoffs is not None and tuple(payoffs) == game.seats
    return tuple(payoffs.values())


def asked(game: Game, seat: str, past: Sequence[Pair] = (), deal: Any = None) -> Request:
    """What a seat is asked after these rounds, all dealt the same."""
    rounds = tuple(game.observe(played(game, pair, deal, i), seat) for i, pair in enumerate(past))
    now = Round(len(past), deal)
    phase = game.next_phase(now)
    assert phase is not None
    return Request(0, 0, seat, phase, game.observe(now, seat), rounds, (), START, None, (), 0.0)


def plays(game: Game, name: str, seat: str, past: Sequence[Pair] = (), deal: Any = None) -> Mapping[Action, float]:
    """What a game's scripted player does after these rounds: the probability of each action."""
    found = game.strategies[name].rule(asked(game, seat, past, deal), None)
    assert abs(sum(found.values()) - 1) < 1e-12 and set(found) <= set(game.choices(asked(game, seat, past, deal)) or ())
    return found


def only(game: Game, name: str, seat: str, past: Sequence[Pair] = (), deal: Any = None) -> Action:
    """The same of a scripted player that does not draw."""
    (action,) = plays(game, name, seat, past, deal)
    return action


SAID = [
    "",
    "   \n  ",
    "\x00?<<>>",
    "<think>",
    "I will not say.",
    "<action>",
]
"""Replies that mean nothing in any game."""
