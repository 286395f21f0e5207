"""What PPO keeps of the games: transitions, the batch of an update, and what a seed carries from update to update."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from coplay.games.records import Turn
from coplay.learners.credit import RunningMoments
from coplay.players.network import Replies


class Transition(NamedTuple):
    """One reply as its learner remembers it."""

    turn: Turn
    value: float | None
    score: float
    ends_episode: bool


@dataclass
class SeedProgress:
    """What one seed's learner carries from update to update, besides parameters."""

    moments: RunningMoments = field(default_factory=RunningMoments)
    """Of all scores so far."""
    kl_coef: float = 0.0
    """The adaptive KL coefficient."""
    updates: int = 0
    """Updates so far, skipped ones included."""


@dataclass(frozen=True)
class Batch:
    """The transitions of an update, all seeds in one; rows of a seed are contiguous."""

    seeds_R: Tensor
    """Position of the row's seed."""
    turns: list[Turn]
    replies: Replies | None
    """The turns' replies as a network reads them, once for all steps; None for other policies."""
    old_logprobs_R: Tensor
    old_values_R: Tensor
    advantages_R: Tensor
    """Whitened within each seed, if the settings say so."""
    returns_R: Tensor
    rows_of: dict[int, range]
    """Rows of each seed that takes part, by position."""
