"""What is recorded of play: phases, acts, rounds, requests, replies, episodes. Data only; each class says who makes it.

Shape legend, used as suffixes of array names everywhere in the package:
B games, S seats, T rounds, E episodes, P slots, R rows of a batch, L tokens, V vocabulary, A actions, H hidden width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict

from coplay.games.memory import Observation

Action: TypeAlias = str | int | float | tuple[Any, ...] | Mapping[str, Any]
"""What a game understands: a word, a number, a vector, or one choice per item or co-player. JSON can hold it."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A moment at which seats act at once: none sees the others' actions of the phase before its own."""

    name: str
    """What is asked for, e.g. ``message`` or ``action``."""
    seats: tuple[str, ...]
    """The seats that are asked, in this order."""
    turn: int = 0
    """Tells apart phases of one name within a round; names their random streams."""


@dataclass(frozen=True, slots=True)
class Act:
    """What a seat did in a phase."""

    phase: str
    """The phase's name."""
    turn: int
    """The phase's turn."""
    seat: str
    """The seat that acted."""
    action: Action | None
    """The parsed action; None if the reply could not be parsed."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round, in progress or over. What :meth:`coplay.games.base.Game.observe` returns has the same form, redacted for a seat."""

    number: int
    """The round within its episode, from 0."""
    deal: Any = None
    """What chance dealt in this round; None where nothing is dealt."""
    acts: tuple[Act, ...] = ()
    """What was done so far, in order."""
    payoffs: Mapping[str, float | None] | None = None
    """Each seat's payoff, None for a seat whose round is void; None altogether while the round is in progress."""

    def actions(self, phase: str) -> dict[str, Action | None]:
        """The action of each seat that acted in phases of that name; of several, the last."""
        return {act.seat: act.action for act in self.acts if act.phase == phase}

    def acted(self, phase: str, turn: int = 0) -> bool:
        """Whether the phase of that name and turn is over."""
        return any(act.phase == phase and act.turn == turn for act in self.acts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to, in words that metrics, memory and reports count. Holds nothing that a seat may not know afterwards."""

    conduct: tuple[str | None, ...]
    """What each seat did, in a word, in the game's order of seats: an action's name, or ``cooperate`` and ``greedy``; None where it had no
    choice or its reply could not be parsed."""
    parsed: bool = True
    """Whether every reply that decided the round could be parsed."""
    void: bool = False
    """Whether the round is left out of memories and of mean payoffs (ShapeLLM, appendix A.2 and section 5.1)."""


class Harm(NamedTuple):
    """What a seat's play in a round did to others (SEPO, section 3.1), each from 0 to 1."""

    collusion: float
    """Whether the seat took part in harmful coordination, meant for rounds with a co-player that invites it."""
    externality: float
    """The share of the attainable welfare that the round lost."""


class Reply(NamedTuple):
    """What a player replied. A reply that cannot be parsed is data: its ``action`` is None."""

    text: str
    """The reply as it came."""
    action: Action | None = None
    """The action it was parsed as; None for an illegal reply."""
    tokens: tuple[int, ...] = ()
    """Token ids of the reply as sampled; of a tabular learner, the index of its action."""
    logprobs: tuple[float, ...] = ()
    """Natural log of the probability that each token was sampled with."""
    prompt: tuple[int, ...] = ()
    """Token ids of the prompt, where the reply was generated from one."""
    value: float | None = None
    """The learner's estimate of its remaining (scaled) return; None without a value head."""
    probs: tuple[float, ...] | None = None
    """Probability of each legal action, in the order of the seat's actions; what is missing to 1 went to illegal replies."""
    information: str = ""
    """What a table looked the reply up by, in games that are not in normal form."""
    retries: int = 0
    """How many replies before this one could not be parsed and were discarded."""
    fallback: bool = False
    """Whether the text names no action, and the model was then made to choose one; such a reply has no tokens."""
    features: tuple[float, ...] = ()
    """What a network was shown, :meth:`coplay.games.base.Game.features`; empty for all other players."""


class Turn(NamedTuple):
    """One reply of one seat, with what it was a reply to. Known to the seat's own player and learner alone."""

    seat: str
    """The seat that replied."""
    round: int
    """The round within the episode, from 0."""
    phase: str
    """The phase's name."""
    turn: int
    """The phase's turn."""
    observation: Observation
    """What the seat's memory showed it."""
    reply: Reply
    """What it replied."""


@dataclass(frozen=True, slots=True)
class Request:
    """A seat is asked to act: all that it may know, and nothing else."""

    seed: int
    """The run's seed that this game belongs to."""
    game: int
    """Index of the game among the seed's parallel games."""
    seat: str
    """The seat that is asked."""
    phase: Phase
    """What it is asked for."""
    now: Round
    """The round in progress, as this seat sees it."""
    past: Sequence[Round]
    """The episode's earlier rounds, as this seat sees them."""
    own: tuple[Turn, ...]
    """The seat's own replies of this episode so far."""
    observation: Observation
    """What the player's memory shows of the past, from this seat's point of view."""
    slot: int | None
    """The slot of the player's parameters that answers; None for players without slots."""
    rng_path: tuple[int | str, ...]
    """Names, after seed and purpose, the random stream of this reply."""
    draw: float
    """A uniform number in [0, 1) from the seat's own stream: all the chance that a choice among actions needs."""
    attempt: int = 0
    """How many replies to this request could not be parsed before."""

    def of(self, now: Round, past: Sequence[Round]) -> Request:
        """The same request with these rounds; several times as fast as ``dataclasses.replace``."""
        return Request(
            *(self.seed, self.game, self.seat, self.phase, now, past, self.own, self.observation),
            *(self.slot, self.rng_path, self.draw, self.attempt),
        )


@dataclass(frozen=True, slots=True)
class Occupant:
    """Who sits in a seat of a game."""

    player: Any
    """The :class:`coplay.players.base.Player`."""
    name: str
    """What to call it in records."""
    slot: int | None = None
    """The slot of its parameters."""
    learner: str | None = None
    """The learner that learns from this seat; None if nobody does."""
    pool: str = ""
    """The pool of co-players it was taken from, such as ``exploit``; empty if from none."""


@dataclass(slots=True)
class Episode:
    """A complete game of up to T rounds."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    game: int
    """Index of the game among the seed's parallel games."""
    seated: Mapping[str, Occupant]
    """Who sat where."""
    rounds: list[Round] = field(default_factory=list)
    """The rounds, unredacted."""
    outcomes: list[Outcome] = field(default_factory=list)
    """What each round came to."""
    turns: dict[str, list[Turn]] = field(default_factory=dict)
    """Each seat's replies, in order."""
    finished: bool = True
    """False for rounds of a game that continues: what a learner that updates after every round is given."""

    def payoffs(self, seat: str) -> list[float | None]:
        """A seat's payoff of every round; None where the round is void for it."""
        return [None if one.payoffs is None else one.payoffs[seat] for one in self.rounds]

    def total(self, seat: str) -> float:
        """The sum of a seat's payoffs."""
        return sum(payoff for payoff in self.payoffs(seat) if payoff is not None)

    def seats_of(self, learner: str) -> tuple[str, ...]:
        """The seats that a learner learns from."""
        return tuple(seat for seat, occupant in self.seated.items() if occupant.learner == learner)

    def paid_turns(self, seat: str) -> list[tuple[Turn, float | None]]:
        """A seat's replies with what each was paid.

        That is the round's payoff for the last reply of the round, 0 for those before it, and None if the round is void for the seat.
        """
        paid = {one.number: None if one.payoffs is None else one.payoffs[seat] for one in self.rounds}
        turns, found = self.turns[seat], []
        for i, turn in enumerate(turns):
            payoff = paid[turn.round]
            last = i + 1 == len(turns) or turns[i + 1].round != turn.round
            found.append((turn, payoff if last or payoff is None else 0.0))
        return found

    def scored_turns(self, seat: str) -> list[tuple[Turn, float]]:
        """The same without replies of rounds that are void for the seat."""
        return [(turn, payoff) for turn, payoff in self.paid_turns(seat) if payoff is not None]

    def latest_round(self, *, finished: bool) -> Episode:
        """The last round played, as an episode of its own; ``finished`` says whether it ended the game."""
        number = self.rounds[-1].number
        turns = {seat: _last_turns(own, number) for seat, own in self.turns.items()}
        return Episode(
            self.seed, self.group, self.game, self.seated, self.rounds[-1:], self.outcomes[-1:], turns, finished
        )


def _last_turns(turns: list[Turn], number: int) -> list[Turn]:
    """Those of the last round, which has that number; turns are in order, and an episode may have a million."""
    start = len(turns)
    while start and turns[start - 1].round == number:
        start -= 1
    return turns[start:]


class ActRecord(TypedDict):
    """An act as stored games keep it: one reply of one seat."""

    seat: str
    """The seat that acted."""
    phase: str
    """The phase's name; empty in games of version 1 that did not keep it."""
    turn: NotRequired[int]
    """The phase's turn, where it is not 0."""
    prompt: NotRequired[str]
    """The exact text that was read; of tables the state in words. Players that read no text have none."""
    reply: str
    """The reply as it came."""
    action: Any
    """The action as the game has it, with lists for tuples; None if the reply could not be parsed."""
    shown: NotRequired[str]
    """The action in words, where it is not these words itself."""
    readers: NotRequired[dict[str, str] | None]
    """The other seats that may know of the act, with what each is told of it; None if that is not known. Not there where all others may know
    the whole action."""
    probs: NotRequired[dict[str, float] | list[float]]
    """The probability of each choice, where the player tells it: by name, or in the game's order of choices. The rest to 1 went to illegal replies."""
    retries: NotRequired[int]
    """How many replies were discarded before this one."""
    fallback: NotRequired[bool]
    """True where the reply names no action, and the model was then made to choose one."""


class RoundRecord(TypedDict):
    """A round as stored games keep it."""

    acts: list[ActRecord]
    """What was done, in order. Seats that act at once do so in the phase's order."""
    payoffs: dict[str, float | None]
    """What the round paid each seat; None where it was void for the seat."""
    void: NotRequired[bool]
    """True where the round counts neither in memories nor in mean payoffs."""
    dealt: NotRequired[dict[str, str]]
    """What each seat was dealt, in words; only seats that were dealt something."""


class EpisodeRecord(TypedDict):
    """A game as ``episodes.jsonl`` and ``games.jsonl`` keep it, in version 2; :mod:`coplay.play.version_1` translates older ones."""

    step: int
    """The trial, from 1."""
    seed: int
    """The run's seed."""
    game: int
    """Index of the game among the seed's parallel games."""
    episode: int
    """The episode within the trial, from 1."""
    states: list[str]
    """What each round came to."""
    players: dict[str, str]
    """Who sat in each seat."""
    rounds: list[RoundRecord]
    """What was done and paid."""
    fallback: NotRequired[list[str]]
    """The seats whose players were made to choose where a reply named no action; not there if there are none."""


class TrialResult(NamedTuple):
    """What is known after a trial."""

    lines: dict[int, dict[str, object]]
    """Metrics by seed."""
    episodes: list[EpisodeRecord]
    """Complete games for reading."""


def in_order(now: Round, phases: Sequence[Phase]) -> Phase | None:
    """The first of these phases that is not over yet; None if all are."""
    done = {(act.phase, act.turn) for act in now.acts}
    return next((phase for phase in phases if (phase.name, phase.turn) not in done), None)


def shown_action(act: Mapping[str, Any]) -> str | None:
    """The action of an :class:`ActRecord` in words; None if the reply could not be parsed."""
    return None if act["action"] is None else str(act.get("shown", act["action"]))
