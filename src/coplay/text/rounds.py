"""Games in rounds, in words: what a seat is asked, how its reply is written and read. Pure functions of what the seat knows.

The wording is ours. Games, tags and what is told when are the paper's (Learning Robust Social Strategies with Large Language Models, sections 4,
12 and 13). What another seat said is only ever shown as it was read: one line, without tags.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from coplay.errors import unknown
from coplay.games.repeated import IPD_AB, Repeated
from coplay.games.rounds import Action, RoundGame, other
from coplay.games.split import BEATEN_BY, COINS, HIGH, LOW, SplitDeal, SplitNoComm, TrustAndSplit
from coplay.rounds.types import Reply, Round, Situation
from coplay.text.prompts import number
from coplay.text.replies import LONGEST_MESSAGE, MESSAGE, PROPOSAL, read_amount, read_amounts, read_label, read_message

UNREADABLE = "nothing that could be read"
"""Shown in place of a reply that could not be read."""


class Past(StrEnum):
    """How much of the past a prompt shows."""

    CHAT = "chat"
    """The whole conversation: every question of this episode and the seat's own replies, as in the paper."""
    LAST_ROUND = "last_round"
    """One question, with a summary of the last round: short, for small models."""


class Line(NamedTuple):
    """A line of a conversation."""

    role: Literal["user", "assistant"]
    """Who says it: the game, or the seat itself."""
    text: str
    """What."""


class Worded(ABC):
    """A game in words."""

    game: RoundGame[Any]
    """The rules."""

    @abstractmethod
    def rules(self, seat: str) -> str:
        """What a seat is told once."""

    @abstractmethod
    def opening(self, seen: Any, seat: str) -> str:
        """What a seat is told of a new round; empty if there is nothing."""

    @abstractmethod
    def request(self, phase: str) -> str:
        """What a seat is asked for."""

    @abstractmethod
    def summary(self, past: Round, seat: str) -> str:
        """What a seat is told of the round before, when all is known."""

    @abstractmethod
    def read(self, situation: Situation, text: str) -> Action | None:
        """See :class:`coplay.rounds.play.Wording`."""

    @abstractmethod
    def say(self, situation: Situation, action: Action) -> str:
        """See :class:`coplay.rounds.play.Wording`."""

    def conversation(self, situation: Situation, past: Past) -> list[Line]:
        """What a seat reads before it replies; the last line is what it is asked now."""
        seat, rules = situation.seat, self.rules(situation.seat)
        if past is Past.LAST_ROUND:
            heard = [
                self._told(s, reply, seat) for of_phase in situation.said.values() for s, reply in of_phase.items()
            ]
            news = self._news(situation.past, situation.seen, seat)
            return [Line("user", _lines(rules, *news, *heard, self.request(situation.phase)))]
        exchanges: list[tuple[str, Reply | None]] = []
        for r, one in enumerate(situation.past):
            news = self._news(situation.past[:r], self.game.seen(one.deal, seat), seat)
            exchanges += self._exchanges(r, seat, news, one.replies)
        news = self._news(situation.past, situation.seen, seat)
        exchanges += self._exchanges(situation.round, seat, news, situation.said)
        conversation = []
        for question, reply in exchanges:
            conversation.append(Line("user", question))
            if reply is not None:
                conversation.append(Line("assistant", reply.text))
        return [Line("user", _lines(rules, conversation[0].text)), *conversation[1:]]

    def _exchanges(
        self, round: int, seat: str, news: Sequence[str], said: Mapping[str, Mapping[str, Reply]]
    ) -> list[tuple[str, Reply | None]]:
        """A round's questions to a seat with its replies, up to the first that has none yet."""
        told = list(news)
        found: list[tuple[str, Reply | None]] = []
        for phase in self.game.phases(round):
            replies = said.get(phase.name, {})
            if seat in phase.seats:
                found.append((_lines(*told, self.request(phase.name)), replies.get(seat)))
                told = []
                if seat not in replies:
                    break
            told += [self._told(one, replies[one], seat) for one in phase.seats if one != seat and one in replies]
        return found

    def _news(self, past: Sequence[Round], seen: Any, seat: str) -> list[str]:
        """What is told when a round begins."""
        return [self.summary(past[-1], seat) if past else "", self.opening(seen, seat)]

    def _told(self, speaker: str, reply: Reply, to: str) -> str:
        """What was said to all."""
        who = "You" if speaker == to else speaker.capitalize()
        return f"{who} said: {reply.action if reply.action is not None else UNREADABLE}"


