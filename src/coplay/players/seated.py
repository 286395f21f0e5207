"""A learner of one seed, seated where games are not numbered by that seed; in either seat, where both are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coplay.games.memory import Memory
from coplay.players.base import Player
from coplay.types import Move, View


@dataclass(frozen=True)
class OneSeed:
    """Plays every game with the parameters that a learner has under one seed, as from the seat where it learnt.

    What it is shown has its own action first in either seat, so in a symmetric game it cannot tell one seat from the other.
    """

    player: Player
    """The learner."""
    seed: int
    """Whose parameters to use."""
    seat: str
    """Where it learnt to sit."""

    @property
    def name(self) -> str:
        """The learner's name and seed."""
        return f"{self.player.name} (seed {self.seed})"

    @property
    def memory(self) -> Memory:
        """The learner's memory."""
        return self.player.memory

    def act(self, views: Sequence[View]) -> list[Move]:
        """The learner's moves; chance still comes from each view."""
        return self.player.act([replace(view, seed=self.seed, seat=self.seat) for view in views])
