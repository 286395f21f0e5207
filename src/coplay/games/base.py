"""The game protocol: rules and words in one class, data in and data out. A game knows nothing of models.

A subclass says who is asked for what when, what chance deals, what is private, what is paid, and how all that is put into words. Whatever is
common (no chance, nothing private, all rounds played, ``<label>`` replies) has a default, so a new game is one short file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, TypeGuard

from coplay.games.memory import Joint
from coplay.games.records import Act, Action, Harm, Outcome, Phase, Request, Round
from coplay.games.strategy import GameStrategy
from coplay.text.parsing import parse_label
from coplay.text.rendering import join, number

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
    one_token: bool = False
    """Whether a language model replies with one token, the label of an action, unless a config says otherwise."""
    strategies: ClassVar[Mapping[str, GameStrategy]] = {}
    """Scripted players that only make sense in this game, by name."""
    figures: ClassVar[Mapping[str, str]] = {}
    """Figures of a seat's rounds that training metrics show: name to meaning; see :meth:`figures_of`."""

    @property
    def playing_seats(self) -> tuple[str, ...]:
        """The seats that play for themselves; a mediator's is not among them. Credit rules that sum over co-players count these."""
        return self.seats

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

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The words for what a seat can do in :class:`Outcome`, the cooperative one first where there is one. By default none."""
        return ()

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """Numbers of one seat in one round for the figures that the game declares."""
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

    def recap(self, last: Round, seat: str) -> str:
        """What a seat is told of the round before, when it is over."""
        did = [
            f"{'you' if act.seat == seat else self.call(act.seat)} {self.verb(act)} {self.show(act.action)}"
            for act in last.acts
        ]
        got = (last.payoffs or {}).get(seat)
        paid = "Your round was void." if got is None else f"You got {number(round(got, 2))} points."
        return f"In the last round {'; '.join(did)}. {paid}"

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


def malformed(game: Game) -> Iterator[str]:
    """What is wrong with the type of a game's name, description, seats, rounds, draws and actions; a sentence each."""
    for name in ("name", "description"):
        if not isinstance(getattr(game, name, None), str):
            yield f"{name} must be text"
    seats = getattr(game, "seats", None)
    if not isinstance(seats, tuple) or len(seats) < 1 or not all(isinstance(seat, str) and seat for seat in seats):
        yield "seats must be a tuple of names, one at least"
    elif len(set(seats)) != len(seats):
        yield f"seats must differ from one another, got {', '.join(seats)}"
    elif game.actions is not None and not (isinstance(game.actions, Mapping) and set(game.actions) == set(seats)):
        yield f"actions must have an entry for each of {', '.join(seats)}, and no other; got {game.actions!r}"
    elif game.actions is not None and not all(map(are_words, game.actions.values())):
        yield f"actions of each seat must be a tuple of words, got {dict(game.actions)!r}"
    for name, least in (("rounds", 1), ("draws", 0)):
        value = getattr(game, name, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            yield f"{name} must be a whole number of at least {least}, got {value!r}"
        elif value > MOST_ROUNDS:
            yield f"{name} must be at most {MOST_ROUNDS:,}, got {value}"