@dataclass(frozen=True)
class WordedMatrix(Worded):
    """A matrix game: labels in angle brackets, and no word on what kind of game it is."""

    game: Repeated

    def rules(self, seat: str) -> str:
        """Players, actions and payoffs, from the seat's own side."""
        matrix, row = self.game.matrix, self.game.matrix.seats[0]
        payoffs = [
            f"- you {self._label(own)}, {other(seat).capitalize()} {self._label(theirs)}:"
            f" you get {number(matrix.payoff(row, own=own, other=theirs))},"
            f" {other(seat).capitalize()} gets {number(matrix.payoff(row, own=theirs, other=own))}"
            for own in self.game.actions
            for theirs in self.game.actions
        ]
        return _lines(
            f"You are {seat.capitalize()}. You play a game of several rounds with {other(seat).capitalize()}.",
            f"In every round both of you choose {' or '.join(self._labels)} at the same time. Points for a round:",
            *payoffs,
            "Points add up over the rounds. Get as many points as you can.",
        )

    def opening(self, seen: None, seat: str) -> str:
        """Nothing is dealt."""
        return ""

    def request(self, phase: str) -> str:
        """An action."""
        return f"Reply with {' or '.join(self._labels)} and nothing else."

    def summary(self, past: Round, seat: str) -> str:
        """What both did."""
        mine, theirs = (self._shown(past.actions[one]) for one in (seat, other(seat)))
        return f"In the last round you played {mine} and {other(seat).capitalize()} played {theirs}."

    def read(self, situation: Situation, text: str) -> Action | None:
        """A label in brackets."""
        return read_label(text, dict(zip(self._labels, self.game.actions, strict=True)))

    def say(self, situation: Situation, action: Action) -> str:
        """Its label in brackets."""
        return self._label(str(action))

    @property
    def _labels(self) -> list[str]:
        return [self._label(action) for action in self.game.actions]

    def _label(self, action: str) -> str:
        row = self.game.matrix.seats[0]
        return f"<{self.game.matrix.labels[row][self.game.actions.index(action)]}>"

    def _shown(self, action: Action | None) -> str:
        return UNREADABLE if action is None else self._label(str(action))


@dataclass(frozen=True)
class WordedDivision(Worded):
    """A division: both say what they want to keep, and are told what came of it."""

    game: SplitNoComm | TrustAndSplit

    def summary(self, past: Round, seat: str) -> str:
        """What both held, asked for, and got."""
        parts = [
            f"{'you' if one == seat else one.capitalize()} {self._held(past, one)}asked for {self._asked(past.actions[one])}"
            f" and got {number(round(past.payoffs[one], 1))} points"
            for one in (seat, other(seat))
        ]
        return f"In the last round {parts[0]}; {parts[1]}."

    def _held(self, past: Round, seat: str) -> str:
        """What was private before, and a comma; nothing where all was public."""
        return ""

    def _asked(self, proposal: Action | None) -> str:
        if proposal is None or isinstance(proposal, str):
            return UNREADABLE
        return ", ".join(f"{proposal[item]} {item}" for item in self.game.items)


