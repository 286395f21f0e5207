"""What OpenSpiel wants to know of a game before it is played, found by going through all of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from coplay.adapters.openspiel.walk import Walk
from coplay.errors import UsageError
from coplay.evaluation.round_tree import MOST_POSITIONS
from coplay.games.base import Game
from coplay.games.normal_form import NormalFormGame

EQUAL = 1e-9
"""Sums of payoffs that differ by less are equal."""


@dataclass
class Shape:
    """The bounds of a game of so many rounds."""

    actions: int = 0
    """Most actions that a seat has to choose from."""
    chance: int = 0
    """Most outcomes of a chance node; 0 without chance."""
    at_once: bool = False
    """Whether several seats ever act at once."""
    length: int = 0
    """Most decisions of an episode."""
    lowest: float = 0.0
    """The lowest sum of payoffs of a seat."""
    highest: float = 0.0
    """The highest one."""
    total: float | None = None
    """What all seats get together, where that is always the same; else None."""


def shape_of(game: Game, rounds: int) -> Shape:
    """Go through a game.

    Args:
        game: the rules; chance and choices can be listed.
        rounds: T, rounds of an episode.

    Raises:
        UsageError: if it cannot be listed, or has more than ``MOST_POSITIONS`` positions.
    """
    if isinstance(game, NormalFormGame):
        return _repeated(game, rounds)
    found = Shape()
    sums: list[float] = []
    seat_sums: list[float] = []
    open_ = [(Walk.start(game, rounds), 0)]
    seen = 0
    while open_:
        walk, length = open_.pop()
        seen += 1
        if seen > MOST_POSITIONS:
            raise UsageError(
                f"game {game.name!r} of {rounds} rounds has more than {MOST_POSITIONS:,} positions; ask OpenSpiel for fewer rounds"
            )
        if walk.over:
            seat_sums += walk.returns()
            sums.append(sum(walk.returns()))
            found.length = max(found.length, length)
        elif walk.phase is None:
            deals = walk.deals()
            found.chance = max(found.chance, len(deals) if len(deals) > 1 else 0)
            open_ += [(walk.dealt(deal), length) for deal, _ in deals]
        else:
            options = [walk.options(seat) for seat in walk.phase.seats]
            found.at_once |= len(options) > 1
            found.actions = max(found.actions, *map(len, options))
            open_ += [
                (walk.after(dict(zip(walk.phase.seats, joint, strict=True))), length + 1) for joint in product(*options)
            ]
    found.lowest, found.highest = min(seat_sums), max(seat_sums)
    found.total = sums[0] if max(sums) - min(sums) < EQUAL else None
    return found


def _repeated(game: NormalFormGame, rounds: int) -> Shape:
    """Of a game in normal form, from its payoffs."""
    cells = [game.joint_payoffs(joint) for joint in game.states]
    sums = [sum(cell) for cell in cells]
    paid = [value for cell in cells for value in cell]
    total = rounds * sums[0] if max(sums) - min(sums) < EQUAL else None
    actions = max(map(len, game.actions.values()))
    return Shape(actions, 0, True, rounds, rounds * min(paid), rounds * max(paid), total)
