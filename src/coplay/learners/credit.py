"""Credit: from rewards to advantages. Pure functions on tensors; suffixes as in :mod:`coplay.games.records`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.learners.shapes import require_same_shape


def generalised_advantages(
    rewards_BT: Tensor, values_BT: Tensor, ends_BT: Tensor, *, gamma: float, lam: float
) -> Tensor:
    """Generalised advantage estimation over rounds.

    delta_t = r_t + gamma * V_{t+1} - V_t,   A_t = delta_t + gamma * lam * A_{t+1},
    with V_{t+1} = A_{t+1} = 0 where the chain ends at t. (Schulman et al. 2016, equations 11-16; in ShapeLLM t runs over the
    rounds of a whole trial for the shaper, of one episode for a naive learner.)

    Derived in docs/theory/ppo.md.

    Args:
        rewards_BT: rewards, one sequence a row, right-padded.
        values_BT: value estimates made before each round.
        ends_BT: True at the last round of each chain. What follows an end starts a new chain (or is padding).
        gamma: discount.
        lam: 0 gives one-step errors, 1 gives Monte-Carlo returns minus the baseline.

    Returns:
        Advantages, shape [B, T]. Entries of padding are meaningless.

    Raises:
        ValueError: if the three shapes differ.
    """
    require_same_shape(rewards_BT=rewards_BT, values_BT=values_BT, ends_BT=ends_BT)
    advantages_BT = torch.zeros_like(rewards_BT)
    next_value_B = torch.zeros_like(rewards_BT[:, 0])
    next_advantage_B = torch.zeros_like(next_value_B)
    for t in range(rewards_BT.shape[1] - 1, -1, -1):
        goes_on_B = (~ends_BT[:, t]).to(rewards_BT.dtype)
        delta_B = rewards_BT[:, t] + gamma * goes_on_B * next_value_B - values_BT[:, t]
        next_advantage_B = delta_B + gamma * lam * goes_on_B * next_advantage_B
        next_value_B = values_BT[:, t]
        advantages_BT[:, t] = next_advantage_B
    return advantages_BT


def returns_to_go(rewards_BT: Tensor, *, discount: float) -> Tensor:
    """The return from each round on: ``G_t = r_t + γ G_{t+1}``, of the shape of the rewards, [B, T] or [B, S, T].

    See docs/theory/advantage_alignment.md.
    """
    returns_BT = torch.zeros_like(rewards_BT)
    following_B = torch.zeros_like(rewards_BT[..., 0])
    for t in range(rewards_BT.shape[-1] - 1, -1, -1):
        following_B = rewards_BT[..., t] + discount * following_B
        returns_BT[..., t] = following_B
    return returns_BT


def leave_one_out(returns_BT: Tensor) -> Tensor:
    """Each return minus the mean of the other games' at the same round: ``G_bt - Σ_{j≠b} G_jt / (B - 1)``.

    The baseline of a game does not depend on its own moves, so it adds no bias. Returns may have further dimensions after the first,
    such as seats. Raises ValueError for fewer than two games.

    See docs/theory/other_learners.md.
    """
    games = returns_BT.shape[0]
    if games < 2:
        raise ValueError(f"a leave-one-out baseline needs two games at least, got {games}")
    return returns_BT - (returns_BT.sum(0, keepdim=True) - returns_BT) / (games - 1)


def whiten(values_N: Tensor, *, shift_mean: bool = True) -> Tensor:
    """Scale to unit variance (unbiased) and, unless told otherwise, to zero mean.

    (x - mean) / sqrt(var + 1e-8), plus the mean again if ``shift_mean`` is False; as TRL's ``masked_whiten``. Needs two values
    at least: with fewer the variance is not defined and the result is NaN.

    Derived in docs/theory/ppo.md.
    """
    mean, variance = values_N.mean(), values_N.var(unbiased=True)
    whitened_N = (values_N - mean) * torch.rsqrt(variance + 1e-8)
    return whitened_N if shift_mean else whitened_N + mean


@dataclass
class RunningMoments:
    """Mean and variance of all scores seen so far (Chan et al.'s parallel update), to scale rewards with.

    Derived in docs/theory/ppo.md.
    """

    mean: float = 0.0
    variance: float = 1.0
    count: float = 0.0

    def update(self, values: Tensor) -> None:
        """Take in a batch of at least one value."""
        n = values.numel()
        batch_mean, batch_variance = float(values.mean()), float(values.var(unbiased=False))
        total = self.count + n
        delta = batch_mean - self.mean
        squares = batch_variance * n + self.variance * self.count + delta**2 * self.count * n / total
        self.mean += delta * n / total
        self.variance = squares / total
        self.count = total

    @property
    def std(self) -> float:
        """Unbiased standard deviation; 1 before two values were seen."""
        return float((self.variance * self.count / (self.count - 1)) ** 0.5) if self.count > 1 else 1.0


def adapted_kl_coefficient(coefficient: float, kl: float, *, target: float, horizon: float, samples: int) -> float:
    """One step of the adaptive KL controller (Ziegler et al. 2019, equation 4).

    beta <- beta * (1 + clip(KL / target - 1, -0.2, 0.2) * samples / horizon)

    Derived in docs/theory/ppo.md.

    Args:
        coefficient: beta so far.
        kl: mean of log pi - log pi_ref over the batch, in nats a reply.
        target: the KL aimed at, in nats.
        horizon: number of samples over which a full error is corrected.
        samples: size of the batch.
    """
    error = min(max(kl / target - 1.0, -0.2), 0.2)
    return coefficient * (1.0 + error * samples / horizon)
