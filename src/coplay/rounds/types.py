"""Records of games in rounds: what was said, what a round came to, what a seat knows when it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coplay.games.rounds import Action


@dataclass(frozen=True)
class Reply:
    """What a player said. A reply that could not be read is data: ``action`` is None."""

    text: str
    """As it came."""
    action: Action | None = None
    """What it was read as."""
    prompt: tuple[int, ...] = ()
    """Token ids of what was read, of language models."""
    tokens: tuple[int, ...] = ()
    """Token ids of the reply, as sampled."""
    logprobs: tuple[float, ...] = ()
    """Natural log of the probability each token was sampled with."""
    retries: int = 0
    """How many replies before this one could not be read and were thrown away."""


@dataclass(frozen=True)
class Round:
    """A round that is over, as everybody knows it."""

    deal: Any
    """What chance gave, private parts too."""
    replies: Mapping[str, Mapping[str, Reply]]
    """By phase, then by seat, in the order of asking: messages, proposals, actions."""
    payoffs: Mapping[str, float]
    """What each seat got."""

    @property
    def actions(self) -> dict[str, Action | None]:
        """Each seat's reply in the last phase, which settled the round."""
        return settling_actions(self.replies)


def settling_actions(replies: Mapping[str, Mapping[str, Reply]]) -> dict[str, Action | None]:
    """Each seat's reply in the last phase of a round."""
    *_, last = replies.values()
    return {seat: reply.action for seat, reply in last.items()}


@dataclass(frozen=True)
class Situation:
    """What one seat knows when it is asked to reply."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's games this is."""
    seat: str
    """Who is asked."""
    round: int
    """Round within the episode, from 0."""
    phase: str
    """What is asked for."""
    seen: Any
    """The part of the deal that this seat knows."""
    said: Mapping[str, Mapping[str, Reply]]
    """What was said to all in this round's earlier phases: by phase, then by seat, in order."""
    past: tuple[Round, ...]
    """The rounds before this one."""
    occasion: tuple[int | str, ...]
    """Names, with seed, index, seat, round, phase and attempt, the stream of chance a player may draw from."""
    attempt: int = 0
    """How often this was asked before, and not answered in a way that could be read."""

    @property
    def stream(self) -> tuple[int | str, ...]:
        """What follows seed and purpose in the stream's name."""
        again = ("again", self.attempt) if self.attempt else ()
        return (*self.occasion, self.index, self.seat, self.round, self.phase, *again)


@dataclass
class RoundEpisode:
    """A game of T rounds."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's games this is."""
    rounds: list[Round] = field(default_factory=list)
    """What has been played."""

    def total(self, seat: str) -> float:
        """The sum of a seat's payoffs."""
        return sum(one.payoffs[seat] for one in self.rounds)
