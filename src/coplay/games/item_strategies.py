"""Scripted players of SEPO's second negotiation. The paper defines ``greedy`` and ``hardball`` (appendix F) and names the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor

from coplay.games.item_pool import WORTH, Vector, agreed
from coplay.games.records import Action, Request
from coplay.games.split import other
from coplay.games.strategy import GameRule, GameStrategy

DEMAND = "demand"
"""The name of the only phase."""


def half(pool: Vector) -> Vector:
    """Half of each item, rounded down: two such demands always fit."""
    return tuple(n // 2 for n in pool)


def by_deal(demand: Callable[[Vector, Vector], Vector]) -> GameRule:
    """The rule that makes the same demand in every round, from the pool and the seat's own values."""
    return lambda request, parameter: {demand(request.now.deal.pool, _values(request)): 1.0}


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


def concede(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`."""
    pool = request.now.deal.pool
    less = min(2, sum(not agreed(pool, one.actions(DEMAND)) for one in request.past))
    return {tuple(max(0, n - less) for n in pool): 1.0}


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


def defensive(request: Request, parameter: float | None) -> Mapping[Action, float]:
    """See :data:`STRATEGIES`; replies that could not be parsed are left out of the mean."""
    pool = request.now.deal.pool
    seen = [one.actions(DEMAND)[other(request.seat)] for one in request.past]
    theirs = [one for one in seen if isinstance(one, tuple)]
    if not theirs:
        return {_FIRST_DEFENSIVE(pool, _values(request)): 1.0}
    return {tuple(n - sum(wanted) // len(wanted) for n, *wanted in zip(pool, *theirs, strict=True)): 1.0}


def _values(request: Request) -> Vector:
    values: Vector = request.now.deal.values[request.seat]
    return values


STRATEGIES = {
    "fair": GameStrategy("Demand half of each item, rounded down.", by_deal(lambda pool, values: half(pool))),
    "tit_for_tat_neg": GameStrategy(
        "Demand half of each item first, and after a reply that could not be parsed; then what the co-player demanded last.",
        tit_for_tat_neg,
    ),
    "concede": GameStrategy(
        "Demand everything at first, and one less of each item for every breakdown so far, down to two less.", concede
    ),
    "greedy": GameStrategy("Demand everything.", by_deal(lambda pool, values: pool)),
    "hardball": GameStrategy(
        "Demand all of the two items of the highest value, and none of the third.", by_deal(hardball)
    ),
    "proportional": GameStrategy(
        "Demand of each item the share that is its value out of 10, rounded up.", by_deal(shares(Fraction(1), ceil))
    ),
    "conservative": GameStrategy(
        "Demand of each item four fifths of the share that is its value out of 10, rounded down.",
        by_deal(_CONSERVATIVE),
    ),
    "adaptive": GameStrategy(
        "Demand of each item six fifths of its value out of 10, rounded down; keep a demand after a deal, and after a"
        " breakdown give up one of the item that is worth least.",
        adaptive,
    ),
    "defensive": GameStrategy(
        "Demand of each item the share that is its value out of 10, rounded down; then what the co-player's demands so far"
        " leave on average.",
        defensive,
    ),
}
