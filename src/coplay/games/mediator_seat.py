"""The words of mediation: what the mediator is told and asked, how it replies, and how its messages reach those addressed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations

from coplay.games.base import Game
from coplay.games.decisions import Decisions, with_messages
from coplay.games.mediation_features import features_of_standing, names_of_standing
from coplay.games.mediation_words import (
    NONE,
    OWN,
    Message,
    addressed,
    is_message,
    least_cooperative,
    message_words,
    parse_chosen,
    parse_letters,
    render_letters,
    word_of,
)
from coplay.games.notices import Notice
from coplay.games.records import Act, Action, Phase, Request, Round
from coplay.games.wrapper import GameWrapper
from coplay.text.final_line import ask_for, ends_with_word, last_characters, parse_final
from coplay.text.rendering import join, lines, number

MEDIATOR = "mediator"
"""The mediator's seat."""

MEDIATION = "mediation"
"""The phase in which it acts, the first of every round."""

LOWEST, EVERYONE, CHOSEN = "lowest", "everyone", "chosen"
"""Whom a message addresses: the seats that cooperated least so far, all, or those that the mediator names."""

_PAID = {
    "cooperation": "You are paid the share of cooperation among the players in each round, from 0 to 1.",
    "welfare": "You are paid the sum of the players' points in each round.",
    "proximity": "You are paid how close prices are to competitive ones in each round, at most 1.",
}
"""What the mediator is told that it is paid, by name."""


