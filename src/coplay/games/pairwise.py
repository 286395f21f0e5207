"""Social dilemmas of n seats in pairs: talk in turns, then everybody cooperates or defects with each co-player, and each pair is paid.

(Learning to Mediate Equilibrium Selection in LLM Games, section 4 and appendices A.1 and A.2: three seats, five rounds, TextArena's rules. The
wording of the rules is ours.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from coplay.errors import UsageError
from coplay.games.decisions import Decisions, towards_each
from coplay.games.notices import Mediation
from coplay.games.pairwise_notice import PairPayoffs, analysis
from coplay.games.pairwise_strategies import COOPERATE, DEFECT, PROMISE, THREAT, strategies
from coplay.games.pairwise_words import ACTION, ACTIONS, MESSAGE, MIXED, PairwiseWords
from coplay.games.records import Action, Outcome, Phase, Request, Round

MOST_SEATS, MOST_TALK = 6, 10
"""Of a game: with more seats the combinations of actions are too many to list."""


@dataclass(frozen=True)
class PairwiseDilemma(PairwiseWords):
    """n seats; the payoffs of a round are summed over a seat's pairs.

    A decision is a pair (co-player, word) for each co-player, in the order of seats, or with ``shared`` one word.
    A seat whose decision cannot be parsed gets ``null_payoff`` and its pairs pay the other nothing; pairs without it are paid as always.

    Example:
        >>> from coplay.games import make_game
        >>> game = make_game("ipd-3:talk=0")
        >>> game.seats, game.rounds
        (('player-1', 'player-2', 'player-3'), 5)
        >>> game.pair_payoffs("cooperate", "defect")
        (0.0, 5.0)
    """

    name: str
    """Identifier."""
    description: str
    """One sentence for a person."""
    reward: float
    """R: both cooperate."""
    sucker: float
    """S: of one who cooperates with one who defects."""
    temptation: float
    """T: of one who defects against one who cooperates."""
    punishment: float
    """P: both defect."""
    n: int = 3
    """Number of seats."""
    talk: int = field(default=1, metadata={"least": 0})
    """Messages that each seat sends in a round before the decisions, in turn; 0 for none."""
    shared: bool = False
    """Whether a seat chooses one action for all co-players, instead of one for each."""
    rounds: int = 5
    """Rounds of an episode unless a config says otherwise."""
    seats: tuple[str, ...] = field(init=False)
    """``player-1`` to ``player-n``."""
    actions: Mapping[str, tuple[str, ...]] | None = field(init=False)
    """Cooperate and defect, where a round is one shared action without talk; else None."""
    max_choices: int = field(init=False)
    """Of decisions; 0 with talk."""
    mediation: Mediation = field(init=False, repr=False, compare=False)
    """The analysis of appendix A.4."""

    figures: ClassVar[Mapping[str, str]] = {"cooperation": "share of the co-players that the seat cooperated with"}

    def __post_init__(self) -> None:
        """Name the seats; raises UsageError for impossible numbers."""
        if not 2 <= self.n <= MOST_SEATS:
            raise UsageError(f"{self.name}: n must be 2 to {MOST_SEATS} seats, got {self.n}")
        if not 0 <= self.talk <= MOST_TALK:
            raise UsageError(f"{self.name}: talk must be 0 to {MOST_TALK} messages a round, got {self.talk}")
        seats = tuple(f"player-{i + 1}" for i in range(self.n))
        choices = 2 if self.shared else 2 ** (self.n - 1)
        single = self.shared and not self.talk
        pay = PairPayoffs(self.reward, self.sucker, self.temptation, self.punishment)
        for name, value in {
            "seats": seats,
            "actions": dict.fromkeys(seats, ACTIONS) if single else None,
            "max_choices": 0 if self.talk else choices,
            "strategies": strategies(seats, shared=self.shared),
            "mediation": Mediation({"intervene": analysis(pay)}),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def null_payoff(self) -> float:
        """What a seat gets whose decision cannot be parsed: one below the lowest payoff."""
        return min(self.reward, self.sucker, self.temptation, self.punishment) * (self.n - 1) - 1.0

    # ------------------------------------------------------------------ rules

    def lasting(self, rounds: int) -> PairwiseDilemma:
        """See :meth:`coplay.games.base.Game.lasting`; rules and notices tell the number of rounds."""
        return self if rounds == self.rounds else replace(self, rounds=rounds)

    @cached_property
    def _phases(self) -> tuple[Phase, ...]:
        talk = [
            Phase(MESSAGE, (seat,), turn * self.n + i) for turn in range(self.talk) for i, seat in enumerate(self.seats)
        ]
        return (*talk, Phase(ACTION, self.seats))

    @cached_property
    def _choices(self) -> dict[str, tuple[Action, ...]]:
        if self.shared:
            return dict.fromkeys(self.seats, ACTIONS)
        return {
            seat: tuple(tuple(zip(others, words, strict=True)) for words in product(ACTIONS, repeat=len(others)))
            for seat, others in self.others.items()
        }

    def next_phase(self, now: Round) -> Phase | None:
        """Messages in turn, then everybody decides."""
        done = len(now.acts)  # messages are one act each, decisions one for each seat
        return self._phases[done] if done < len(self._phases) else None

    def choices(self, request: Request) -> Sequence[Action] | None:
        """The decisions; messages are open."""
        return self._choices[request.seat] if request.phase.name == ACTION else None

    def most_choices(self, seat: str) -> int:
        """See :meth:`coplay.games.base.Game.most_choices`."""
        return self.max_choices

    def examples(self, request: Request) -> Sequence[Action]:
        """Some messages."""
        return () if request.phase.name == ACTION else (PROMISE, THREAT, "")

    def towards(self, action: Action | None, seat: str) -> dict[str, str] | None:
        """What a decision of a seat means for each co-player; None for one that could not be parsed."""
        if action is None:
            return None
        return dict(action) if isinstance(action, tuple) else dict.fromkeys(self.others[seat], str(action))

    def pair_payoffs(self, first: str, second: str) -> tuple[float, float]:
        """What a pair is paid, in the order of the two actions (appendix A.1, Table 3)."""
        if first == second:
            both = self.reward if first == COOPERATE else self.punishment
            return (both, both)
        return (self.sucker, self.temptation) if first == COOPERATE else (self.temptation, self.sucker)

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """The sums over pairs; see the class for what cannot be parsed."""
        did = {seat: self.towards(action, seat) for seat, action in now.actions(ACTION).items()}
        paid: dict[str, float | None] = {}
        for seat in self.seats:
            own = did[seat]
            if own is None:
                paid[seat] = self.null_payoff
                continue
            total = 0.0
            for other in self.others[seat]:
                theirs = did[other]
                if theirs is not None:
                    total += self.pair_payoffs(own[other], theirs[seat])[0]
            paid[seat] = total
        return paid

    def outcome(self, one: Round) -> Outcome:
        """Of each seat ``cooperate``, ``mixed`` or ``defect``."""
        did = one.actions(ACTION)
        conduct = tuple(self.conduct_of(did[seat]) for seat in self.seats)
        return Outcome(conduct, parsed=None not in conduct)

    def conducts(self, seat: str) -> tuple[str, ...]:
        """Cooperating with all, with some, with nobody; with one shared action there are two."""
        return ACTIONS if self.shared or self.n == 2 else (COOPERATE, MIXED, DEFECT)

    def perform(self, conduct: str, request: Request) -> Action:
        """A promise, then the same towards everybody; ``mixed`` defects against the last co-player alone."""
        if request.phase.name == MESSAGE:
            return self.examples(request)[1 if conduct == DEFECT else 0]
        if self.shared:
            return conduct
        others = self.others[request.seat]
        if conduct == MIXED:
            return (*((one, COOPERATE) for one in others[:-1]), (others[-1], DEFECT))
        return tuple((one, conduct) for one in others)

    def decisions(self) -> Decisions | None:
        """Whether a seat cooperates with each co-player; with one shared action it is one decision."""
        return towards_each(self.towards, self.others, phase=ACTION, words=ACTIONS, shared=self.shared)

    # ------------------------------------------------------------------ what it comes to for all

    def shortfall(self, one: Round, seat: str) -> float | None:
        """The share of the co-players that the seat defected against."""
        for act in reversed(one.acts):
            if act.seat == seat and act.phase == ACTION:
                return _defected(act.action)
        return None

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        """The seat's rate of cooperation."""
        shortfall = self.shortfall(one, seat)
        return {"cooperation": [] if shortfall is None else [1.0 - shortfall]}

    def cooperation_payoff(self, seat: str) -> float:
        """All cooperate."""
        return self.reward * (self.n - 1)

    def fair_payoff(self, seat: str) -> float:
        """What all get who all cooperate."""
        return self.reward * (self.n - 1)


def _defected(action: Action | None) -> float | None:
    """The share of the co-players that a decision defects against."""
    if not isinstance(action, tuple):
        return None if action is None else float(action == DEFECT)
    words = [word for _, word in action]
    return words.count(DEFECT) / len(words)


IPD_3 = PairwiseDilemma(
    "ipd-3",
    "Iterated Prisoner's Dilemma in pairs, three players who talk first; each does better by defecting, all do worse.",
    reward=3.0,
    sucker=0.0,
    temptation=5.0,
    punishment=1.0,
)
"""Table 3's first column."""

STAG_HUNT_3 = PairwiseDilemma(
    "stag-hunt-3",
    "Stag Hunt in pairs, three players who talk first; cooperating pays most, if the other cooperates too.",
    reward=4.0,
    sucker=0.0,
    temptation=3.0,
    punishment=2.0,
)
"""Table 3's third column."""

CHICKEN_3 = PairwiseDilemma(
    "chicken-3",
    "Chicken in pairs, three players who talk first; defecting pays against one who cooperates, and is worst if both do.",
    reward=6.0,
    sucker=2.0,
    temptation=7.0,
    punishment=0.0,
)
"""Table 3's second column."""
