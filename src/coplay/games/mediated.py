"""Mediation: a further seat, the mediator's, around any game. Before each round it says nothing, or sends a message to some of the seats.

(Learning to Mediate Equilibrium Selection in LLM Games, sections 3.2 and 3.3.) A message reaches the seats it is for and nobody else: the act of
the mediator holds each addressed seat's text, and a seat is shown its own alone. The mediator sees what a spectator sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.mediation_fines import FinedGame
from coplay.games.mediation_words import (
    NONE,
    OWN,
    Message,
    addressed,
    notice_name,
    standing,
    words_of,
)
from coplay.games.mediator_rules import mediator_strategies
from coplay.games.mediator_seat import CHOSEN, EVERYONE, LOWEST, MEDIATION, MEDIATOR, groups_of
from coplay.games.memory import Joint
from coplay.games.notices import Notice
from coplay.games.obedient import obedient, persuadable
from coplay.games.records import Act, Action, Harm, Outcome, Phase, Request, Round
from coplay.games.strategy import GameStrategy

OWN_WORDS = "own"
"""In place of the names of notices: the mediator writes its messages itself."""

_PHASE = Phase(MEDIATION, (MEDIATOR,))

_SILENT: Message = (NONE, ())
"""The mediator's action when it says nothing."""


@dataclass(frozen=True)
class Mediated(FinedGame):
    """A game with a mediator.

    The mediator's action is a pair: the notice's name (``none`` for silence), and for each addressed seat a pair of its name and the text that it
    reads. It is paid what the round came to for all (``pays``), less ``cost`` for each seat addressed.

    Example:
        >>> from coplay.games import make_game
        >>> game = make_game("ipd-3+mediator:targets=everyone")
        >>> game.seats
        ('player-1', 'player-2', 'player-3', 'mediator')
        >>> game.playing_seats
        ('player-1', 'player-2', 'player-3')
    """

    game: Game
    """The game that is played."""
    notices: str = ""
    """Which of the game's notices there are: names with ``+`` between them, all if empty; or ``own`` for messages in the mediator's own words."""
    targets: str = field(default="", metadata={"words": ("", LOWEST, EVERYONE, CHOSEN)})
    """Whom a message addresses: ``lowest``, ``everyone`` or ``chosen``; empty for the game's way."""
    count: int = 1
    """How many seats ``lowest`` addresses, and ``chosen`` may at most."""
    pays: str = ""
    """What the mediator is paid in a round: a name of :meth:`coplay.games.base.Game.collective`; empty for the game's."""
    cost: float = field(default=0.0, metadata={"least": 0})
    """Taken off the mediator's payoff for each seat addressed."""
    fine: float = field(default=0.0, metadata={"least": 0})
    """Taken off the payoff of a seat that was addressed with the strongest notice: the fine times its shortfall in the round."""
    words: str = ""
    """What the mediator writes for silence and for each notice, with ``+`` between the words, e.g. ``PASS+CALL`` for a model that knows these; empty
    for ``NONE`` and the notices' names in capitals."""
    informed: bool = False
    """Whether the mediator is told the game's context and what is dealt to all, e.g. how the firms were instructed."""
    name: str = field(init=False)
    """``GAME+mediator``."""
    description: str = field(init=False)
    """One sentence for a person."""
    seats: tuple[str, ...] = field(init=False)
    """The game's, and the mediator's last."""
    rounds: int = field(init=False)
    """The game's."""
    draws: int = field(init=False)
    """The game's."""
    max_choices: int = field(init=False)
    """Of all seats; 0 where the game has open requests."""

    def __post_init__(self) -> None:
        """Find the notices; raises UsageError for what does not fit the game."""
        if isinstance(self.game, Mediated) or MEDIATOR in self.game.seats:
            raise UsageError(f"game {self.game.name!r} has a mediator already")
        offered = self.game.mediation
        if offered is None and self.notices != OWN_WORDS:
            raise UsageError(
                f"game {self.game.name!r} offers no notices to a mediator; set notices={OWN_WORDS} for messages in its own words,"
                " or give the game the attribute `mediation`"
            )
        if not 1 <= self.count <= len(self.game.seats):
            raise UsageError(
                f"{self.game.name}+mediator: count must be 1 to {len(self.game.seats)} seats, got {self.count}"
            )
        for key in ("cost", "fine"):
            if (value := getattr(self, key)) < 0:
                raise UsageError(f"{self.game.name}+mediator: {key} must be at least 0, got {value}")
        if self.paid_for not in self.game.collectives:
            raise unknown(f"collective figure of game {self.game.name!r}", self.paid_for, self.game.collectives)
        for one in self._names:
            if offered is not None and one not in offered.notices:
                raise unknown(f"notice of game {self.game.name!r}", one, [*offered.notices, OWN_WORDS])
        self._check_words()
        for key, value in {
            "name": f"{self.game.name}+mediator",
            "description": f"{self.game.description} A mediator may send messages before each round.",
            "seats": (*self.game.seats, MEDIATOR),
            **{key: getattr(self.game, key) for key in _AS_IN_THE_GAME},
            "figures": {**self.game.figures, **_FIGURES},
        }.items():
            object.__setattr__(self, key, value)
        most = [self.most_choices(seat) for seat in self.seats]
        object.__setattr__(self, "max_choices", max(most) if all(most) else 0)
        object.__setattr__(self, "strategies", self._strategies())

    def _check_words(self) -> None:
        """Find what is wrong with :attr:`words`; raises UsageError."""
        if self.words and self.notices == OWN_WORDS:
            raise UsageError(f"{self.game.name}+mediator: notices={OWN_WORDS} are written as they are; leave out words")
        words_of([NONE, *self._names], self.words, where=f"{self.game.name}+mediator")

    # ------------------------------------------------------------------ what the mediator can do

    @property
    def _names(self) -> tuple[str, ...]:
        if self.notices == OWN_WORDS:
            return ()
        if self.notices:
            return tuple(self.notices.split("+"))
        return tuple(self.game.mediation.notices) if self.game.mediation else ()

    @cached_property
    def offered(self) -> dict[str, Notice]:
        """The notices that the mediator has, by name, the mildest first; none where it writes itself."""
        found = self.game.mediation
        return {name: found.notices[name] for name in self._names} if found else {}

    @cached_property
    def written(self) -> dict[str, str]:
        """The word that the mediator writes for silence and for each notice, by name."""
        return words_of([NONE, *self._names], self.words, where=f"{self.game.name}+mediator")

    @property
    def addresses(self) -> str:
        """Whom a message addresses: :attr:`targets`, or the game's way."""
        if self.notices == OWN_WORDS:
            return CHOSEN
        return self.targets or (self.game.mediation.targets if self.game.mediation else EVERYONE)

    @property
    def paid_for(self) -> str:
        """What the mediator is paid: :attr:`pays`, or the game's."""
        return self.pays or (self.game.mediation.pays if self.game.mediation else "welfare")

    @property
    def playing_seats(self) -> tuple[str, ...]:
        """The game's seats."""
        return self.game.seats

    def messages(self, now: Round, past: Sequence[Round]) -> tuple[Message, ...]:
        """All that the mediator can do in a round, silence first; empty where it writes its own words.

        Args:
            now: the round that begins.
            past: the earlier rounds, as a spectator sees them.
        """
        kept = self.__dict__.get("_kept_messages")  # a rule and the list of choices ask for the same ones
        if kept is None or kept[0] is not now or kept[1] is not past:
            kept = self.__dict__["_kept_messages"] = (now, past, self._messages(now, past))
        return cast("tuple[Message, ...]", kept[2])

    def _messages(self, now: Round, past: Sequence[Round]) -> tuple[Message, ...]:
        """See :meth:`messages`."""
        if self.notices == OWN_WORDS:
            return ()
        groups = groups_of(self.game, past, targets=self.addresses, count=self.count)
        found = [_SILENT]
        for name, notice in self.offered.items():
            for group in groups:
                said = tuple(
                    (seat, notice.text(standing(self.game, seat, now, past, live=notice.live))) for seat in group
                )
                found.append((name, said))
        return tuple(found)

    def _strategies(self) -> dict[str, GameStrategy]:
        """The game's for its seats, and the rules of mediators for the mediator's."""
        found = {name: self._within(one) for name, one in self.game.strategies.items()}
        rules = mediator_strategies(self.game, self.messages, tuple(self.offered)) if self.offered else {}
        if all(len(self.game.conducts(seat)) > 1 for seat in self.game.seats):
            followers = {"obedient": obedient(self), "persuadable": persuadable(self)}
            found |= {name: replace(one, seats=self.game.seats) for name, one in followers.items()}
        return {**found, **{name: replace(one, seats=(MEDIATOR,)) for name, one in rules.items()}}

    def _within(self, strategy: GameStrategy) -> GameStrategy:
        """A strategy of the game for its seats, which reads what the game within has."""

        def rule(request: Request, parameter: float | None) -> Mapping[Action, float]:
            """See :meth:`_within`."""
            return strategy.rule(self.inner_request(request), parameter)

        return replace(strategy, rule=rule, seats=self.game.seats)

    # ------------------------------------------------------------------ rules

    def lasting(self, rounds: int) -> Mediated:
        """See :meth:`coplay.games.base.Game.lasting`."""
        return self if rounds == self.rounds else replace(self, game=self.game.lasting(rounds))

    def inner(self, one: Round) -> Round:
        """A round as the game without the mediator has it."""
        acts = one.acts
        return Round(one.number, one.deal, acts[1:], one.payoffs) if acts and acts[0].phase == MEDIATION else one

    def next_phase(self, now: Round) -> Phase | None:
        """The mediator acts first."""
        return self.game.next_phase(self.inner(now)) if now.acts else _PHASE

    def observe(self, one: Round, seat: str) -> Round:
        """A seat of the game sees the mediator's act if it is addressed, with its own text alone; the mediator sees what a spectator does."""
        told = one.acts[0] if one.acts and one.acts[0].phase == MEDIATION else None
        inner = self.inner(one)
        if seat == MEDIATOR:
            seen = self.game.spectate(self.unfined(inner))
            if seen.deal is not None and not self.informed:
                seen = replace(seen, deal=None)
        else:
            seen = self.game.observe(inner, seat)
            text = addressed(told.action).get(seat) if told else None
            name = notice_name(told.action) if told else None
            told = (
                None if told is None or text is None else Act(told.phase, told.turn, told.seat, (name, ((seat, text),)))
            )
            if seen.payoffs is not None:
                seen = replace(seen, payoffs=self._payoffs_for(seat, seen.payoffs, one))
        return seen if told is None else Round(seen.number, seen.deal, (told, *seen.acts), seen.payoffs)

    def _payoffs_for(self, seat: str, paid: Mapping[str, float | None], one: Round) -> dict[str, float | None]:
        """What a seat knows of payoffs: not the mediator's, and of others those before fines, which would tell whom it wrote to."""
        before = self.game.payoffs(self.inner(one)) if self.fine else paid
        return {other: (paid if other == seat else before)[other] for other in paid if other != MEDIATOR}

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """The game's less fines, and the mediator's: see the class."""
        inner = self.inner(now)
        paid = self.game.payoffs(inner)
        reached = addressed(now.acts[0].action if now.acts and now.acts[0].phase == MEDIATION else None)
        found = dict(paid)
        if self.fine:
            for seat in reached:
                payoff = paid[seat]
                found[seat] = None if payoff is None else payoff - self.fine * self.fined(now, seat)
        worth = self.game.collective(replace(inner, payoffs=paid)).get(self.paid_for)
        found[MEDIATOR] = None if worth is None else worth - self.cost * len(reached)
        return found

    def choices(self, request: Request) -> Sequence[Action] | None:
        """The game's; the mediator's messages."""
        if request.seat != MEDIATOR:
            return super().choices(request)
        return self.messages(request.now, request.past) or None

    def most_choices(self, seat: str) -> int:
        """The game's; as many as the mediator has messages, 0 where it writes itself."""
        if seat != MEDIATOR:
            return super().most_choices(seat)
        return len(self.messages(Round(0), ())) if self.offered else 0

    def examples(self, request: Request) -> Sequence[Action]:
        """The game's; of a mediator that writes itself, silence and one message."""
        if request.seat != MEDIATOR:
            return super().examples(request)
        first = self.game.seats[0]
        return () if self.offered else (_SILENT, (OWN, ((first, "Please think of what serves all of you."),)))

    def perform(self, conduct: str, request: Request) -> Action:
        """The game's."""
        if request.seat == MEDIATOR:
            raise ValueError("the mediator neither cooperates nor defects")
        return super().perform(conduct, request)

    # ------------------------------------------------------------------ what a round came to

    def outcome(self, one: Round) -> Outcome:
        """The game's; of the mediator, who may have addressed nobody that looks on, nothing: not even that its reply could not be read."""
        found = self.game.outcome(self.inner(one))
        return Outcome((*found.conduct, None), parsed=found.parsed, void=found.void)

    def shortfall(self, one: Round, seat: str) -> float | None:
        """The game's; None of the mediator."""
        return None if seat == MEDIATOR else super().shortfall(one, seat)

    def cooperation_payoff(self, seat: str) -> float | None:
        """The game's."""
        return None if seat == MEDIATOR else super().cooperation_payoff(seat)

    def fair_payoff(self, seat: str) -> float | None:
        """The game's."""
        return None if seat == MEDIATOR else super().fair_payoff(seat)

    def harm(self, one: Round, seat: str) -> Harm:
        """The game's."""
        return Harm(0.0, 0.0) if seat == MEDIATOR else super().harm(one, seat)

    def conducts(self, seat: str) -> tuple[str, ...]:
        """The game's; none of the mediator's."""
        return () if seat == MEDIATOR else super().conducts(seat)

    def action_named(self, seat: str, word: str) -> str:
        """The game's; of the mediator the name of a notice or of silence, with or without those addressed."""
        if seat != MEDIATOR:
            return super().action_named(seat, word)
        known = (NONE, *(self.offered or (OWN,)))
        if word.partition(" ")[0].lower() not in known:
            raise unknown(f"notice of the mediator in game {self.name!r}", word, known)
        return word

    def own_states(self, seat: str) -> list[Joint]:
        """The game's, the mediator last: nobody is told what it did to others."""
        if seat != MEDIATOR:
            return [(*state, None) for state in self.game.own_states(seat)]
        return [(None, *state) for state in self.game.own_states(self.game.seats[0])]

    def state_name(self, outcome: Outcome) -> str:
        """The game's."""
        return self.game.state_name(replace(outcome, conduct=outcome.conduct[:-1]))

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """The game's and whether the seat was addressed; none of the mediator."""
        reached = addressed(one.acts[0].action) if one.acts else {}
        if seat == MEDIATOR:
            return {}
        return {**self.game.figures_of(self.inner(one), seat), "addressed": [float(seat in reached)]}


_AS_IN_THE_GAME = ("rounds", "draws", "decimals", "shows_acts", "contexts", "collectives")

_FIGURES = {"addressed": "share of the rounds before which the mediator addressed the seat"}
