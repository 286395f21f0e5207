"""What PPO keeps of the games: transitions, the batch of an update, and what a seed carries from update to update; from scores to advantages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from coplay.games.records import Turn
from coplay.learners.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages
from coplay.learners.losses import kl_penalised_rewards
from coplay.learners.settings import PPO
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

    def scaled(self, scores_N: Tensor, ppo: PPO, metrics: dict[str, float | str]) -> Tensor:
        """Scores in units of their running deviation, around their running mean if asked."""
        if not ppo.score_scaling:
            return scores_N
        self.moments.update(scores_N)
        scale = self.moments.std
        if scale < 1e-6:
            metrics["note"] = "scores not scaled: they have not varied so far"
            scale = 1.0
        return (scores_N - self.moments.mean * ppo.score_normalisation) / scale

    def penalised(self, scores_N: Tensor, kl_N: Tensor, ppo: PPO, metrics: dict[str, float | str]) -> Tensor:
        """Scaled scores minus the KL penalty, whose coefficient then adapts."""
        kl = float(kl_N.mean())
        metrics["kl"], metrics["kl_coef"] = kl, self.kl_coef
        rewards_N = kl_penalised_rewards(scores_N, kl_N, kl_coef=self.kl_coef)
        if ppo.kl_adaptive:
            self.kl_coef = adapted_kl_coefficient(
                self.kl_coef, kl, target=ppo.kl_target, horizon=ppo.kl_horizon, samples=len(scores_N)
            )
        return rewards_N


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


def advantages_along(
    sequences: Sequence[Sequence[Transition]], rewards_R: Tensor, values_R: Tensor, ppo: PPO
) -> Tensor:
    """GAE along each game's sequence, cut where the settings say; in the order of the rows."""
    lengths = [len(sequence) for sequence in sequences]
    cut = ppo.gae_chain == "episode"
    ends = [torch.tensor([*(cut and step.ends_episode for step in sequence[:-1]), True]) for sequence in sequences]

    rewards_BT, values_BT, ends_BT = (
        nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
        for parts in (torch.split(rewards_R, lengths), torch.split(values_R, lengths), ends)
    )
    advantages_BT = generalised_advantages(rewards_BT, values_BT, ends_BT, gamma=ppo.gamma, lam=ppo.lam)
    return torch.cat([row[:length] for row, length in zip(advantages_BT, lengths, strict=True)])


def minibatches(orders: Mapping[int, np.ndarray], size: int, *, together: bool) -> list[dict[int, np.ndarray]]:
    """The rows of each seed that takes an optimiser step, by position, step by step.

    Args:
        orders: the rows of each seed, shuffled.
        size: rows of a seed in a step.
        together: whether the k-th steps of all seeds are one.
    """
    steps = []
    for start in range(0, max(map(len, orders.values())), size):
        rows_of = {position: order[start : start + size] for position, order in orders.items() if start < len(order)}
        steps += [rows_of] if together else [{position: rows_of[position]} for position in rows_of]
    return steps
