"""A replay buffer for each slot: the latest replies with what they were paid and, where it matters, what the seat was shown next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.games.records import Episode
from coplay.learners.base import SeedState


class Step(NamedTuple):
    """One reply as a buffer keeps it."""

    features: tuple[float, ...]
    """What the seat was shown."""
    choice: int
    """Which of the choices it took."""
    payoff: float
    """What it was paid: the round's payoff for the last reply of a round, 0 for those before it."""
    following: tuple[float, ...]
    """What it was shown at its next reply of the episode; empty if that was the last."""
    choices: int
    """How many choices it had there; 0 if there is none."""


def steps_of(episode: Episode, seat: str) -> list[Step]:
    """The replies of a seat of a complete episode; those of rounds that are void for it are left out."""
    scored = episode.scored_turns(seat)
    nexts = [turn.reply for turn, _ in scored[1:]]
    ends = [(reply.features, len(reply.probs or ())) for reply in nexts] + [((), 0)]
    return [
        Step(turn.reply.features, turn.reply.tokens[0], payoff, following, choices)
        for (turn, payoff), (following, choices) in zip(scored, ends, strict=True)
        if turn.reply.tokens
    ]


class Replay:
    """P buffers of C replies each; a full one drops its oldest.

    Args:
        slots: P.
        capacity: C.
        features: F, numbers that a seat is shown.
        following: whether what was shown next is kept; targets with a discount need it.
    """

    def __init__(self, slots: int, capacity: int, features: int, *, following: bool) -> None:
        self.arrays = {
            "features": torch.zeros(slots, capacity, features),
            "choice": torch.zeros(slots, capacity, dtype=torch.long),
            "payoff": torch.zeros(slots, capacity),
            **({"following": torch.zeros(slots, capacity, features)} if following else {}),
            **({"choices": torch.zeros(slots, capacity, dtype=torch.long)} if following else {}),
        }
        self.capacity = capacity
        self.added = [0] * slots
        """How many replies each buffer was given so far."""

    def size(self, slot: int) -> int:
        """How many replies a buffer holds."""
        return min(self.added[slot], self.capacity)

    def add(self, slot: int, steps: Sequence[Step]) -> None:
        """Put replies in, in order."""
        kept = steps[-self.capacity :]
        first = self.added[slot] + len(steps) - len(kept)
        places = torch.arange(first, first + len(kept)) % self.capacity
        blank = (0.0,) * self.arrays["features"].shape[-1]
        for name, array in self.arrays.items():
            column = [getattr(step, name) or (blank if name == "following" else 0) for step in kept]
            array[slot, places] = torch.tensor(column, dtype=array.dtype)
        self.added[slot] += len(steps)

    def at(self, slots_S1: Tensor, places_SB: Tensor) -> dict[str, Tensor]:
        """The replies at these places of each slot's buffer: what they are made of by name, [S, B, ...]."""
        return {name: array[slots_S1, places_SB] for name, array in self.arrays.items()}

    def slot_state(self, slot: int) -> SeedState:
        """One buffer, for a checkpoint."""
        return {name: array[slot].clone() for name, array in self.arrays.items()}

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor], *, added: int) -> None:
        """Go back to what :meth:`slot_state` returned, after so many replies."""
        for name, array in self.arrays.items():
            array[slot] = state[name]
        self.added[slot] = added
