"""Scripted firms: prices from the exact values of the market and from what was asked before."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from coplay.games.bertrand_values import LogitMarket
from coplay.games.memory import Memory
from coplay.games.records import Action, Request, Round
from coplay.games.strategy import GameStrategy

PRICE = "price"
"""The name of the only phase."""

FINE_PRICES = 101
"""Among how many prices ``logit_response`` chooses where any price may be asked."""

UNDERCUT = 0.01
"""By how much ``undercut`` does, unless it is told."""

KEPT = 0.95
"""What counts as the monopoly price to ``trigger``: this share of the way from Nash's."""

Chosen = Mapping[Action, float]


@dataclass(frozen=True)
class Pricing:
    """What scripted firms know of a game: its market and its prices."""

    market: LogitMarket
    """Demand and costs."""
    cap: float
    """The highest price."""
    listed: Mapping[str, float]
    """The prices that may be asked, by name and from low to high; empty if any may."""
    fine: Sequence[float] = field(repr=False, default=())
    """Prices to choose among where any may be asked."""

    def price(self, action: Action | None) -> float | None:
        """The price that an action asks; None for a reply that could not be parsed."""
        if isinstance(action, str):
            return self.listed[action]
        return None if action is None else float(action)  # type: ignore[arg-type]

    def action(self, price: float) -> Action:
        """The action that asks this price, or the nearest one that may be asked."""
        if not self.listed:
            return min(max(price, 0.0), self.cap)
        return min(self.listed, key=lambda name: abs(self.listed[name] - price))

    def asked_before(self, request: Request) -> list[float | None]:
        """What the co-players asked in the last round; Nash's price before the first one, and of a firm that asked none."""
        return self.asked_in(request.past[-1] if request.past else None, request.seat)

    def asked_in(self, one: Round | None, seat: str) -> list[float | None]:
        """The same of any round."""
        nash = self.market.nash.price
        if one is None:
            return [nash] * (self.market.n - 1)
        found = [self.price(action) for other, action in one.actions(PRICE).items() if other != seat]
        return [nash if price is None else price for price in found]

    # ------------------------------------------------------------------ rules

    def fixed(self, price: float) -> Callable[[Request, float | None], Chosen]:
        """Ask the parameter, or without one this price, in every round."""
        return lambda request, parameter: {self.action(price if parameter is None else parameter): 1.0}

    def best_response(self, request: Request, parameter: float | None) -> Chosen:
        """See :func:`strategies`."""
        return {self.action(self.market.best_response(self.asked_before(request))): 1.0}

    def logit_response(self, request: Request, parameter: float | None) -> Chosen:
        """See :func:`strategies`."""
        others, sharpness = self.asked_before(request), parameter or 0.0
        prices = list(self.listed.values()) or self.fine
        scores = [sharpness * self.market.profits([price, *others])[0] for price in prices]
        weights = [math.exp(score - max(scores)) for score in scores]
        return {self.action(price): weight / sum(weights) for price, weight in zip(prices, weights, strict=True)}

    def undercut(self, request: Request, parameter: float | None) -> Chosen:
        """See :func:`strategies`."""
        return {self.action(self._not_below_nash(request, UNDERCUT if parameter is None else parameter)): 1.0}

    def match(self, request: Request, parameter: float | None) -> Chosen:
        """See :func:`strategies`."""
        return {self.action(self._not_below_nash(request, 0.0)): 1.0}

    def _not_below_nash(self, request: Request, less: float) -> float:
        if not request.past:
            return self.market.monopoly.price
        lowest = min(price for price in self.asked_before(request) if price is not None)
        return max(self.market.nash.price, lowest - less)

    def triggered(self, seat: str, past: Sequence[Round]) -> bool:
        """Whether a co-player has ever asked clearly less than the monopoly price, or nothing that could be parsed."""
        asked = (self.price(action) for one in past for other, action in one.actions(PRICE).items() if other != seat)
        return any(price is None or self.market.price_gain(price) < KEPT for price in asked)

    def trigger(self, request: Request, parameter: float | None) -> Chosen:
        """See :func:`strategies`."""
        broken = self.triggered(request.seat, request.past)
        return {self.action((self.market.nash if broken else self.market.monopoly).price): 1.0}


def strategies(pricing: Pricing) -> dict[str, GameStrategy]:
    """The scripted firms of a game, by name."""
    market = pricing.market
    return {
        "price": GameStrategy(
            "price:P asks the price P in every round; without P, Nash's.",
            pricing.fixed(market.nash.price),
            parameter=f"a price, from 0 to {pricing.cap:g}",
            most=pricing.cap,
            memory=Memory.NONE,
        ),
        "nash": GameStrategy("Ask the Nash price of one round.", pricing.fixed(market.nash.price), memory=Memory.NONE),
        "monopoly": GameStrategy(
            "Ask the price of the largest joint profit.", pricing.fixed(market.monopoly.price), memory=Memory.NONE
        ),
        "best_response": GameStrategy(
            "Ask what would have earned most against the prices of the last round; Nash's first.",
            pricing.best_response,
            memory=Memory.LAST_ROUND,
        ),
        "logit_response": GameStrategy(
            "logit_response:LAMBDA asks each price with a probability proportional to exp(LAMBDA x its profit against the prices of the last"
            " round); 100 unless given.",
            pricing.logit_response,
            parameter="lambda, from 0 (any price) to 1,000,000 (the best response)",
            most=1e6,
            default=100.0,
            memory=Memory.LAST_ROUND,
        ),
        "undercut": GameStrategy(
            "undercut:STEP asks the monopoly price first, then STEP (0.01 unless given) less than the lowest price that a co-player asked last,"
            " but not less than Nash's.",
            pricing.undercut,
            parameter=f"a step, from 0 to {pricing.cap:g}",
            most=pricing.cap,
            default=UNDERCUT,
            memory=Memory.LAST_ROUND,
        ),
        "match": GameStrategy(
            "Ask the monopoly price first, then the lowest price that a co-player asked last, but not less than Nash's.",
            pricing.match,
            memory=Memory.LAST_ROUND,
        ),
        "trigger": GameStrategy(
            "Ask the monopoly price until a co-player asks clearly less, then Nash's for ever.",
            pricing.trigger,
            recalls=pricing.triggered,
        ),
    }
