"""Scripted players of SEPO's second negotiation. The paper defines ``greedy`` and ``hardball`` (appendix F) and names the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

from coplay.games.item_pool import WORTH, Vector, agreed
from coplay.games.memory import Memory
from coplay.games.records import Action, Request, Round
from coplay.games.split import other
from coplay.games.strategy import GameStrategy

DEMAND = "demand"
"""The name of the only phase."""


def half(pool: Vector) -> Vector:
    """Half of each item, rounded down: two such demands always fit."""
    return tuple(n // 2 for n in pool)


def by_deal(description: str, demand: Callable[[Vector, Vector], Vector]) -> GameStrategy:
    """The strategy that makes the same demand in every round, from the pool and the seat's own values."""

    def rule(request: Request, parameter: float | None) -> Mapping[Action, float]:
        """See :func:`by_deal`."""
        return {demand(request.now.deal.pool, _values(request)): 1.0}

    return GameStrategy(description, rule, memory=Memory.NONE)


def hardball(pool: Vector, values: Vector) -> Vector:
    """See :data:`STRATEGIES`; of equal values the first item counts as lower."""
    least = values.index(min(values))
    return tuple(0 if i == least else n for i, n in enumerate(pool))


def shares(times: Fraction, rounded: Callable[[Fraction], int]) -> Callable[[Vector, Vector], Vector]:
    """Of each item its value out of 10, times a factor, at most all there are."""

    def demand(pool: Vector, values: Vector) -> Vector:
        """See :func:`shares`."""
        return tuple(min(n, rounded(times * n * value / WORTH)) for n, value in zip(pool, values, strict=True))

    return demand


_CONSERVATIVE = shares(Fraction(4, 5), floor)
_FIRST_ADAPTIVE = shares(Fraction(6, 5), floor)
_FIRST_DEFENSIVE = shares(Fraction(1), floor)


def tit_for_tat_neg(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`."""
    last = request.past[-1].actions(DEMAND)[other(request.seat)] if request.past else None
    return {half(request.now.deal.pool) if last is None else last: 1.0}


def conceded(seat: str, past: Sequence[Round]) -> int:
    """How much less of each item ``concede`` demands: one for every breakdown, at most two."""
    return min(2, sum(not agreed(one.deal.pool, one.actions(DEMAND)) for one in past))


def concede(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`."""
    less = conceded(request.seat, request.past)
    return {tuple(max(0, n - less) for n in request.now.deal.pool): 1.0}


def adaptive(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`; begins anew after an own reply that could not be parsed."""
    pool, values = request.now.deal.pool, _values(request)
    last = request.past[-1].actions(DEMAND) if request.past else {}
    own = last.get(request.seat)
    if not isinstance(own, tuple):
        return {_FIRST_ADAPTIVE(pool, values): 1.0}
    wanted = [i for i, n in enumerate(own) if n]
    if agreed(pool, last) or not wanted:
        return {own: 1.0}
    given_up = min(wanted, key=lambda i: values[i])
    return {tuple(n - (i == given_up) for i, n in enumerate(own)): 1.0}


def demanded(seat: str, past: Sequence[Round]) -> tuple[int, Vector]:
    """How many demands the co-player has made, and their sum; replies that could not be parsed are left out."""
    seen = [one.actions(DEMAND)[other(seat)] for one in past]
    theirs = [one for one in seen if isinstance(one, tuple)]
    return len(theirs), tuple(map(sum, zip(*theirs, strict=True)))


def defensive(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`."""
    pool = request.now.deal.pool
    count, total = demanded(request.seat, request.past)
    if not count:
        return {_FIRST_DEFENSIVE(pool, _values(request)): 1.0}
    return {tuple(n - wanted // count for n, wanted in zip(pool, total, strict=True)): 1.0}


def _values(request: Request) -> Vector:
    values: Vector = request.now.deal.values[request.seat]
    return values


STRATEGIES = {
    "fair": by_deal("Demand half of each item, rounded down.", lambda pool, values: half(pool)),
    "tit_for_tat_neg": GameStrategy(
        "Demand half of each item first, and after a reply that could not be parsed; then what the co-player demanded last.",
        tit_for_tat_neg,
        memory=Memory.LAST_ROUND,
    ),
    "concede": GameStrategy(
        "Demand everything at first, and one less of each item for every breakdown so far, down to two less.",
        concede,
        recalls=conceded,
    ),
    "greedy": by_deal("Demand everything.", lambda pool, values: pool),
    "hardball": by_deal("Demand all of the two items of the highest value, and none of the third.", hardball),
    "proportional": by_deal(
        "Demand of each item the share that is its value out of 10, rounded up.", shares(Fraction(1), ceil)
    ),
    "conservative": by_deal(
        "Demand of each item four fifths of the share that is its value out of 10, rounded down.", _CONSERVATIVE
    ),
    "adaptive": GameStrategy(
        "Demand of each item six fifths of its value out of 10, rounded down; keep a demand after a deal, and after a"
        " breakdown give up one of the item that is worth least.",
        adaptive,
        memory=Memory.LAST_ROUND,
    ),
    "defensive": GameStrategy(
        "Demand of each item the share that is its value out of 10, rounded down; then what the co-player's demands so far"
        " leave on average.",
        defensive,
        recalls=demanded,
    ),
}
"""By name."""
