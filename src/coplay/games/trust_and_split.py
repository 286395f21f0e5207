"""Trust-and-Split: coins whose value depends on private hands; a message each, then both propose.

(Learning Robust Social Strategies with Large Language Models, sections 4 and 13; the wording is ours.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from coplay.games.memory import Joint
from coplay.games.records import Action, Phase, Request, Round, in_order
from coplay.games.split import ALICE, BOB, COOPERATE, GREEDY, HIGH, LOW, QUANTITY, SEATS, SplitDeal, SplitGame, other
from coplay.text.parsing import MAX_MESSAGE_CHARACTERS, MESSAGE, PROPOSAL, parse_amount, parse_message
from coplay.text.rendering import lines

COINS = "coins"
"""The only item of Trust-and-Split."""

BEATEN_BY = {"rock": "paper", "paper": "scissors", "scissors": "rock"}
"""Each hand and the one that is upper to it."""

HAND_PAIRS = [(alice, bob) for alice in BEATEN_BY for bob in BEATEN_BY if alice != bob]
"""All hands that Trust-and-Split can deal."""


@dataclass(frozen=True)
class TrustAndSplit(SplitGame):
    """Coins whose value depends on hands that only their holders see: a message each, then proposals."""

    max_characters: int = MAX_MESSAGE_CHARACTERS
    """Characters a message may have."""

    name = "trust-and-split"
    description = "Split ten coins whose value depends on private hands; one message each, then both propose at once."
    items: ClassVar[tuple[str, ...]] = (COINS,)
    figures: ClassVar[Mapping[str, str]] = {
        **SplitGame.figures,
        "truthful": "share of the messages that name the hand that is held, and no other",
    }

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> SplitDeal:
        """Two different hands, each of the six pairs as likely as the others; the upper hand's coins are worth 10 each, the lower's 1."""
        (uniform,) = chance
        alice, bob = HAND_PAIRS[int(uniform * len(HAND_PAIRS))]
        upper = ALICE if BEATEN_BY[bob] == alice else BOB
        values = {seat: {COINS: HIGH if seat == upper else LOW} for seat in SEATS}
        return SplitDeal(values, {ALICE: alice, BOB: bob})

    def observe(self, one: Round, seat: str) -> Round:
        """Its own hand, and no value, until the round is over: the value depends on the other hand. Afterwards everything."""
        if one.payoffs is not None or one.deal is None:
            return one
        return replace(one, deal=SplitDeal({}, {seat: one.deal.hands[seat]}))

    def next_phase(self, now: Round) -> Phase | None:
        """A message each, alice first in even rounds and bob in odd ones; then both propose."""
        return in_order(now, _TRUST_PHASES[now.number % 2])

    def state_names(self) -> tuple[str, ...]:
        """Only the seat with the lower hand has a choice."""
        return ("C-", "D-", "-C", "-D", "I")

    def own_states(self, seat: str) -> list[Joint]:
        """Only the seat with the lower hand has a choice."""
        return [(COOPERATE, None), (GREEDY, None), (None, COOPERATE), (None, GREEDY)]

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """What was asked for, and whether the message named the hand that was held."""
        message = one.actions("message")[seat]
        told = [float(named_hands(message) == {one.deal.hands[seat]})] if isinstance(message, str) else []
        return {**super().figures_of(one, seat), "truthful": told}

    def perform(self, conduct: str, request: Request) -> Action:
        """Tell one's hand; then ask for all coins (greedy), or for all with the upper hand, none with the lower, half if it is not known."""
        if request.phase.name == "message":
            return f"My hand is {request.now.deal.hands[request.seat]}."
        return {COINS: QUANTITY if conduct == GREEDY else self._fair_share(request)}

    def _fair_share(self, request: Request) -> int:
        theirs = told_hand(request)
        if theirs is None:
            return QUANTITY // 2
        return QUANTITY if BEATEN_BY[theirs] == request.now.deal.hands[request.seat] else 0

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """Hands, values, messages, and the split rule in words."""
        them = self.call(other(seat))
        beats = "; ".join(f"{upper} is upper to {lower}" for lower, upper in BEATEN_BY.items())
        return lines(
            f"You are {self.call(seat)}. In every round you and {them} split {self.quantity} coins.",
            f"Each of you is dealt a hand that only its holder sees, never both the same: {beats}.",
            f"A coin is worth {HIGH} points to the upper hand and {LOW} to the lower. Over many rounds both hold the upper hand equally often.",
            "First each of you sends one message; who begins alternates. Then both of you say at the same time how many coins you want to keep.",
            f"If together you ask for at most {self.quantity}, each gets what it asked for; if for more, they are shared in proportion to"
            " what was asked. Hands and proposals are shown afterwards.",
            "Points add up over the rounds. Get as many points as you can.",
        )

    def opening(self, now: Round, seat: str) -> str:
        """The seat's own hand."""
        return f"New round. Your hand is {now.deal.hands[seat]}."

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """A message or a proposal."""
        if phase.name == "message":
            return f"Reply with {MESSAGE[0]}your message{MESSAGE[1]}, at most {self.max_characters} characters, and nothing else."
        return f"Reply with {PROPOSAL[0]}x{PROPOSAL[1]}, where x is how many coins you keep, 0 to {self.quantity}, and nothing else."

    def parse_action(self, request: Request, text: str) -> Action | None:
        """A message, or an amount of coins."""
        if request.phase.name == "message":
            return parse_message(text, max_characters=self.max_characters)
        amount = parse_amount(text, most=self.quantity)
        return None if amount is None else {COINS: amount}

    def render_action(self, request: Request, action: Action) -> str:
        """The message or the amount between its tags."""
        if isinstance(action, Mapping):
            return f"{PROPOSAL[0]}{action[COINS]}{PROPOSAL[1]}"
        return f"{MESSAGE[0]}{action}{MESSAGE[1]}"

    def _held(self, last: Round, seat: str) -> str:
        return f"held {last.deal.hands[seat]}, "


_TRUST_PHASES = tuple(
    (Phase("message", (first,), 0), Phase("message", (second,), 1), Phase("proposal", SEATS))
    for first, second in (SEATS, SEATS[::-1])
)
"""The phases of even rounds, and of odd ones."""


def named_hands(message: str) -> set[str]:
    """The hands of Trust-and-Split that a message names, however it is put."""
    return set(re.findall("|".join(BEATEN_BY), message.lower()))


def told_hand(request: Request) -> str | None:
    """The hand that the co-player's message names; None if it names none, several, or the seat's own, which it cannot have."""
    message = request.now.actions("message").get(other(request.seat))
    if not isinstance(message, str):
        return None
    named = named_hands(message)
    possible = named - {request.now.deal.hands[request.seat]}
    return possible.pop() if len(named) == len(possible) == 1 else None
