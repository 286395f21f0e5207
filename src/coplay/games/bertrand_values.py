"""Exact values of Bertrand competition with logit demand: quantities, profits, consumer surplus, Nash and monopoly prices.

(Calvano, Calzolari, Denicolo & Pastorello, 2020, "Artificial intelligence, algorithmic pricing, and collusion", American Economic Review
110:3267-3297, section II.) The page with the equations: docs/theory/bertrand.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

TOLERANCE = 1e-13
"""Of a root, relative to its size."""

MOST_STEPS = 200
"""Of the search for a root; bisection alone needs about 60."""


@dataclass(frozen=True, slots=True)
class MarketPoint:
    """What a market comes to in which all firms ask the same price."""

    price: float
    """The price of every firm."""
    quantity: float
    """What each firm sells."""
    profit: float
    """What each firm earns in a round."""
    consumer_surplus: float
    """What consumers gain; see :meth:`LogitMarket.consumer_surplus`."""


@dataclass(frozen=True)
class LogitMarket:
    """n firms whose goods are alike but for their prices, with logit demand (docs/theory/bertrand.md).

    With prices p, firm i sells ``q_i = exp((a - p_i)/mu) / (sum_j exp((a - p_j)/mu) + exp(a0/mu))`` and earns ``(p_i - c) q_i``.

    Example:
        >>> round(LogitMarket().nash.price, 10), round(LogitMarket().monopoly.price, 10)
        (1.47292666, 1.924980919)
    """

    n: int = 2
    """Number of firms."""
    a: float = 2.0
    """Quality of the goods."""
    c: float = 1.0
    """What a unit costs a firm."""
    mu: float = 0.25
    """How different the goods are to consumers: the smaller, the more of them buy the cheapest."""
    a0: float = 0.0
    """Quality of the outside good, which consumers have who buy from no firm."""

    # ------------------------------------------------------------------ a round

    def quantities(self, prices: Sequence[float | None]) -> list[float]:
        """What each firm sells; a firm without a price sells nothing, and the others sell as if it did not exist."""
        exponents = [None if price is None else (self.a - price) / self.mu for price in prices]
        total = self._log_total(exponents)
        return [0.0 if one is None else math.exp(one - total) for one in exponents]

    def profits(self, prices: Sequence[float | None]) -> list[float]:
        """What each firm earns; without a price nothing."""
        sold = self.quantities(prices)
        return [0.0 if price is None else (price - self.c) * q for price, q in zip(prices, sold, strict=True)]

    def consumer_surplus(self, prices: Sequence[float | None]) -> float:
        """``mu log(sum_j exp((a - p_j)/mu) + exp(a0/mu))``, in units of money; ``a0`` if there is nothing to buy (Train, 2009, section 3.5)."""
        return self.mu * self._log_total([None if price is None else (self.a - price) / self.mu for price in prices])

    def _log_total(self, exponents: Sequence[float | None]) -> float:
        """The log of the denominator of demand, without overflow."""
        known = [one for one in exponents if one is not None]
        outside = self.a0 / self.mu
        most = max([*known, outside])
        return most + math.log(sum(math.exp(one - most) for one in (*known, outside)))

    # ------------------------------------------------------------------ what is compared with

    def at(self, price: float) -> MarketPoint:
        """The market in which all firms ask this price."""
        prices = [price] * self.n
        quantity = self.quantities(prices)[0]
        return MarketPoint(price, quantity, (price - self.c) * quantity, self.consumer_surplus(prices))

    @cached_property
    def nash(self) -> MarketPoint:
        """The equilibrium of one round: ``p - c = mu / (1 - q)`` for every firm."""
        rivals, surplus = self.n - 1, (self.a - self.c - self.a0) / self.mu

        def excess(x: float) -> tuple[float, float]:
            """With x the margin in units of mu, ``x - 1/(1 - q) = x - 1 - 1/(n - 1 + exp(x - surplus))``, and its slope."""
            outside = math.exp(min(700.0, x - surplus))
            return x - 1.0 - 1.0 / (rivals + outside), 1.0 + outside / (rivals + outside) / (rivals + outside)

        return self.at(self.c + self.mu * root(excess, 1.0, 1.0 + 1.0 / rivals))

    @cached_property
    def monopoly(self) -> MarketPoint:
        """The prices of the largest joint profit: ``p - c = mu / (1 - n q)`` for every firm."""
        surplus = (self.a - self.c - self.a0) / self.mu + math.log(self.n)
        return self.at(self.c + self.mu * (1.0 + _product_log(surplus - 1.0)))

    def best_response(self, others: Sequence[float | None]) -> float:
        """The price that earns a firm most when its co-players ask these prices: ``p - c = mu / (1 - q)``."""
        exponents = [None if price is None else (self.a - price) / self.mu for price in others]
        own = (self.a - self.c) / self.mu
        return self.c + self.mu * (1.0 + _product_log(own - self._log_total(exponents) - 1.0))

    def profit_gain(self, profit: float) -> float:
        """``(profit - Nash) / (monopoly - Nash)``: 0 for what competition earns a firm, 1 for what perfect collusion does."""
        return (profit - self.nash.profit) / (self.monopoly.profit - self.nash.profit)

    def price_gain(self, price: float) -> float:
        """The same of prices: 0 for Nash's, 1 for the monopoly's."""
        return (price - self.nash.price) / (self.monopoly.price - self.nash.price)


def _product_log(m: float) -> float:
    """The y with ``y + log y = m``, which is Lambert's W of exp(m)."""
    if m < -700.0:
        return math.exp(m)  # y is so small that log y = m
    low, high = (1.0, m) if m >= 1.0 else (math.exp(m - 1.0), 1.0)
    return root(lambda y: (y + math.log(y) - m, 1.0 + 1.0 / y), low, high)


def root(function: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """The root of an increasing function between two points, by Newton's method, with bisection where a step would leave the interval.

    Args:
        function: its value and its slope at a point.
        low: where it is not above 0.
        high: where it is not below 0.
    """
    x = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        value, slope = function(x)
        low, high = (low, x) if value > 0 else (x, high)
        step = x - value / slope
        following = step if low <= step <= high else 0.5 * (low + high)
        if abs(following - x) <= TOLERANCE * max(1e-300, abs(x)):
            return following
        x = following
    return x
