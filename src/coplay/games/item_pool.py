"""What SEPO's second negotiation is about: a pool of books, hats and balls, and what one of each is worth to either seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from coplay.games.records import Action

ITEMS = ("books", "hats", "balls")

MOST = 4
"""Of each item there are 1 to this many, each number equally likely."""

WORTH = 10
"""What the values of one of each item add up to, for either seat."""

VALUES = tuple(three for three in product(range(1, WORTH), repeat=len(ITEMS)) if sum(three) == WORTH)
"""All that one of each item can be worth to a seat: whole numbers of at least 1, all 36 triples equally likely."""

Vector = tuple[int, ...]
"""A number of each item."""


@dataclass(frozen=True)
class ItemDeal:
    """What chance gives for an episode."""

    pool: Vector
    """How many there are of each item."""
    values: Mapping[str, Vector]
    """What one of each item is worth to each seat; a seat sees its own alone."""

    def worth(self, seat: str, items: Vector) -> int:
        """What some items are worth to a seat."""
        return sum(n * value for n, value in zip(items, self.values[seat], strict=True))


def draw_pool(chance: Sequence[float]) -> Vector:
    """How many there are of each item, from a uniform number each."""
    return tuple(1 + int(uniform * MOST) for uniform in chance)


def draw_values(uniform: float) -> Vector:
    """What the items are worth to a seat, from a uniform number."""
    return VALUES[int(uniform * len(VALUES))]


@cache
def demands_of(pool: Vector) -> tuple[Vector, ...]:
    """All that can be demanded of a pool: up to 125 vectors, from nothing to everything."""
    return tuple(product(*(range(n + 1) for n in pool)))


def agreed(pool: Vector, demands: Mapping[str, Action | None]) -> bool:
    """Whether there is enough of every item; a reply that could not be parsed is no demand, and without two demands there is no deal."""
    made = [one for one in demands.values() if isinstance(one, tuple)]
    return len(made) == len(demands) and all(sum(wanted) <= n for n, *wanted in zip(pool, *made, strict=True))
