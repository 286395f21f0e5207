"""The nouns of play: move, turn, trace, episode, trial.

Shape legend, used as suffixes of array names everywhere in the package:
B games, S seats, T rounds, E episodes, P slots, R rows of a batch, L tokens, V vocabulary, A actions, H hidden width.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coplay.games.memory import Observation


@dataclass(frozen=True, slots=True)
class View:
    """What one seat knows when it is asked to move."""

    seed: int
    """The run's seed this game belongs to."""
    game: int
    """Index of the parallel game."""
    seat: str
    """The seat asked to move."""
    round: int
    """Round within the episode, from 0."""
    observation: Observation
    """What the seat's memory shows it of the past, from its own point of view."""
    draw: float
    """A uniform number in [0, 1) from the seat's own stream; the only chance a player may use."""


@dataclass(frozen=True, slots=True)
class Move:
    """What a player did in one round. An illegal reply is data: ``action`` is None and ``reply`` says what came."""

    action: str | None
    """Name of the action played, or None for an illegal reply."""
    reply: str
    """The text of the reply, as given."""
    token: int | None = None
    """Token id of the reply (language models) or index of the action (tabular learners)."""
    logprob: float | None = None
    """Natural log of the probability the reply was sampled with."""
    value: float | None = None
    """The learner's estimate of its remaining (scaled) return."""
    probs: tuple[float, ...] | None = None
    """Probability of each legal action; what is missing to 1 went to illegal replies."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One seat's side of one round."""

    observation: Observation
    """What the seat knew."""
    move: Move
    """What it did."""
    payoff: float | None
    """What it got; None where the co-player's illegal reply voided the round."""


@dataclass(slots=True)
class Trace:
    """One seat's turns through an episode, in order."""

    seat: str
    """Whose trace this is."""
    turns: list[Turn] = field(default_factory=list)
    """One turn a round."""


@dataclass(slots=True)
class Episode:
    """A complete game of T rounds."""

    seed: int
    """The run's seed."""
    game: int
    """Index of the parallel game."""
    traces: dict[str, Trace]
    """One trace a seat."""
    states: list[tuple[str, str] | None] = field(default_factory=list)
    """The joint action of each round, row first; None where a reply was illegal."""
    finished: bool = True
    """False for rounds of a game that goes on: what a learner that updates after every round is given."""

    def latest_round(self, *, finished: bool) -> Episode:
        """The last round played, as an episode of its own; ``finished`` says whether it ended the game."""
        traces = {seat: Trace(seat, trace.turns[-1:]) for seat, trace in self.traces.items()}
        return Episode(self.seed, self.game, traces, self.states[-1:], finished)


class Trial(NamedTuple):
    """What is known after a trial."""

    lines: dict[int, dict[str, Any]]
    """Metrics by seed."""
    games: list[dict[str, Any]]
    """Complete games for reading."""
