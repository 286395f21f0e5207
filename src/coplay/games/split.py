"""Splitting items: both seats say at once what they want to keep, and what is asked for twice is shared in proportion.

Two games by one rule. In Split No-Comm the values are public and nobody speaks; in Trust-and-Split each seat sees its own hand alone, and
sends one message. (Learning Robust Social Strategies with Large Language Models, section 4.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from coplay.games.rounds import ALICE, BOB, SEATS, Action, Phase, other

LOW, HIGH = 1, 10
"""What an item can be worth to a seat."""

QUANTITY = 10
"""How many there are of each item."""

ITEMS = ("hats", "books", "balls")
"""Of Split No-Comm."""

COINS = "coins"
"""The only item of Trust-and-Split."""

BEATEN_BY = {"rock": "paper", "paper": "scissors", "scissors": "rock"}
"""Each hand and the one that is upper to it."""


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


@dataclass(frozen=True)
class _Split:
    """The rule that both games share."""

    rounds: int = 10
    """Rounds of an episode unless a config says otherwise."""

    seats = SEATS
    items: ClassVar[tuple[str, ...]] = ITEMS
    quantity = QUANTITY

    def allocation(self, actions: Mapping[str, Action | None]) -> dict[str, dict[str, float]]:
        """How many of each item each seat receives; a reply that could not be read asks for nothing."""
        asked = {seat: self._asked(actions[seat]) for seat in self.seats}
        return {
            seat: {item: split(self.quantity, asked[seat][item], asked[other(seat)][item]) for item in self.items}
            for seat in self.seats
        }

    def payoffs(self, deal: SplitDeal, actions: Mapping[str, Action | None]) -> dict[str, float]:
        """See :class:`coplay.games.rounds.RoundGame`."""
        received = self.allocation(actions)
        return {seat: sum(deal.values[seat][item] * received[seat][item] for item in self.items) for seat in self.seats}

    def cooperates(self, deal: SplitDeal, seat: str, action: Action | None) -> bool | None:
        """Whether a proposal asks for at most half of whatever is worth more to the co-player; None if nothing is."""
        if action is None or isinstance(action, str):
            return None
        mine, theirs = deal.values[seat], deal.values[other(seat)]
        left = [2 * action[item] <= self.quantity for item in self.items if theirs[item] > mine[item]]
        return all(left) if left else None

    def most_together(self, deal: SplitDeal) -> float:
        """The largest sum of payoffs a round allows: every item to a seat that values it most."""
        return float(sum(self.quantity * max(deal.values[seat][item] for seat in self.seats) for item in self.items))

    def _asked(self, proposal: Action | None) -> dict[str, int]:
        if proposal is None:
            return dict.fromkeys(self.items, 0)
        if isinstance(proposal, str) or set(proposal) != set(self.items):
            raise ValueError(f"a proposal names {', '.join(self.items)}, got {proposal!r}")
        if not all(0 <= proposal[item] <= self.quantity for item in self.items):
            raise ValueError(f"a proposal keeps 0 to {self.quantity} of each item, got {dict(proposal)}")
        return dict(proposal)


@dataclass(frozen=True)
class SplitNoComm(_Split):
    """Three items of public value, split without a word."""

    name = "split-no-comm"
    description = "Split hats, books and balls of public value; both propose at once, nobody speaks."
    draws = 1

    def deal(self, chance: Sequence[float]) -> SplitDeal:
        """One of the twelve possible pairs of values, each as likely as the others.

        They are what is left of independent coins for every seat and item, 1 or 10, if at least one item is worth different things to
        the seats and the seats' totals are equal (the paper's three rules).
        """
        (uniform,) = chance
        alice, bob = VALUE_PAIRS[int(uniform * len(VALUE_PAIRS))]
        return SplitDeal({ALICE: dict(zip(ITEMS, alice, strict=True)), BOB: dict(zip(ITEMS, bob, strict=True))})

    def seen(self, deal: SplitDeal, seat: str) -> SplitDeal:
        """Everything: values are public."""
        return deal

    def phases(self, round: int) -> tuple[Phase, ...]:
        """One phase: both propose."""
        return (Phase("proposal", SEATS),)


@dataclass(frozen=True)
class TrustAndSplit(_Split):
    """Coins whose value depends on hands that only their holders see: a message each, then proposals."""

    name = "trust-and-split"
    description = "Split ten coins whose value depends on private hands; one message each, then both propose at once."
    draws = 1
    items: ClassVar[tuple[str, ...]] = (COINS,)

    def deal(self, chance: Sequence[float]) -> SplitDeal:
        """Two different hands, each of the six pairs as likely as the others; the upper hand's coins are worth 10 each, the lower's 1."""
        (uniform,) = chance
        alice, bob = HAND_PAIRS[int(uniform * len(HAND_PAIRS))]
        upper = ALICE if BEATEN_BY[bob] == alice else BOB
        values = {seat: {COINS: HIGH if seat == upper else LOW} for seat in SEATS}
        return SplitDeal(values, {ALICE: alice, BOB: bob})

    def seen(self, deal: SplitDeal, seat: str) -> SplitDeal:
        """Its own hand, and no value: that depends on the other hand."""
        return SplitDeal({}, {seat: deal.hands[seat]} if deal.hands is not None else None)

    def phases(self, round: int) -> tuple[Phase, ...]:
        """A message each, alice first in even rounds and bob in odd ones; then both propose."""
        first, second = SEATS if round % 2 == 0 else SEATS[::-1]
        return (Phase("message", (first,)), Phase("message", (second,)), Phase("proposal", SEATS))


def _value_pairs() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    worths = list(product((LOW, HIGH), repeat=len(ITEMS)))
    return [(alice, bob) for alice in worths for bob in worths if alice != bob and sum(alice) == sum(bob)]


VALUE_PAIRS = _value_pairs()
"""All values that Split No-Comm can deal, (alice's, bob's), in the order of :data:`ITEMS`."""

HAND_PAIRS = [(alice, bob) for alice in BEATEN_BY for bob in BEATEN_BY if alice != bob]
"""All hands that Trust-and-Split can deal."""
