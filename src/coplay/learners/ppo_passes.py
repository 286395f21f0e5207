"""The passes through a policy that an optimiser step of PPO takes: one, or several whose gradients add up where one would not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.learners.losses import ppo_loss
from coplay.learners.movement import Movement
from coplay.learners.ppo_batch import Batch
from coplay.learners.settings import PPO
from coplay.learners.value_heads import ValueHeads
from coplay.players.network import NetworkPolicy
from coplay.players.policy import Policy, ReplyScores


class Losses(NamedTuple):
    """What the passes of a step gave."""

    loss_R: Tensor | None
    """The loss of each row, with gradients; None where the gradients of all rows' losses are in the parameters already."""
    figures_RK: Tensor
    """Loss, ratio, policy loss, value loss, entropy, clipped."""


class PPOPasses:
    """See the module.

    Args:
        policy: what is trained.
        heads: its value heads.
        ppo: the settings.
        slots: the policy's slot of each seed, by position.
        moving: watches the policy.
    """

    def __init__(self, policy: Policy, heads: ValueHeads, ppo: PPO, slots: Sequence[int], moving: Movement) -> None:
        self.policy, self.heads, self.ppo, self.slots, self.moving = policy, heads, ppo, list(slots), moving

    def losses(self, batch: Batch, R: Tensor, *, entropy_coef: float) -> Losses:
        """The losses of these rows of the batch. In several passes gradients are added to those that are there; see :meth:`parts`."""
        parts = list(self.parts(batch, R))
        if len(parts) == 1:
            return self._of_part(batch, R, entropy_coef)
        seeds_R = batch.seeds_R[R]
        sizes_P = torch.bincount(seeds_R, minlength=len(self.slots)).clamp(min=1)
        figures = []
        for places_N in parts:
            loss_N, figures_NK = self._of_part(batch, R[places_N], entropy_coef)
            assert loss_N is not None
            mean_N = loss_N / sizes_P[seeds_R[places_N]]
            # where(): a loss that is not finite ends its seed, and 0 * NaN would spoil the others' gradients
            torch.where(mean_N.isfinite(), mean_N, torch.zeros_like(mean_N)).sum().backward()  # type: ignore[no-untyped-call]
            figures.append(figures_NK)
        order_R = torch.cat(parts).argsort()
        return Losses(None, torch.cat(figures)[order_R])

    def parts(self, batch: Batch, R: Tensor) -> Iterator[Tensor]:
        """The places in ``R`` of the rows that go through the policy in one pass: so many different replies at a time, equal ones together."""
        size = self.ppo.microbatch_size
        if size is None or len(R) <= size:
            yield torch.arange(len(R), device=R.device)
            return
        alike: dict[object, list[int]] = {}
        for place, (row, position) in enumerate(zip(R.tolist(), batch.seeds_R[R].tolist(), strict=True)):
            alike.setdefault((position, self.policy.reply_key(batch.turns[row])), []).append(place)
        groups = list(alike.values())
        for start in range(0, len(groups), size):
            yield torch.tensor([place for group in groups[start : start + size] for place in group], device=R.device)

    def _of_part(self, batch: Batch, R: Tensor, entropy_coef: float) -> Losses:
        ppo, seeds_R = self.ppo, batch.seeds_R[R]
        slots = [self.slots[position] for position in seeds_R.tolist()]
        scores = self.scores(slots, batch, R)
        self.moving.connected(scores.logprobs_R, slots)
        hidden_RH = scores.hidden_RH if ppo.value_gradient == "trunk" else scores.hidden_RH.detach()
        terms = ppo_loss(
            scores.logprobs_R,
            batch.old_logprobs_R[R],
            batch.advantages_R[R],
            self.heads(seeds_R, hidden_RH) if ppo.critic else batch.old_values_R[R],
            batch.old_values_R[R],
            batch.returns_R[R],
            scores.entropies_R,
            clip=ppo.clip,
            value_clip=ppo.value_clip,
            value_coef=ppo.value_coef,
            entropy_coef=entropy_coef,
        )
        ratio_R = torch.exp(scores.logprobs_R - batch.old_logprobs_R[R])
        clipped_R = ((ratio_R - 1.0).abs() > ppo.clip).float()
        figures = [terms.loss_R, ratio_R, terms.policy_R, terms.value_R, scores.entropies_R, clipped_R]
        return Losses(terms.loss_R, torch.stack(figures, dim=1).detach())

    def scores(self, slots: Sequence[int], batch: Batch, R: Tensor) -> ReplyScores:
        """What the policy says of these rows now, with gradients."""
        if batch.replies is not None and isinstance(self.policy, NetworkPolicy):
            return self.policy.score(slots, batch.replies.rows(R), grad=True)
        return self.policy.score_replies(slots, [batch.turns[row] for row in R.tolist()], grad=True)
