"""The rules of Bertrand competition with logit demand: who sets which price, what is sold, and what a firm sees.

The equations: docs/theory/bertrand.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.bertrand_strategies import FINE_PRICES, PRICE, Pricing, strategies
from coplay.games.bertrand_values import LogitMarket
from coplay.games.bertrand_words import ANY, PROMPTS, shown
from coplay.games.records import Action, Phase, Request, Round

XI = 0.1
"""How far a grid reaches beyond the Nash and monopoly prices, as a share of the distance between them (Calvano et al., section II.C)."""

CALVANO_PRICES = 15
"""m, the prices of Calvano's grid."""

MOST_FIRMS, MOST_PRICES, MOST_JOINT, MOST_MONEY = 6, 1_000, 10**6, 10**6
"""Of a game: firms, prices of a grid, joint actions of a grid, and what prices and qualities are up to."""


@dataclass(frozen=True)
class BertrandRules(Game):
    """n firms set prices; see the module. The words are :class:`coplay.games.bertrand.Bertrand`'s.

    A reply without a legal price sells nothing and earns 0 in that round, and the others sell as if that firm did not exist.
    """

    n: int = 2
    """Number of firms."""
    a: float = 2.0
    """Quality of the firms' goods."""
    c: float = 1.0
    """What a unit costs a firm."""
    mu: float = 0.25
    """How different the goods are to consumers."""
    a0: float = 0.0
    """Quality of the outside good."""
    cap: float = 0.0
    """The highest price; 0 for twice the monopoly price, to the cent."""
    prompt: str = field(default="P0", metadata={"words": (*PROMPTS, ANY)})
    """What firms are told to do: ``P0``, ``PI``, ``PC`` or ``AC``; ``any`` lets chance deal one of them for each episode."""
    grid: int = field(default=0, metadata={"least": 0})
    """Number of equidistant prices around the Nash and monopoly prices that firms choose among; 0 for any price."""
    rounds: int = 300
    """Rounds of an episode unless a config says otherwise."""
    seats: tuple[str, ...] = field(init=False)
    """``firm-1`` to ``firm-n``."""
    actions: Mapping[str, tuple[str, ...]] | None = field(init=False)
    """With a grid the names of its prices, for every seat."""

    def __post_init__(self) -> None:
        """Name seats and prices; raises UsageError for impossible numbers."""
        self._check_numbers()
        seats = tuple(f"firm-{i + 1}" for i in range(self.n))
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "actions", dict.fromkeys(seats, tuple(self.pricing.listed)) if self.grid else None)
        object.__setattr__(self, "max_choices", self.grid)
        object.__setattr__(self, "draws", int(self.prompt == ANY))
        object.__setattr__(self, "strategies", strategies(self.pricing))
        useful = max([self.market.monopoly.price, *self.pricing.listed.values()])
        if self.highest < useful:
            raise UsageError(
                f"bertrand: cap must be at least {shown(useful)}, the highest price that firms have use for; got {self.cap:g}"
            )

    def _check_numbers(self) -> None:
        if not 2 <= self.n <= MOST_FIRMS:
            raise UsageError(f"bertrand: n must be 2 to {MOST_FIRMS} firms, got {self.n}")
        if not (self.c >= 0 and self.mu > 0 and self.cap >= 0):
            raise UsageError("bertrand: c and cap must be at least 0, and mu above 0")
        if max(abs(self.a), self.c, abs(self.a0), self.mu, self.cap) > MOST_MONEY or self.mu < 1 / MOST_MONEY:
            raise UsageError(
                f"bertrand: a, c, mu, a0 and cap must be at most {MOST_MONEY:,}, and mu at least {1 / MOST_MONEY:g}"
            )
        if not self.market.monopoly.price - self.market.nash.price > 1e-6 * self.mu:
            raise UsageError(
                "bertrand: with these a, c, mu and a0 nearly nobody buys, and the monopoly price is the Nash price; raise a, or lower c or a0"
            )
        if self.grid == 1 or self.grid > MOST_PRICES or self.grid**self.n > MOST_JOINT:
            raise UsageError(
                f"bertrand: grid must be 0 (any price) or 2 to {MOST_PRICES:,} prices, with at most {MOST_JOINT:,} joint actions; got"
                f" {self.grid} prices and {self.n} firms"
            )

    @cached_property
    def market(self) -> LogitMarket:
        """Demand and costs, with their exact values."""
        return LogitMarket(self.n, self.a, self.c, self.mu, self.a0)

    @cached_property
    def highest(self) -> float:
        """The highest price that may be asked."""
        return self.cap or round(2 * self.market.monopoly.price, 2)

    @cached_property
    def pricing(self) -> Pricing:
        """The prices that may be asked, for scripted firms."""
        return Pricing(self.market, self.highest, named(self.grid_of(self.grid)), self.grid_of(FINE_PRICES))

    def grid_of(self, count: int) -> list[float]:
        """So many equidistant prices from a little below Nash's to a little above the monopoly's (Calvano et al., section II.C)."""
        if count == 0:
            return []
        nash, monopoly = self.market.nash.price, self.market.monopoly.price
        reach = XI * (monopoly - nash)
        lowest = max(0.0, nash - reach)
        step = (monopoly + reach - lowest) / (count - 1)
        return [lowest + i * step for i in range(count)]

    # ------------------------------------------------------------------ rules

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> str | None:
        """With ``prompt=any`` what all firms are told to do in this episode, else nothing."""
        if not self.draws:
            return None
        if past:
            return str(past[0].deal)
        return list(PROMPTS)[int(chance[0] * len(PROMPTS))]

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[str | None, float]]:
        """All prompts in the first round, then the one that was dealt."""
        if not self.draws or past:
            return [(self.deal((), past), 1.0)]
        return [(prompt, 1 / len(PROMPTS)) for prompt in PROMPTS]

    @cached_property
    def _phase(self) -> Phase:
        return Phase(PRICE, self.seats)

    @cached_property
    def _paid(self) -> dict[tuple[Action | None, ...], dict[str, float | None]]:
        return {}

    def next_phase(self, now: Round) -> Phase | None:
        """Everybody sets a price, once."""
        return None if now.acts else self._phase

    def prices(self, one: Round) -> dict[str, float | None]:
        """What each firm asked; None where no price could be read."""
        return {act.seat: self.pricing.price(act.action) for act in one.acts if act.phase == PRICE}

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """Each firm's profit."""
        asked = tuple(act.action for act in now.acts)
        paid = self._paid.get(asked)
        if paid is None:
            profits = self.market.profits([self.pricing.price(action) for action in asked])
            paid = {act.seat: profit for act, profit in zip(now.acts, profits, strict=True)}
            if self.grid:  # a few joint actions come up again and again
                self._paid[asked] = paid
        return paid

    def observe(self, one: Round, seat: str) -> Round:
        """All prices, and of the profits its own."""
        if one.payoffs is None:
            return one
        return Round(one.number, one.deal, one.acts, {seat: one.payoffs[seat]})

    def spectate(self, one: Round) -> Round:
        """Everything: all prices and profits, and what firms are told to do."""
        return one

    def choices(self, request: Request) -> Sequence[Action] | None:
        """The prices of the grid; None without one."""
        return None if self.actions is None else self.actions[request.seat]

    def examples(self, request: Request) -> Sequence[Action]:
        """Calvano's prices, around those of Nash and of the monopoly."""
        return self.grid_of(CALVANO_PRICES)


def named(prices: Sequence[float]) -> dict[str, float]:
    """Prices by name: rounded to two decimals, or to as many as tell them all apart."""
    for digits in range(2, 18):
        found = {f"{price:.{digits}f}": price for price in prices}
        if len(found) == len(prices):
            return found
    raise UsageError(
        f"bertrand: {len(prices)} prices of a grid are too close to one another to be told apart; set a smaller grid"
    )