class MediatorWords(GameWrapper):
    """Words for the mediator's seat; all others have the game's. Subclasses say what the mediator can do."""

    informed: bool
    """Whether the mediator is told the game's context."""
    cost: float
    """Taken off the mediator's payoff for each seat addressed."""

    @property
    @abstractmethod
    def offered(self) -> Mapping[str, Notice]:
        """The notices that the mediator has, by name; none where it writes itself."""

    @property
    @abstractmethod
    def addresses(self) -> str:
        """Whom a message addresses."""

    @property
    @abstractmethod
    def paid_for(self) -> str:
        """What the mediator is paid."""

    @property
    @abstractmethod
    def written(self) -> Mapping[str, str]:
        """The word that the mediator writes for silence and for each notice, by name."""

    @abstractmethod
    def messages(self, now: Round, past: Sequence[Round]) -> tuple[Message, ...]:
        """All that the mediator can do in a round, silence first; empty where it writes its own words."""

    def rules(self, seat: str) -> str:
        """The game's; the mediator is told what the players are told, and its own task."""
        if seat != MEDIATOR:
            return super().rules(seat)
        players = join([self.game.call(one) for one in self.game.seats])
        return lines(
            f"You are the mediator of a game of {self.rounds} rounds between {players}. You do not play.",
            "Before each round you may send a message to players. Only those who are addressed read it.",
            _PAID.get(
                self.paid_for, f"You are paid the {self.paid_for.replace('_', ' ')} of the players in each round."
            )
            + (f" Each player that you address costs you {number(self.cost)}." if self.cost else ""),
            f"This is what {self.game.call(self.game.seats[0])} is told:",
            self.game.rules(self.game.seats[0]),
        )

    def opening(self, now: Round, seat: str) -> str:
        """The game's."""
        return "" if seat == MEDIATOR else super().opening(now, seat)

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """The game's; the mediator is asked for a notice by its name, or for messages."""
        if seat != MEDIATOR:
            return super().question(now, phase, seat)
        where = f"Round {now.number + 1} of {self.rounds}: whom do you write to, and what?"
        if not self.offered:
            return f"{where} Reply with NONE, or with a line for each player that you address: TO {self.game.seats[0]}: your message"
        words = list(message_words(self.messages(now, ()), self.written, chosen=self.addresses == CHOSEN))
        told = "; ".join(f"{self.written[name]}: {one.description}" for name, one in self.offered.items())
        return lines(
            f"Round {now.number + 1} of {self.rounds}. {told} {self.written[NONE]}: no message.", ask_for(words)
        )

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """The game's; the mediator is told what everybody did and got."""
        if seat != MEDIATOR:
            return super().recap(last, seat, dated=dated)
        did = "; ".join(
            f"{self.game.call(act.seat)} {self.game.verb(act)} {self.game.show(act.action)}"
            for act in self.inner(last).acts
        )
        got = ", ".join(
            f"{self.game.call(one)} {number(round((last.payoffs or {}).get(one) or 0.0, 2))}" for one in self.game.seats
        )
        return f"Round {last.number + 1}: {did}. Points: {got}."

    def announce(self, act: Act, seat: str) -> str:
        """The game's; of the mediator's act the text, as it was written to the seat."""
        if act.phase != MEDIATION:
            return super().announce(act, seat)
        return addressed(act.action).get(seat, "")

    def verb(self, act: Act) -> str:
        """The game's."""
        return "sent" if act.phase == MEDIATION else super().verb(act)

    def show(self, action: Action | None) -> str:
        """The game's; of the mediator the notice and whom it addressed."""
        if not is_message(action):
            return super().show(action)
        name, said = action
        return f"{name} to {join([seat for seat, _ in said])}" if said else name

    def show_deal(self, one: Round, seat: str) -> str | None:
        """The game's."""
        return None if seat == MEDIATOR else super().show_deal(one, seat)

    def call(self, seat: str) -> str:
        """The game's."""
        return "the mediator" if seat == MEDIATOR else super().call(seat)

    def parse_action(self, request: Request, text: str) -> Action | None:
        """The game's; the mediator's one message whose word is on the last line, or what it wrote."""
        if request.seat != MEDIATOR:
            return super().parse_action(request, text)
        if not self.offered:
            return parse_letters(text, self.game.seats)
        if self.addresses == CHOSEN:
            return parse_chosen(text, self.messages(request.now, request.past), self.written)
        return parse_final(text, self._words(request))

    def render_action(self, request: Request, action: Action) -> str:
        """The game's; the mediator's word, or what it writes."""
        if request.seat != MEDIATOR:
            return super().render_action(request, action)
        return self.label(MEDIATOR, action)

    def label(self, seat: str, action: Action) -> str:
        """The game's; the mediator's word, or what it writes."""
        if not is_message(action):
            return super().label(seat, action)
        return (
            word_of(action, self.written, chosen=self.addresses == CHOSEN) if self.offered else render_letters(action)
        )

    def _words(self, request: Request) -> dict[str, Message]:
        return message_words(self.messages(request.now, request.past), self.written, chosen=self.addresses == CHOSEN)

    def completes(self, request: Request, text: str) -> bool:
        """The game's; as soon as one of the mediator's words stands on the last line."""
        if request.seat != MEDIATOR:
            return super().completes(request, text)
        return bool(self.offered) and ends_with_word(text, self._words(request))

    def completing(self, request: Request) -> str:
        """The game's; the last characters of the mediator's words."""
        if request.seat != MEDIATOR:
            return super().completing(request)
        return last_characters(self._words(request)) if self.offered else ""

    def decisions(self) -> Decisions | None:
        """The game's, predicted from the messages that a seat reads too."""
        found = self.game.decisions()
        names = tuple(self.offered) or (OWN,)
        return None if found is None else with_messages(found, names, inside=self.inner, read=self._read)

    def _read(self, one: Round, seat: str) -> str | None:
        """The message that a seat read in a round, by name."""
        told = one.acts[0].action if one.acts and one.acts[0].phase == MEDIATION else None
        return told[0] if is_message(told) and seat in addressed(told) else None

    # ------------------------------------------------------------------ what a network sees

    def feature_names(self, seat: str, *, window: int) -> tuple[str, ...]:
        """See :meth:`features`."""
        if seat != MEDIATOR:
            return super().feature_names(seat, window=window)
        return names_of_standing(self.game, window=window, informed=self.informed)

    def features(self, request: Request, *, window: int) -> tuple[float, ...]:
        """Of the mediator the paper's meta-state (section 3.3): round, each player's play in the last rounds, payoffs so far, the game."""
        if request.seat != MEDIATOR:
            return super().features(request, window=window)
        context = self.game.context(request.now) if self.informed else ""
        return features_of_standing(self.game, request, context, window=window, informed=self.informed)


def groups_of(game: Game, past: Sequence[Round], *, targets: str, count: int) -> list[tuple[str, ...]]:
    """The groups of seats that a message may address.

    Args:
        game: the game that is played, without the mediator.
        past: the earlier rounds.
        targets: ``lowest``, ``everyone`` or ``chosen``.
        count: how many seats ``lowest`` addresses, and ``chosen`` may at most.
    """
    if targets == EVERYONE:
        return [game.seats]
    if targets == CHOSEN:
        return [group for size in range(1, count + 1) for group in combinations(game.seats, size)]
    return [least_cooperative(game, past, count=count)]