@dataclass(frozen=True)
class WordedSplit(WordedDivision):
    """Split No-Comm: several items, public values, one proposal each."""

    game: SplitNoComm

    def rules(self, seat: str) -> str:
        """Items, values, and the split rule in words."""
        game, them = self.game, other(seat).capitalize()
        return _lines(
            f"You are {seat.capitalize()}. In every round you and {them} split {game.quantity} each of {_list(game.items)}.",
            f"An item is worth {LOW} or {HIGH} points to each of you; values change every round, and both of you see them.",
            "Both of you say at the same time how many of each item you want to keep.",
            f"If together you ask for at most {game.quantity} of an item, each gets what it asked for; if for more, they are shared in"
            " proportion to what was asked.",
            "Points add up over the rounds. Get as many points as you can.",
        )

    def opening(self, seen: SplitDeal, seat: str) -> str:
        """The values."""
        mine, theirs = (self._values(seen, one) for one in (seat, other(seat)))
        return f"New round. One of each is worth to you: {mine}; to {other(seat).capitalize()}: {theirs}."

    def request(self, phase: str) -> str:
        """A proposal."""
        form = ", ".join(f"{letter} {item}" for letter, item in zip("xyz", self.game.items, strict=True))
        return (
            f"Reply with {PROPOSAL[0]}{form}{PROPOSAL[1]}, where each number is what you keep,"
            f" 0 to {self.game.quantity}, and nothing else."
        )

    def read(self, situation: Situation, text: str) -> Action | None:
        """An amount of every item."""
        return read_amounts(text, self.game.items, most=self.game.quantity)

    def say(self, situation: Situation, action: Action) -> str:
        """The amounts between the tags of a proposal."""
        return f"{PROPOSAL[0]}{self._asked(action)}{PROPOSAL[1]}"

    def _values(self, deal: SplitDeal, seat: str) -> str:
        return ", ".join(f"{item} {deal.values[seat][item]}" for item in self.game.items)


@dataclass(frozen=True)
class WordedTrust(WordedDivision):
    """Trust-and-Split: private hands, one message each, then proposals for the coins."""

    game: TrustAndSplit
    longest: int = LONGEST_MESSAGE
    """Characters a message may have."""

    def rules(self, seat: str) -> str:
        """Hands, values, messages, and the split rule in words."""
        game, them = self.game, other(seat).capitalize()
        beats = "; ".join(f"{upper} is upper to {lower}" for lower, upper in BEATEN_BY.items())
        return _lines(
            f"You are {seat.capitalize()}. In every round you and {them} split {game.quantity} coins.",
            f"Each of you is dealt a hand that only its holder sees, never both the same: {beats}.",
            f"A coin is worth {HIGH} points to the upper hand and {LOW} to the lower. Over many rounds both hold the upper hand equally often.",
            "First each of you sends one message; who begins alternates. Then both of you say at the same time how many coins you want to keep.",
            f"If together you ask for at most {game.quantity}, each gets what it asked for; if for more, they are shared in proportion to"
            " what was asked. Hands and proposals are shown afterwards.",
            "Points add up over the rounds. Get as many points as you can.",
        )

    def opening(self, seen: SplitDeal, seat: str) -> str:
        """The seat's own hand."""
        return f"New round. Your hand is {(seen.hands or {})[seat]}."

    def request(self, phase: str) -> str:
        """A message or a proposal."""
        if phase == "message":
            return (
                f"Reply with {MESSAGE[0]}your message{MESSAGE[1]}, at most {self.longest} characters, and nothing else."
            )
        return f"Reply with {PROPOSAL[0]}x{PROPOSAL[1]}, where x is how many coins you keep, 0 to {self.game.quantity}, and nothing else."

    def read(self, situation: Situation, text: str) -> Action | None:
        """A message, or an amount of coins."""
        if situation.phase == "message":
            return read_message(text, longest=self.longest)
        amount = read_amount(text, most=self.game.quantity)
        return None if amount is None else {COINS: amount}

    def say(self, situation: Situation, action: Action) -> str:
        """The message or the amount between its tags."""
        if isinstance(action, str):
            return f"{MESSAGE[0]}{action}{MESSAGE[1]}"
        return f"{PROPOSAL[0]}{action[COINS]}{PROPOSAL[1]}"

    def _held(self, past: Round, seat: str) -> str:
        return f"held {past.deal.hands[seat]}, "


WORDED: Mapping[str, Worded] = {
    one.game.name: one for one in (WordedMatrix(IPD_AB), WordedSplit(SplitNoComm()), WordedTrust(TrustAndSplit()))
}
"""The games in rounds, by name."""


def worded(name: str) -> Worded:
    """The game of that name, in words; raises UsageError with the nearest name if there is none."""
    if name not in WORDED:
        raise unknown("game", name, WORDED)
    return WORDED[name]


def _list(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
