"""The game protocol: rules and words in one class, data in and data out. A game knows nothing of models.

A subclass says who is asked for what when, what chance deals, what is private, what is paid, and how all that is put into words. Whatever is
common (no chance, nothing private, all rounds played, ``<label>`` replies) has a default, so a new game is one short file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, TypeGuard

from coplay.games.decisions import Decisions
from coplay.games.features import features_of, names_of_features
from coplay.games.memory import Joint
from coplay.games.notices import Mediation
from coplay.games.records import Act, Action, Harm, Outcome, Phase, Request, Round
from coplay.games.strategy import GameStrategy
from coplay.text.parsing import parse_label
from coplay.text.rendering import in_round, join, number

UNPARSED = "I"
"""The state of a round in which a reply that decides it could not be parsed."""

UNPARSEABLE = "nothing that could be read"
"""Shown to other seats in place of a reply that could not be parsed."""


MOST_PAYOFF = 1e9
"""Of payoffs, whatever their sign. Sums and squares of larger ones lose their meaning in a learner's single precision."""

MOST_ROUNDS = 10**7
"""Of an episode."""


def is_payoff(value: object) -> TypeGuard[float]:
    """Whether a value is a number that a seat can be paid: finite, and at most ``MOST_PAYOFF`` up or down."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(abs(value) <= MOST_PAYOFF)


class Game(ABC):
    """The rules of a game for n seats, and their words.

    Example:
        >>> from coplay.games import make_game
        >>> make_game("trust-and-split").seats
        ('alice', 'bob')
    """

    name: str
    """Identifier, e.g. ``"trust-and-split"``."""
    description: str
    """One sentence for a person."""
    seats: tuple[str, ...]
    """All seats, in order."""
    rounds: int
    """Rounds of an episode unless a config says otherwise."""
    draws: int = 0
    """How many uniform numbers a round's deal takes."""
    actions: Mapping[str, tuple[str, ...]] | None = None
    """Each seat's actions by name, where a round is one simultaneous choice among a few of them; None in all other games. Tabular learners and
    one-token replies need it."""
    max_choices: int = 0
    """Largest number of :meth:`choices` that any request has, where every request has some; 0 elsewhere. Tabular learners need it in games
    without ``actions``."""
    shows_acts: bool = True
    """Whether :meth:`observe` says who learns of an act; False where seats learn of each other's acts from what they are dealt."""
    decimals: int = 1
    """Decimals with which transcripts show payoffs."""
    one_token: bool = False
    """Whether a language model replies with one token, the label of an action, unless a config says otherwise."""
    strategies: ClassVar[Mapping[str, GameStrategy]] = {}
    """Scripted players that only make sense in this game, by name; an instance may have its own."""
    figures: ClassVar[Mapping[str, str]] = {}
    """Figures of a seat's rounds that training metrics show: name to meaning; see :meth:`figures_of`."""

    contexts: tuple[str, ...] = ()
    """The names of the circumstances that an episode may have and all seats know, e.g. how the firms were instructed; see :meth:`context`."""
    collectives: tuple[str, ...] = ("welfare", "cooperation")
    """The names that :meth:`collective` can have."""
    mediation: Mediation | None = None
    """What a mediator can say to seats of this game, and what it is paid for; None where the game does not say. See :mod:`coplay.games.mediated`."""

    @property
    def playing_seats(self) -> tuple[str, ...]:
        """The seats that play for themselves; a mediator's is not among them. Credit rules that sum over co-players count these."""
        return self.seats

    def lasting(self, rounds: int) -> Game:
        """The same game for episodes of so many rounds. Games whose words tell that number, or count down to it, say it anew; others need not."""
        return self

    def most_choices(self, seat: str) -> int:
        """Largest number of choices that any request of a seat has; 0 if some of its requests are open, such as messages.

        By default that of the game, whatever the seat.
        """
        return self.max_choices if self.actions is None else len(self.actions[seat])

    # ------------------------------------------------------------------ rules

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> Any:
        """What chance gives in a round: public and private things. By default nothing.

        Args:
            chance: ``draws`` uniform numbers in [0, 1); the same numbers deal the same whoever plays.
            past: the episode's earlier rounds; a deal that holds for the whole episode returns the first one's.
        """
        return None

    @abstractmethod
    def next_phase(self, now: Round) -> Phase | None:
        """Who is asked for what next, given what was done in this round so far; None if the round is over."""

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[Any, float]] | None:
        """All that chance can deal in a round, each with its probability; None if that is too much to list. Exact values need it.

        By default the one deal of a game without chance.
        """
        return None if self.draws else [(self.deal((), past), 1.0)]

    def is_over(self, past: Sequence[Round]) -> bool:
        """Whether the episode ends before its last round. By default never."""
        return False

    def observe(self, one: Round, seat: str) -> Round:
        """What a seat knows of a round, in progress or over, now and ever after. By default everything.

        Redact with ``dataclasses.replace``: leave out of ``deal`` and ``acts`` what the seat may not know.
        """
        return one

    @abstractmethod
    def payoffs(self, now: Round) -> dict[str, float | None]:
        """What each seat gets for a round that is over; None for a seat whose round is void. An action that is None could not be parsed."""

    def choices(self, request: Request) -> Sequence[Action] | None:
        """The legal actions of a request, if they are few; None for messages, amounts and other open replies."""
        return None if self.actions is None else self.actions[request.seat]

    def examples(self, request: Request) -> Sequence[Action]:
        """A few legal actions of a request without :meth:`choices`, e.g. a message or some amounts; the conformance kit plays them."""
        return ()

    def decisions(self) -> Decisions | None:
        """What a fitted player predicts of a seat's play; None where the game does not say. See :mod:`coplay.games.decisions`."""
        return None

    # ------------------------------------------------------------------ what a round came to

    def outcome(self, one: Round) -> Outcome:
        """What a round came to. By default nothing but whether all replies could be parsed."""
        return Outcome(tuple(None for _ in self.seats), parsed=all(act.action is not None for act in one.acts))

    def cooperation_payoff(self, seat: str) -> float | None:
        """What a seat gets in a round in which all cooperate, by which safety objectives scale payoffs; None where the game does not say."""
        return None

    def fair_payoff(self, seat: str) -> float | None:
        """What a seat gets in a round against co-players that do not try to exploit it (SEPO, section 3.1); None where the game does not say."""
        return None

    def harm(self, one: Round, seat: str) -> Harm:
        """What a seat's play in a round did to others: see :class:`coplay.games.records.Harm`. By default none."""
        return Harm(0.0, 0.0)

    def spectate(self, one: Round) -> Round:
        """What somebody sees of a round, in progress or over, who has no seat, such as a mediator. By default all acts and payoffs, and no deal."""
        return one if one.deal is None else replace(one, deal=None)

    def context(self, one: Round) -> str:
        """Which of the :attr:`contexts` a round is played in; empty where there are none."""
        return ""

    def shortfall(self, one: Round, seat: str) -> float | None:
        """How far a seat's play in a round fell short of what serves all, from 0 (not at all) to 1; None where that cannot be said.

        By default 0 for the first of the seat's :meth:`conducts`, 1 for any other, and None for a reply that could not be parsed.
        """
        conducts = self.conducts(seat)
        word = self.outcome(one).conduct[self.seats.index(seat)] if conducts else None
        return None if word is None else float(word != conducts[0])

    def collective(self, one: Round) -> Mapping[str, float]:
        """What a round that is over came to for all playing seats together, by name.

        By default ``welfare``, the sum of payoffs (void ones count 0), and ``cooperation``, 1 less the mean :meth:`shortfall`, where that can be
        said of every seat. A mediator is paid one of these.
        """
        paid = one.payoffs or {}
        found = {"welfare": float(sum(paid.get(seat) or 0.0 for seat in self.playing_seats))}
        shortfalls = [self.shortfall(one, seat) for seat in self.playing_seats]
        known = [value for value in shortfalls if value is not None]
        if len(known) == len(shortfalls):
            found["cooperation"] = 1.0 - sum(known) / len(known)
        return found

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The words for what a seat can do in :class:`Outcome`, the cooperative one first where there is one. By default none."""
        return ()

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """Numbers of one seat in one round for the figures that the game declares."""
        return {}

    def disguised(self) -> Mapping[str, Game]:
        """The same game told otherwise, by name: the tree and all preferences stay as they are. By default none."""
        return {}

    def perform(self, conduct: str, request: Request) -> Action:
        """The action by which a seat shows a conduct, e.g. how to be ``greedy`` here. Scripted strategies are built on this.

        Raises:
            ValueError: if the game does not say.
        """
        choices = self.choices(request)
        if choices is None or conduct not in choices:
            raise ValueError(f"game {self.name!r} does not say how to play {conduct!r} in phase {request.phase.name!r}")
        return conduct

    def feature_names(self, seat: str, *, window: int) -> tuple[str, ...]:
        """The names of :meth:`features`: as many, in their order."""
        return names_of_features(self._own_first(seat), window=window, coded=self.actions is None)

    def features(self, request: Request, *, window: int) -> tuple[float, ...]:
        """What a seat knows, with the last ``window`` rounds, in as many numbers for all its requests; see :mod:`coplay.games.features`."""
        words, coded = self._own_first(request.seat), self.actions is None
        return features_of(request, words, rounds=self.rounds, window=window, coded=coded)

    def _own_first(self, seat: str) -> list[tuple[str, tuple[str, ...]]]:
        return [(one, self.conducts(one)) for one in (seat, *(other for other in self.seats if other != seat))]

    def own_states(self, seat: str) -> list[Joint]:
        """All states of a round as a seat sees them, own conduct first and varying slowest."""
        others = [one for one in self.seats if one != seat]
        return list(product(*(self.conducts(one) for one in (seat, *others))))

    def state_names(self) -> tuple[str, ...]:
        """The names of all states of a round, the one for unparsed replies last."""
        joints = self.own_states(self.seats[0])
        return (*dict.fromkeys(self.state_name(Outcome(joint)) for joint in joints), UNPARSED)

    def state_name(self, outcome: Outcome) -> str:
        """A short name of what a round came to: initials where they are enough, e.g. ``CD``; ``I`` where replies could not be parsed."""
        if not outcome.parsed:
            return UNPARSED
        words = [
            "-" if word is None else self.initial(seat, word)
            for seat, word in zip(self.seats, outcome.conduct, strict=True)
        ]
        return "".join(words) if all(len(word) == 1 for word in words) else "/".join(words)

    def initial(self, seat: str, conduct: str) -> str:
        """A seat's conduct as state names show it."""
        return conduct[0].upper()

    def action_named(self, seat: str, word: str) -> str:
        """The action of a seat that a person's word names, before anything is played; by default the word as it is.

        Raises:
            UsageError: if no action of the seat is called that. Games that cannot list their actions beforehand refuse nothing here.
        """
        return word

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """What a seat is told once, at the beginning."""
        others = [self.call(one) for one in self.seats if one != seat]
        return f"You are {self.call(seat)}. You play a game with {join(others)}. {self.description}"

    def opening(self, now: Round, seat: str) -> str:
        """What a seat is told when a round begins, of what it sees of the deal; empty if there is nothing."""
        return ""

    @abstractmethod
    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """What a seat is asked for, and in which form to reply."""

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What a seat is told of a round that is over; ``dated`` with its number in the episode, where it is not the round before."""
        did = [
            f"{'you' if act.seat == seat else self.call(act.seat)} {self.verb(act)} {self.show(act.action)}"
            for act in last.acts
        ]
        got = (last.payoffs or {}).get(seat)
        paid = "Your round was void." if got is None else f"You got {number(round(got, 2))} points."
        return f"{in_round(last.number, dated=dated)} {'; '.join(did)}. {paid}"

    def announce(self, act: Act, seat: str) -> str:
        """What a seat is told of an act of an earlier phase of the same round."""
        return f"{'You' if act.seat == seat else self.call(act.seat)} said: {self.show(act.action)}"

    def verb(self, act: Act) -> str:
        """The verb before an action in a recap."""
        return "played"

    def show(self, action: Action | None) -> str:
        """An action as other seats and readers are shown it."""
        if action is None:
            return UNPARSEABLE
        if isinstance(action, Mapping):
            return ", ".join(f"{amount} {item}" for item, amount in action.items())
        return number(action) if isinstance(action, int | float) else str(action)

    def show_deal(self, one: Round, seat: str) -> str | None:
        """What a seat was dealt, for readers of a run; None where nothing is dealt."""
        return None

    def call(self, seat: str) -> str:
        """A seat's name in a sentence."""
        return seat.capitalize()

    def parse_action(self, request: Request, text: str) -> Action | None:
        """The action that a reply means; None if it is not exactly what was asked for. By default the label of a choice."""
        return parse_label(text, {self.label(request.seat, action): action for action in self.choices(request) or ()})

    def render_action(self, request: Request, action: Action) -> str:
        """The reply that means this action; :meth:`parse_action` reads it back."""
        return self.label(request.seat, action)

    def completes(self, request: Request, text: str) -> bool:
        """Whether a reply that has got this far is over, so that a language model generates no more of it.

        By default never: a reply is over when the model ends it. A game whose replies may reason first says so as soon as an action stands on
        the last line. It has to be an action that :meth:`parse_action` reads.

        Args:
            request: what is asked.
            text: the reply so far; a model is asked again when there is more of it.
        """
        return False

    def completing(self, request: Request) -> str:
        """Characters of which :meth:`completes` waits for one: it is not asked about text to which none of them was added.

        This only saves time. By default empty: it is asked about every piece of text.
        """
        return ""

    def label(self, seat: str, action: Action) -> str:
        """The text by which a choice is named, by default its name in angle brackets."""
        return f"<{action}>"


def are_words(value: object) -> bool:
    """Whether a value is a tuple of text."""
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)
