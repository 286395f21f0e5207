"""``coplay exploit MEDIATOR --delegation``: whether following a mediator is a best reply."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.mediated import Mediated
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.records import Occupant

FOLLOWER = "obedient"
"""The player of all other seats unless another one is named."""


def check_delegation(options: argparse.Namespace, game: Game) -> int:
    """What each seat gains by not following the mediator that is named, if all others follow."""
    from coplay.evaluation.delegation import delegation
    from coplay.runs.contestants import contestants

    if not isinstance(game, Mediated):
        raise UsageError(
            f"--delegation is about a mediator, and game {game.name!r} has none; try --game {game.name}+mediator"
        )
    follower = options.follower or FOLLOWER

    def seated(rules: Mediated) -> Mapping[str, Occupant]:
        mediator, others = contestants([options.player, follower], rules, temperature=options.temperature)
        for one, seats in ((mediator, (MEDIATOR,)), (others, rules.playing_seats)):
            if not set(seats) <= set(one.seats):
                raise UsageError(f"{one.name} cannot play as {seats[0]} of {rules.name}; see coplay list players")
        return {seat: (mediator if seat == MEDIATOR else others).occupant(0, seat) for seat in rules.seats}

    found = delegation(game, seated, rounds=options.rounds or game.rounds)
    show(dict(found.record)) if options.json else print(found.table())
    return 0
