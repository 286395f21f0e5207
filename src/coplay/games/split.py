"""Splitting items: both seats say at once what they want to keep, and what is asked for twice is shared in proportion.

The rule, and Split No-Comm, in which values are public and nobody speaks. (Learning Robust Social Strategies with Large Language Models, sections 4, 12 and 13; the wording is ours.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from coplay.games.base import Game
from coplay.games.records import Action, Outcome, Phase, Request, Round
from coplay.text.parsing import PROPOSAL, parse_amounts
from coplay.text.rendering import in_round, join, lines, number

ALICE, BOB = "alice", "bob"
SEATS = (ALICE, BOB)
"""The paper's names for its two players."""

COOPERATE, GREEDY = "cooperate", "greedy"
"""What a proposal amounts to: at most half is asked for of whatever is worth more to the co-player, or more than half."""

LOW, HIGH = 1, 10
"""What an item can be worth to a seat."""

QUANTITY = 10
"""How many there are of each item."""

ITEMS = ("hats", "books", "balls")
"""Of Split No-Comm."""


@dataclass(frozen=True)
class SplitDeal:
    """What chance gives the seats in a round."""

    values: Mapping[str, Mapping[str, int]]
    """What each seat gets for one of each item."""
    hands: Mapping[str, str] | None = None
    """Trust-and-Split: each seat's private hand, which decides the values."""


def split(quantity: float, own: float, other: float) -> float:
    """What a seat receives of an item: q * p_a / max(q, p_a + p_b) (section 4).

    Demands that fit together are met; others are met in proportion. What nobody asks for nobody gets.

    Args:
        quantity: q, how many there are.
        own: p_a, how many this seat asks for.
        other: p_b, how many its co-player asks for.
    """
    return quantity * own / max(quantity, own + other)


def other(seat: str) -> str:
    """The seat across the table."""
    return BOB if seat == ALICE else ALICE


