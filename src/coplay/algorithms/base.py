"""The learner protocol: a player that collects games and learns from them, all seeds at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor, nn

from coplay.games.memory import Observation
from coplay.players.base import Player
from coplay.types import Episode

Occasion = tuple[int | str, ...]
"""What an update is called within its seed, e.g. ``(trial, episode)``; names its streams of chance."""

UpdateMetrics = dict[int, dict[str, float | str]]
"""For each seed, the figures of an update; ``note`` says why something was skipped."""


class LearntPolicy(Protocol):
    """What a run needs of a learner's policy: its parameters, for a checkpoint, and its words, for a reader."""

    def parameters(self) -> list[nn.Parameter]:
        """What is learnt, stacked over slots: [P, ...]."""
        ...

    def prompt_text(self, observation: Observation) -> str:
        """What a reader of the run is shown as the input."""
        ...


class Learner(Player, Protocol):
    """A player whose parameters change between calls of ``act``, and only in ``update``.

    The train loop calls ``collect`` on *every* learner whose clock has struck before it calls ``update`` on any: a learner that looks
    at its co-player's policy does so while collecting, and so sees the one that played.
    """

    @property
    def policy(self) -> LearntPolicy:
        """Its distributions over actions."""
        ...

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the learner's side of these games until the next update."""
        ...

    def update(self, occasion: Occasion) -> UpdateMetrics:
        """Learn from what was collected, then forget it."""
        ...

    def forget(self) -> None:
        """Drop all that was computed ahead, so that what follows depends on parameters alone, to the last digit."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Everything a checkpoint must hold of this learner but its policy's parameters."""
        ...

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""
        ...
