"""Hosted games whose library takes a seed for an episode's chance, and can only go forward."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.adapters.hosted import HostedGame, Known
from coplay.adapters.replayed import Replayed, Running
from coplay.games.records import Action, Round

SEEDS = 2**31
"""Seeds of episodes are below this."""


@dataclass(frozen=True)
class EpisodeSeed:
    """What is dealt: the seed of the library's episode."""

    number: int
    """From 0."""


class SeededGame(HostedGame):
    """See the module. A subclass begins episodes."""

    draws = 1

    @abstractmethod
    def start(self, seed: int) -> Running:
        """Begin an episode of the library."""

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> EpisodeSeed:
        """A seed."""
        return EpisodeSeed(int(chance[0] * SEEDS))

    def begun(self, deal: EpisodeSeed) -> Replayed:
        """The first decision of the episode with that seed."""
        return Replayed(self.start, f"game {self.name}", deal.number)

    def moved(self, state: Replayed, actions: Mapping[int, Action], deal: EpisodeSeed) -> Replayed:
        """The next point of the episode."""
        return state.after(actions)

    def asked(self, state: Replayed) -> Sequence[int]:
        """The players that are to act."""
        return state.moment.asked

    def knows(self, state: Replayed, player: int) -> Known | None:
        """What the library shows the player at this point, if anything."""
        return state.moment.known[player]

    def returns(self, state: Replayed) -> Sequence[float]:
        """What the library has paid."""
        return state.moment.returns
