"""The learner protocol: collect games, learn from them, keep a state of its own; all seeds at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from coplay.games.records import Episode
from coplay.players.base import Player

if TYPE_CHECKING:
    from torch import Tensor

RngPath = tuple[int | str, ...]
"""What an update is called within its seed, e.g. ``(trial, episode)``; names its random streams."""

UpdateMetrics = dict[int, dict[str, float | str]]
"""For each seed, the figures of an update; ``note`` says why something was skipped, and :data:`DIVERGED` ends the seed."""

DIVERGED = "diverged"
"""The key under which an update says what of a seed was not a finite number; such an update has not changed the seed's parameters."""

SeedState: TypeAlias = "dict[str, Tensor]"
"""All that a learner has learnt under one seed, for a checkpoint."""


class Learner(Protocol):
    """An algorithm that changes a player's parameters, and only in ``update``.

    The training loop calls ``collect`` on *every* learner whose clock has struck before it calls ``update`` on any: a learner that looks
    at its co-player's policy does so while collecting, and so sees the one that played. Seeds do not touch: one that has diverged, or has no
    games, leaves the others' parameters as they would be without it.
    """

    name: str
    """What the config calls it; occupants of its seats carry this name."""

    @property
    def player(self) -> Player:
        """What it trains."""

    @property
    def slots(self) -> Mapping[int, int]:
        """The player's slot of each seed."""

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Keep the learner's own seats of these games until the next update."""

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """Learn from what was collected, then discard it."""

    def clear_cache(self) -> None:
        """Drop all that was computed ahead, so that what follows depends on parameters alone, to the last digit."""

    def state_dict(self, seed: int) -> SeedState:
        """Everything a checkpoint must hold of one seed."""

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""


def part(state: Mapping[str, Tensor], prefix: str) -> SeedState:
    """The entries of a state that begin with a prefix, without it."""
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def prefixed(prefix: str, state: Mapping[str, Tensor]) -> SeedState:
    """The inverse of :func:`part`."""
    return {f"{prefix}{key}": value for key, value in state.items()}