@dataclass(frozen=True)
class SplitGame(Game):
    """The rule that both games share."""

    rounds: int = 10
    """Rounds of an episode unless a config says otherwise."""

    seats = SEATS
    draws = 1
    items: ClassVar[tuple[str, ...]] = ITEMS
    quantity: ClassVar[int] = QUANTITY
    figures: ClassVar[Mapping[str, str]] = {
        "asked/more": "mean amount asked for of an item that is worth more to the seat than to its co-player",
        "asked/less": "mean amount asked for of an item that is worth less to it",
        "asked/same": "mean amount asked for of an item that is worth the same to both",
    }

    # ------------------------------------------------------------------ rules

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """What each seat's items are worth to it; a proposal that could not be parsed asks for nothing."""
        received, deal = self.allocation(now.actions("proposal")), now.deal
        return {seat: sum(deal.values[seat][item] * received[seat][item] for item in self.items) for seat in self.seats}

    def allocation(self, actions: Mapping[str, Action | None]) -> dict[str, dict[str, float]]:
        """How many of each item each seat receives; a reply that could not be parsed asks for nothing."""
        asked = {seat: self._asked(actions[seat]) for seat in self.seats}
        return {
            seat: {item: split(self.quantity, asked[seat][item], asked[other(seat)][item]) for item in self.items}
            for seat in self.seats
        }

    def most_together(self, deal: SplitDeal) -> float:
        """The largest sum of payoffs a round allows: every item to a seat that values it most."""
        return float(sum(self.quantity * max(deal.values[seat][item] for seat in self.seats) for item in self.items))

    def _asked(self, proposal: Action | None) -> Mapping[str, int]:
        if proposal is None:
            return dict.fromkeys(self.items, 0)
        if not isinstance(proposal, Mapping) or set(proposal) != set(self.items):
            raise ValueError(f"a proposal names {', '.join(self.items)}, got {proposal!r}")
        if not all(0 <= proposal[item] <= self.quantity for item in self.items):
            raise ValueError(f"a proposal keeps 0 to {self.quantity} of each item, got {dict(proposal)}")
        return proposal

    # ------------------------------------------------------------------ what a round came to

    def outcome(self, one: Round) -> Outcome:
        """Whether each seat's proposal was cooperative."""
        asked = one.actions("proposal")
        conduct = tuple(self._conduct(one.deal, seat, asked[seat]) for seat in self.seats)
        return Outcome(conduct, parsed=None not in asked.values())

    def conducts(self, seat: str) -> tuple[str, ...]:
        """``cooperate`` and ``greedy``."""
        return (COOPERATE, GREEDY)

    def initial(self, seat: str, conduct: str) -> str:
        """``C`` and ``D``, as in the dilemma."""
        return "C" if conduct == COOPERATE else "D"

    def cooperates(self, deal: SplitDeal, seat: str, action: Action | None) -> bool | None:
        """Whether a proposal asks for at most half of whatever is worth more to the co-player; None if nothing is, or it was not parsed."""
        if not isinstance(action, Mapping):
            return None
        mine, theirs = deal.values[seat], deal.values[other(seat)]
        left = [2 * action[item] <= self.quantity for item in self.items if theirs[item] > mine[item]]
        return all(left) if left else None

    def _conduct(self, deal: SplitDeal, seat: str, action: Action | None) -> str | None:
        return {True: COOPERATE, False: GREEDY, None: None}[self.cooperates(deal, seat, action)]

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """What was asked for, by how much it is worth to the seat and to its co-player."""
        asked: dict[str, list[float]] = {"asked/more": [], "asked/less": [], "asked/same": []}
        action = one.actions("proposal")[seat]
        for item, amount in action.items() if isinstance(action, Mapping) else ():
            mine, theirs = (one.deal.values[who][item] for who in (seat, other(seat)))
            asked["asked/more" if mine > theirs else "asked/less" if mine < theirs else "asked/same"].append(amount)
        return asked

    # ------------------------------------------------------------------ words

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What both held, asked for, and got."""
        asked, paid = last.actions("proposal"), last.payoffs or {}
        parts = [
            f"{'you' if one == seat else self.call(one)} {self._held(last, one)}asked for {self.show(self._in_order(asked[one]))}"
            f" and got {number(round(paid[one] or 0.0, 1))} points"
            for one in (seat, other(seat))
        ]
        return f"{in_round(last.number, dated=dated)} {parts[0]}; {parts[1]}."

    def _in_order(self, proposal: Action | None) -> Action | None:
        """The amounts in the order of the items."""
        return {item: proposal[item] for item in self.items} if isinstance(proposal, Mapping) else None

    def _held(self, last: Round, seat: str) -> str:
        """What was private before, and a comma; nothing where all was public."""
        return ""

    def show_deal(self, one: Round, seat: str) -> str | None:
        """What a seat held, and what things were worth to it."""
        worth = ", ".join(f"{item} {value}" for item, value in one.deal.values[seat].items())
        return f"{one.deal.hands[seat]}: {worth} each" if one.deal.hands is not None else f"{worth} each"


@dataclass(frozen=True)
class SplitNoComm(SplitGame):
    """Three items of public value, split without a word."""

    name = "split-no-comm"
    description = "Split hats, books and balls of public value; both propose at once, nobody speaks."

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> SplitDeal:
        """One of the twelve possible pairs of values, each as likely as the others.

        They are what is left of independent coins for every seat and item, 1 or 10, if at least one item is worth different things to
        the seats and the seats' totals are equal (the paper's three rules).
        """
        (uniform,) = chance
        alice, bob = VALUE_PAIRS[int(uniform * len(VALUE_PAIRS))]
        return SplitDeal({ALICE: dict(zip(ITEMS, alice, strict=True)), BOB: dict(zip(ITEMS, bob, strict=True))})

    def next_phase(self, now: Round) -> Phase | None:
        """One phase: both propose."""
        return None if now.acts else Phase("proposal", SEATS)

    def perform(self, conduct: str, request: Request) -> Action:
        """Cooperate: keep what is worth more to oneself, give what is worth more to the other, halve the rest. Greedy: ask for everything."""
        values, seat = request.now.deal.values, request.seat
        if conduct == GREEDY:
            return dict.fromkeys(values[seat], QUANTITY)
        mine, theirs = values[seat], values[other(seat)]
        return {item: QUANTITY * (1 + (mine[item] > theirs[item]) - (mine[item] < theirs[item])) // 2 for item in mine}

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """Items, values, and the split rule in words."""
        them = self.call(other(seat))
        return lines(
            f"You are {self.call(seat)}. In every round you and {them} split {self.quantity} each of {join(self.items)}.",
            f"An item is worth {LOW} or {HIGH} points to each of you; values change every round, and both of you see them.",
            "Both of you say at the same time how many of each item you want to keep.",
            f"If together you ask for at most {self.quantity} of an item, each gets what it asked for; if for more, they are shared in"
            " proportion to what was asked.",
            "Points add up over the rounds. Get as many points as you can.",
        )

    def opening(self, now: Round, seat: str) -> str:
        """The values."""
        mine, theirs = (self._values(now.deal, one) for one in (seat, other(seat)))
        return f"New round. One of each is worth to you: {mine}; to {self.call(other(seat))}: {theirs}."

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """A proposal."""
        form = ", ".join(f"{letter} {item}" for letter, item in zip("xyz", self.items, strict=True))
        return (
            f"Reply with {PROPOSAL[0]}{form}{PROPOSAL[1]}, where each number is what you keep,"
            f" 0 to {self.quantity}, and nothing else."
        )

    def parse_action(self, request: Request, text: str) -> Action | None:
        """An amount of every item."""
        return parse_amounts(text, self.items, most=self.quantity)

    def render_action(self, request: Request, action: Action) -> str:
        """The amounts between the tags of a proposal, in the order of the items."""
        assert isinstance(action, Mapping)
        return f"{PROPOSAL[0]}{', '.join(f'{action[item]} {item}' for item in self.items)}{PROPOSAL[1]}"

    def _values(self, deal: SplitDeal, seat: str) -> str:
        return ", ".join(f"{item} {deal.values[seat][item]}" for item in self.items)


def _value_pairs() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    worths = list(product((LOW, HIGH), repeat=len(ITEMS)))
    return [(alice, bob) for alice in worths for bob in worths if alice != bob and sum(alice) == sum(bob)]


VALUE_PAIRS = _value_pairs()
"""All values that Split No-Comm can deal, (alice's, bob's), in the order of :data:`ITEMS`."""
