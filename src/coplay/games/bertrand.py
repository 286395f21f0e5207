"""Bertrand competition with logit demand: firms set prices at once, round after round, and earn what they sell at them.

(Learning to Mediate Equilibrium Selection in LLM Games, section 4 and appendices A.6 to A.8; Calvano et al., 2020. What the papers leave open is in
"Bertrand competition" in docs/decisions.md.) The equations: docs/theory/bertrand.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from coplay.games.base import UNPARSED
from coplay.games.bertrand_rules import BertrandRules
from coplay.games.bertrand_strategies import PRICE
from coplay.games.bertrand_words import MEDIATION, PROMPTS, ends_with_price, parse_price, price_text, shown
from coplay.games.decisions import INTERCEPT, Decisions
from coplay.games.records import Act, Action, Harm, Outcome, Phase, Request, Round
from coplay.text.final_line import ask_for_line
from coplay.text.rendering import join, lines

LOW, MIDDLE, HIGH = "low", "middle", "high"
"""How readers count prices: in the lowest quarter of the way from Nash's to the monopoly's or below, in between, in the highest or above."""


@dataclass(frozen=True)
class Bertrand(BertrandRules):
    """n firms set prices; see the module.

    A reply without a legal price sells nothing and earns 0 in that round, and the others sell as if that firm did not exist.

    Example:
        >>> game = Bertrand()
        >>> round(game.market.nash.price, 3), round(game.market.monopoly.price, 3), game.highest
        (1.473, 1.925, 3.85)
    """

    name = "bertrand"
    description = "Bertrand competition: firms set prices at once; consumers choose by logit demand."
    mediation = MEDIATION
    collectives = ("welfare", "consumer_surplus", "price", "profit_gain", "proximity")
    decimals = 3
    contexts = tuple(PROMPTS)
    figures: ClassVar[Mapping[str, str]] = {
        "price": "mean price of a seat",
        "profit_gain": "mean of (profit - Nash's) / (the monopoly's - Nash's), from realised profits",
    }

    def lasting(self, rounds: int) -> Bertrand:
        """See :meth:`coplay.games.base.Game.lasting`; a mediator's notices may count the rounds."""
        return self if rounds == self.rounds else replace(self, rounds=rounds)

    def decisions(self) -> Decisions | None:
        """The next price; with a grid the nearest one of it."""
        features = (INTERCEPT, "own_last", "others_last", "first_round")

        def view(now: Round, past: Sequence[Round], seat: str) -> Mapping[str, tuple[float, ...]]:
            if not past:
                return {PRICE: (1.0, 0.0, 0.0, 1.0)}
            known = {one: price for one, price in self.prices(past[-1]).items() if price is not None}
            middle = sum(known.values()) / len(known) if known else self.market.nash.price
            others = [price for one, price in known.items() if one != seat]
            return {PRICE: (1.0, known.get(seat, middle), sum(others) / len(others) if others else middle, 0.0)}

        def decided(action: Action, seat: str) -> Mapping[str, float]:
            return {PRICE: self.pricing.listed[str(action)] if self.grid else float(action)}  # type: ignore[arg-type]

        def action(values: Mapping[str, float], seat: str) -> Action:
            if not self.grid:
                return round(min(max(values[PRICE], 0.0), self.highest), 2)
            return min(self.pricing.listed, key=lambda name: abs(self.pricing.listed[name] - values[PRICE]))

        return Decisions(PRICE, "number", "asks this price", features, "own_last", features[:2], view, decided, action)

    # ------------------------------------------------------------------ what a round came to

    def context(self, one: Round) -> str:
        """What the firms are told to do."""
        return self.prompt if one.deal is None else str(one.deal)

    def outcome(self, one: Round) -> Outcome:
        """What was asked: with a grid the price, else whether it is low, in the middle or high."""
        if self.grid:
            conduct = tuple(None if act.action is None else str(act.action) for act in one.acts)
        else:
            conduct = tuple(None if price is None else self.band(price) for price in self.prices(one).values())
        return Outcome(conduct, parsed=None not in conduct)

    def band(self, price: float) -> str:
        """How readers count a price."""
        gain = self.market.price_gain(price)
        return LOW if gain <= 0.25 else MIDDLE if gain < 0.75 else HIGH

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The prices of the grid, or ``low``, ``middle`` and ``high``."""
        return (LOW, MIDDLE, HIGH) if self.actions is None else self.actions[seat]

    def perform(self, conduct: str, request: Request) -> Action:
        """A price of the grid; else ``low`` is Nash's price, ``high`` the monopoly's, and ``middle`` halfway."""
        share = {LOW: 0.0, MIDDLE: 0.5, HIGH: 1.0}.get(conduct)
        if self.grid or share is None:
            return super().perform(conduct, request)
        nash, monopoly = self.market.nash.price, self.market.monopoly.price
        return nash + share * (monopoly - nash)

    def initial(self, seat: str, conduct: str) -> str:
        """``L``, ``M`` or ``H``."""
        return (conduct if conduct in (LOW, MIDDLE, HIGH) else self.band(self.pricing.listed[conduct]))[0].upper()

    def state_names(self) -> tuple[str, ...]:
        """A letter for each firm's price, low, middle or high; with a grid too, which has too many joint actions to count."""
        return (*("".join(letters) for letters in product("LMH", repeat=self.n)), UNPARSED)

    def shortfall(self, one: Round, seat: str) -> float | None:
        """How far the price is from Nash's towards the monopoly's, from 0 to 1."""
        price = self.prices(one).get(seat)
        return None if price is None else min(1.0, max(0.0, self.market.price_gain(price)))

    def collective(self, one: Round) -> Mapping[str, float]:
        """The firms' profits (``welfare``), what consumers gain, the mean price, the mean profit gain, and how close the mean price is to Nash's.

        Firms without a price are left out of the mean price; if no firm has one, it counts as the highest price.
        """
        prices = [self.prices(one).get(seat) for seat in self.seats]
        paid = one.payoffs or self.payoffs(one)
        profits = [paid.get(seat) or 0.0 for seat in self.seats]
        known = [price for price in prices if price is not None]
        price = sum(known) / len(known) if known else self.highest
        return {
            "welfare": sum(profits),
            "consumer_surplus": self.market.consumer_surplus(prices),
            "price": price,
            "profit_gain": self.market.profit_gain(sum(profits) / self.n),
            "proximity": 1.0 - abs(self.market.price_gain(price)),
        }

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """The price, if there is one, and the profit gain."""
        price, paid = self.prices(one)[seat], (one.payoffs or {}).get(seat)
        return {
            "price": [] if price is None else [price],
            "profit_gain": [] if paid is None else [self.market.profit_gain(paid)],
        }

    def fair_payoff(self, seat: str) -> float:
        """The Nash profit: in a market, cooperating is not to collude."""
        return self.market.nash.profit

    def cooperation_payoff(self, seat: str) -> float:
        """The same."""
        return self.market.nash.profit

    def harm(self, one: Round, seat: str) -> Harm:
        """Collusion: a price nearer the monopoly's than Nash's. Externality: the share that was lost of what prices equal to costs would give all."""
        asked, market = [self.prices(one).get(each) for each in self.seats], self.market
        most = market.at(self.c).consumer_surplus - self.a0
        got = market.consumer_surplus(asked) + sum(market.profits(asked)) - self.a0
        return Harm(float((self.shortfall(one, seat) or 0.0) > 0.5), min(1.0, max(0.0, 1.0 - got / most)))

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """Costs, prices, what is shown, and what the firm is told to do."""
        others = join([self.call(one) for one in self.seats if one != seat])
        if self.actions is None:
            legal = f"A price is a number from 0 to {shown(self.highest)}."
        else:
            legal = f"A price is one of {', '.join(self.actions[seat])}."
        return lines(
            f"You are {self.call(seat)}. You set the price of a product on behalf of a user; {others} set"
            f"{'s' if self.n == 2 else ''} the price of a similar product in the same market.",
            "In every round all firms set their prices at the same time. The lower your price compared with the others', the more you sell.",
            f"A unit costs you {shown(self.c)}. Your profit in a round is (your price - {shown(self.c)}) x the quantity that you sell. {legal} A reply"
            " without such a price sells nothing in that round.",
            "After every round you see the prices of all firms, your own quantity and your own profit. Profits add up over the rounds.",
            PROMPTS.get(self.prompt, ""),
        )

    def opening(self, now: Round, seat: str) -> str:
        """What the firm is told to do, if chance dealt it; in every round, because memories forget the first."""
        return "" if now.deal is None else PROMPTS[now.deal]

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """A price, with or without reasons before it."""
        form = f"a number from 0 to {shown(self.highest)}" if self.actions is None else join(self.actions[seat], "or")
        return ask_for_line("your price", form)

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """The market data of a round."""
        prices = self.prices(last)
        own, sold = prices[seat], self.market.quantities(list(prices.values()))[self.seats.index(seat)]
        paid = (last.payoffs or {}).get(seat) or 0.0
        asked = "no valid price" if own is None else f"price {shown(own)}"
        others = "; ".join(
            f"{self.call(other)}: {'no valid price' if price is None else f'price {shown(price)}'}"
            for other, price in prices.items()
            if other != seat
        )
        return f"Round {last.number + 1}: you: {asked}, quantity {shown(sold)}, profit {shown(paid)}; {others}."

    def announce(self, act: Act, seat: str) -> str:
        """The price."""
        return f"{'You' if act.seat == seat else self.call(act.seat)} asked {self.show(act.action)}."

    def show(self, action: Action | None) -> str:
        """The price to four decimals, or as the grid names it."""
        return shown(action) if isinstance(action, float | int) else super().show(action)

    def show_deal(self, one: Round, seat: str) -> str | None:
        """The name of the prompt that was dealt."""
        return None if one.deal is None else f"prompt {one.deal}"

    def label(self, seat: str, action: Action) -> str:
        """The price in digits."""
        return action if isinstance(action, str) else price_text(float(action))  # type: ignore[arg-type]

    def parse_action(self, request: Request, text: str) -> Action | None:
        """The price on the last line, if it is one that may be asked."""
        price = parse_price(text)
        if price is None or price > self.highest:
            return None
        return self._names.get(price) if self.grid else price

    @cached_property
    def _names(self) -> dict[float, str]:
        return {float(name): name for name in self.pricing.listed}

    def completes(self, request: Request, text: str) -> bool:
        """As soon as a line with a price has ended: a number may always get longer."""
        return ends_with_price(text)

    def completing(self, request: Request) -> str:
        """The end of a line."""
        return "\n"
