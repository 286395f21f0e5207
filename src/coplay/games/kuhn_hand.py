"""A hand of Kuhn poker: cards, who acts first, what can be done, how a hand ends."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from coplay.games.records import Round

SEATS = ("player-1", "player-2")
"""The two seats."""

CARDS = ("J", "Q", "K")
"""The deck, from low to high."""

PASS, BET, CALL, FOLD = "pass", "bet", "call", "fold"

OPEN, ANSWER = "bet", "call"
"""The phases: whether to bet, and whether to call a bet."""

CHOICES = {OPEN: (PASS, BET), ANSWER: (FOLD, CALL)}
"""What can be done in each phase; the first is what a reply that cannot be parsed counts as."""

ENDINGS = ((PASS, PASS), (BET, FOLD), (FOLD, BET), (BET, CALL), (CALL, BET))
"""All that a hand can come to, as the last action of each seat."""


@dataclass(frozen=True)
class KuhnDeal:
    """A hand's cards."""

    cards: tuple[str | None, str | None]
    """Each seat's card, in the order of seats; None for one that the observer may not see."""

    def of(self, seat: str) -> str | None:
        """A seat's card."""
        return self.cards[SEATS.index(seat)]


DEALS = tuple(KuhnDeal((one, two)) for one, two in permutations(CARDS, 2))
"""All deals; each is as likely as the others."""


def other(seat: str) -> str:
    """The seat across the table."""
    return SEATS[1 - SEATS.index(seat)]


def first_seat(hand: int) -> str:
    """Who acts first in a hand, counted from 0: the seats alternate."""
    return SEATS[hand % 2]


def played(one: Round) -> tuple[str, ...]:
    """What was done in a hand so far, with replies that could not be parsed as what they count as."""
    return tuple(CHOICES[act.phase][0] if act.action is None else str(act.action) for act in one.acts)


def last_actions(one: Round) -> dict[str, str]:
    """The last action of each seat that has acted."""
    return {act.seat: done for act, done in zip(one.acts, played(one), strict=True)}


def at_showdown(one: Round) -> bool:
    """Whether the hand is over with both cards shown: nobody folded."""
    return played(one)[-2:] in ((PASS, PASS), (BET, CALL))
