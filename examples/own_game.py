"""A game of one's own: two sellers of one good name a price, the cheaper one sells. Check it, and ask how far a player is from equilibrium."""

from collections.abc import Sequence
from dataclasses import dataclass

import coplay
from coplay import Action, Game, Phase, Request, Round, in_order


@dataclass(frozen=True)
class PriceWar(Game):
    """The lower of two prices sells ten units at a cost of one; equal prices share them."""

    rounds: int = 10

    name = "price-war"
    description = "Two sellers name a price from 1 to 5. The cheaper one sells ten units; if prices are equal, each sells five. A unit costs 1."
    seats = ("left", "right")
    max_choices = 5

    def next_phase(self, now: Round) -> Phase | None:
        """Both seats name their price at once."""
        return in_order(now, [Phase("price", self.seats)])

    def choices(self, request: Request) -> Sequence[Action]:
        """Five prices."""
        return range(1, 6)

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """The profit of a round; whoever names no price sells nothing."""
        prices = {seat: price for seat, price in now.actions("price").items() if price is not None}
        best = min(prices.values(), default=0)
        sellers = [seat for seat, price in prices.items() if price == best]
        return {seat: 10.0 * (best - 1) / len(sellers) if seat in sellers else 0.0 for seat in self.seats}

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """What a seat is asked."""
        return "Which price do you name? Reply with <1> to <5> and nothing else."


game = PriceWar()
assert coplay.check_game(game) == []  # rules, words and payoffs hang together

print(coplay.exploit(game, "uniform", rounds=1).table())
# → ...
# → left   6.0000         10.0000
# → right  6.0000         10.0000
# → ...
