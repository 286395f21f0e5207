"""Kuhn poker: three cards, one bet, and equilibria that are known (Kuhn, 1950; SEPO, appendix F).

SEPO's text leaves out the first player's answer to a bet after its pass, which the equilibrium that it quotes needs; the whole tree is played
here. Seats take turns at acting first. The wording is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from coplay.games.base import Game
from coplay.games.kuhn_hand import (
    ANSWER,
    BET,
    CALL,
    CARDS,
    CHOICES,
    DEALS,
    ENDINGS,
    FOLD,
    OPEN,
    PASS,
    SEATS,
    KuhnDeal,
    at_showdown,
    first_seat,
    last_actions,
    other,
    played,
)
from coplay.games.kuhn_strategies import STRATEGIES
from coplay.games.kuhn_words import POKER, TILES, KuhnWords
from coplay.games.memory import Joint
from coplay.games.reasoned import ReasonedGame
from coplay.games.records import Act, Action, Outcome, Phase, Request, Round
from coplay.games.strategy import GameStrategy
from coplay.text.final_line import ask_for
from coplay.text.rendering import counted, in_round, join, lines


@dataclass(frozen=True)
class KuhnPoker(ReasonedGame):
    """Hands of Kuhn poker with an ante and bets of one chip; payoffs are the chips won or lost in a hand.

    Whoever acts first passes or bets. After a pass the other passes, to a showdown for the antes, or bets. Whoever faces a bet calls, to a showdown
    for two chips each, or folds and loses its ante. A reply that cannot be parsed passes or folds: it stakes no chip, and gets what the legal reply
    would have got, so that it never pays to reply illegally. Folded cards stay private for ever; a showdown shows both.

    Example:
        >>> from coplay.games.records import Act, Round
        >>> acts = (Act("bet", 0, "player-1", "bet"), Act("call", 0, "player-2", "call"))
        >>> KuhnPoker().payoffs(Round(0, KuhnDeal(("K", "Q")), acts))
        {'player-1': 2.0, 'player-2': -2.0}
    """

    rounds: int = 6
    """Hands of an episode unless a config says otherwise."""

    name = "kuhn"
    description = "Kuhn poker: one of three cards each, an ante and one bet; replies may reason before they act."
    seats = SEATS
    draws = 1
    max_choices = 2
    strategies: ClassVar[Mapping[str, GameStrategy]] = STRATEGIES
    vocabulary: ClassVar[KuhnWords] = POKER

    # ------------------------------------------------------------------ rules

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> KuhnDeal:
        """Two of the three cards."""
        (uniform,) = chance
        return DEALS[int(uniform * len(DEALS))]

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[KuhnDeal, float]]:
        """The six deals."""
        return [(deal, 1 / len(DEALS)) for deal in DEALS]

    def next_phase(self, now: Round) -> Phase | None:
        """Whoever acts first passes or bets; then the other; after pass and bet the first again."""
        first, done = first_seat(now.number), played(now)
        if not done:
            return Phase(OPEN, (first,))
        if done == (PASS,):
            return Phase(OPEN, (other(first),), 1)
        if done[-1] == BET:
            return Phase(ANSWER, (other(now.acts[-1].seat),))
        return None

    def choices(self, request: Request) -> Sequence[Action]:
        """Pass or bet; after a bet fold or call."""
        return CHOICES[request.phase.name]

    def observe(self, one: Round, seat: str) -> Round:
        """The other seat's card is hidden but at a showdown."""
        if at_showdown(one):
            return one
        cards = (one.deal.cards[0], None) if seat == SEATS[0] else (None, one.deal.cards[1])
        return replace(one, deal=KuhnDeal(cards))

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """Net chips: the antes after passes and folds, two chips each after a call."""
        done = last_actions(now)
        if FOLD in done.values():
            winner = next(seat for seat in SEATS if done[seat] != FOLD)
        else:
            winner = max(SEATS, key=lambda seat: CARDS.index(now.deal.of(seat)))
        stake = 2.0 if CALL in done.values() else 1.0
        return {seat: stake if seat == winner else -stake for seat in SEATS}

    # ------------------------------------------------------------------ what a hand came to

    def outcome(self, one: Round) -> Outcome:
        """The last action of each seat, which tells how the hand was played to all but the order of the seats."""
        failed = {act.seat for act in one.acts if act.action is None}
        done = last_actions(one)
        return Outcome(tuple(None if seat in failed else done[seat] for seat in SEATS), parsed=not failed)

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The four actions."""
        return (PASS, BET, CALL, FOLD)

    def own_states(self, seat: str) -> list[Joint]:
        """The five ways in which a hand can end."""
        return [joint for joint in product(self.conducts(seat), repeat=2) if joint in ENDINGS]

    def cooperation_payoff(self, seat: str) -> float:
        """The most that a hand can win, two chips: the game is zero-sum, nobody cooperates in it, and this only sets the unit of payoffs."""
        return 2.0

    def fair_payoff(self, seat: str) -> float:
        """Nothing: against a co-player that bets no chip and has the same chance at the antes (SEPO, section 3.1: "ante only")."""
        return 0.0

    # ------------------------------------------------------------------ words

    def word(self, action: Action) -> str:
        """What is replied for an action."""
        return self.vocabulary.replies[str(action)]

    def rules(self, seat: str) -> str:
        """Cards, antes, betting and payoffs."""
        them, words = self.call(other(seat)), self.vocabulary
        hand, card, chip = words.hand, words.card, words.chip
        bet, pass_, call = (self.word(action).lower() for action in (BET, PASS, CALL))
        return lines(
            f"You are {self.call(seat)}. You play {words.hands} with {them}.",
            f"The {words.deck} has three {card}s: {join(list(words.cards.values()))}, from low to high. In every {hand} each of you pays an {words.ante} of one"
            f" {chip} and gets one {card}, which the other does not see. You take turns at acting first.",
            f"Whoever acts first replies {self.word(PASS)} or {self.word(BET)}; a {bet} is one more {chip}. After a {pass_} the other replies"
            f" {self.word(PASS)} or {self.word(BET)} too.",
            f"Whoever faces a {bet} replies {self.word(CALL)}, paying one {chip} as well, or {self.word(FOLD)},"
            f" losing the {words.ante} without showing its {card}.",
            f"If nobody {words.folds}, both {card}s are shown and the higher one wins: one {chip} after two {words.passes}, two {chip}s after a {call}.",
            f"{chip.capitalize()}s add up over the {hand}s. Win as many as you can.",
        )

    def opening(self, now: Round, seat: str) -> str:
        """The seat's card, and who acts first."""
        first, words = first_seat(now.number), self.vocabulary
        begins = "You act first." if first == seat else f"{self.call(first)} acts first."
        return f"New {words.hand}. Your {words.card} is {self.show_deal(now, seat)}. {begins}"

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """An action."""
        return ask_for([self.word(action) for action in CHOICES[phase.name]])

    def announce(self, act: Act, seat: str) -> str:
        """What was done."""
        return f"{'You' if act.seat == seat else self.call(act.seat)} {self._told(act)}."

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What both seats know of a hand: what was done, the cards of a showdown, and who won."""
        did = [f"{'you' if act.seat == seat else self.call(act.seat)} {self._told(act)}" for act in last.acts]
        shown = ""
        if at_showdown(last):
            shown = f" You showed {self.show_deal(last, seat)}, {self.call(other(seat))} {self.show_deal(last, other(seat))}."
        won = (last.payoffs or {}).get(seat) or 0.0
        amount = counted(int(abs(won)), self.vocabulary.chip)
        played = in_round(last.number, dated=dated, word=self.vocabulary.hand)
        return f"{played} {join(did, 'and')}.{shown} You {'won' if won > 0 else 'lost'} {amount}."

    def _told(self, act: Act) -> str:
        """An action in the past tense; one that could not be parsed as what it counted as."""
        if act.action is None:
            return f"{self.vocabulary.told[CHOICES[act.phase][0]]} (the reply could not be read)"
        return self.vocabulary.told[str(act.action)]

    def show_deal(self, one: Round, seat: str) -> str | None:
        """The seat's card."""
        card = one.deal.of(seat)
        return None if card is None else self.vocabulary.cards[card]

    # ------------------------------------------------------------------ variants

    def disguised(self) -> Mapping[str, Game]:
        """With numbered tiles, and other words for all that is done."""
        return {"tiles": TilesKuhn(self.rounds)}


class TilesKuhn(KuhnPoker):
    """Kuhn poker told as a game of tiles."""

    vocabulary = TILES
