"""The words of dilemmas in pairs: rules, questions, recaps, and how decisions are written and read."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property

from coplay.games.base import Game
from coplay.games.pairwise_strategies import COOPERATE, DEFECT
from coplay.games.records import Action, Phase, Request, Round
from coplay.text.final_line import without_thoughts
from coplay.text.parsing import shown_line
from coplay.text.rendering import join, lines, number

MIXED = "mixed"
"""What a seat does in all that cooperates with some co-players and not with others."""

ACTIONS = (COOPERATE, DEFECT)
"""Action 0 and Action 1, as the paper's messages call them."""

MESSAGE, ACTION = "message", "action"
"""The phases."""

MAX_MESSAGE = 1000
"""Characters of a message that others are shown; TextArena's limit."""

_EDGE = re.compile(rf"\[\s*(\d{{1,3}})\s+({COOPERATE}|{DEFECT})\s*\]", re.IGNORECASE)


class PairwiseWords(Game):
    """Words of n seats that decide about each co-player; subclasses have the rules."""

    talk: int
    """Messages that each seat sends in a round before the decisions."""
    shared: bool
    """Whether a seat chooses one action for all co-players."""

    @cached_property
    def others(self) -> Mapping[str, tuple[str, ...]]:
        """Each seat's co-players."""
        return {seat: tuple(one for one in self.seats if one != seat) for seat in self.seats}

    @abstractmethod
    def pair_payoffs(self, first: str, second: str) -> tuple[float, float]:
        """What a pair is paid, in the order of the two actions."""

    def conduct_of(self, action: Action | None) -> str | None:
        """A decision in a word; None for one that could not be parsed."""
        if not isinstance(action, tuple):
            return None if action is None else str(action)
        did = {word for _, word in action}
        return MIXED if len(did) > 1 else str(did.pop())

    def rules(self, seat: str) -> str:
        """Seats, order of a round, payoffs of a pair."""
        others = join([self.call(one) for one in self.others[seat]])
        pay = "\n".join(
            f"- you {own}, the other {theirs}s: you get {number(self.pair_payoffs(own, theirs)[0])},"
            f" the other gets {number(self.pair_payoffs(own, theirs)[1])}"
            for own in ACTIONS
            for theirs in ACTIONS
        )
        each = (
            "with each of the others: one decision for all of them"
            if self.shared
            else "with each of the others by itself"
        )
        talk = f"First everybody may send {_times(self.talk)} that all read, one after the other. " if self.talk else ""
        return lines(
            f"You are {self.call(seat)}. You play a game of {self.rounds} rounds with {others}.",
            f"{talk}In each round you decide, at the same time as the others, whether you cooperate (Action 0) or defect (Action 1) {each}.",
            "Each pair of players is paid in points:",
            pay,
            "Points add up over pairs and rounds. Get as many points as you can.",
        )

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """A message or decisions."""
        if phase.name == MESSAGE:
            return f"Round {now.number + 1} of {self.rounds}: write a short message to all players."
        where = f"Round {now.number + 1} of {self.rounds}: decide."
        if self.shared:
            return f"{where} Reply with [cooperate] or [defect]."
        example = " ".join(
            f"[{self._number(one)} {word}]" for one, word in zip(self.others[seat], ACTIONS * 3, strict=False)
        )
        return f"{where} Reply with one decision for each of the other players, for example: {example}"

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What everybody decided towards whom, and what the seat got."""
        did = last.actions(ACTION)
        told = "; ".join(f"{'you' if one == seat else self.call(one)}: {self.show(did[one])}" for one in self.seats)
        got = (last.payoffs or {}).get(seat)
        return f"Decisions of round {last.number + 1}: {told}." + (
            "" if got is None else f" You got {number(round(got, 2))} points."
        )

    def show(self, action: Action | None) -> str:
        """``cooperate`` or ``defect`` where it is the same towards all."""
        if not isinstance(action, tuple):
            return super().show(action)
        conduct = self.conduct_of(action)
        return str(conduct) if conduct != MIXED else ", ".join(f"{word} with {one}" for one, word in action)

    def label(self, seat: str, action: Action) -> str:
        """The reply that means it."""
        if not isinstance(action, tuple):
            return f"[{action}]"
        return " ".join(f"[{self._number(one)} {word}]" for one, word in action)

    def _number(self, seat: str) -> str:
        return seat.rpartition("-")[2]

    def render_action(self, request: Request, action: Action) -> str:
        """A message as it is; decisions in brackets."""
        return str(action) if request.phase.name == MESSAGE else self.label(request.seat, action)

    def parse_action(self, request: Request, text: str) -> Action | None:
        """A message: all that is said, as one line. Decisions: one for each co-player, and nothing that contradicts it.

        Nothing is taken for granted: a co-player that is not named, or with two different decisions, makes the reply unparsed.
        """
        said = without_thoughts(text)
        if said is None:
            return None
        if request.phase.name == MESSAGE:
            return _one_line(said)
        if self.shared:
            words = {word.lower() for word in re.findall(rf"\[\s*({COOPERATE}|{DEFECT})\s*\]", said, re.IGNORECASE)}
            return words.pop() if len(words) == 1 else None
        others = {self._number(one): one for one in self.others[request.seat]}
        found: dict[str, set[str]] = {}
        for who, word in _EDGE.findall(said):
            found.setdefault(others.get(who.lstrip("0"), ""), set()).add(word.lower())
        if set(found) != set(others.values()) or any(len(words) > 1 for words in found.values()):
            return None
        return tuple((one, found[one].pop()) for one in self.others[request.seat])

    def completes(self, request: Request, text: str) -> bool:
        """As soon as there is a decision for everybody."""
        return (
            request.phase.name == ACTION
            and text.rstrip().endswith("]")
            and self.parse_action(request, text) is not None
        )

    def completing(self, request: Request) -> str:
        """The closing bracket."""
        return "]" if request.phase.name == ACTION else ""


def _times(n: int) -> str:
    return "one message" if n == 1 else f"{n} messages"


def _one_line(said: str) -> str | None:
    """A message as others are shown it, cut to its length; None if it holds characters that are not shown."""
    line = shown_line(said)
    return None if line is None else line[:MAX_MESSAGE]
