"""What learners with a softmax table have in common: their state, and plain steps along a gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor

from coplay.learners.base import DIVERGED, SeedState
from coplay.learners.movement import ZeroIsWrong, movement_of
from coplay.players.information_table import InformationTable
from coplay.players.tabular import TabularPolicy

PolicyT = TypeVar("PolicyT", bound="TabularPolicy | InformationTable")


class SoftmaxLearner(Generic[PolicyT]):
    """A learner with a softmax table, one slot a seed, but for what it learns."""

    def __init__(self, name: str, policy: PolicyT, *, seeds: Sequence[int]) -> None:
        self.name, self.policy, self.player = name, policy, policy
        self.seeds = list(seeds)
        self.slots = {seed: i for i, seed in enumerate(self.seeds)}
        self.moving = movement_of(name, policy, self.slots)

    def clear_cache(self) -> None:
        """Drop the distributions computed so far."""
        self.policy.clear_cache()

    def ascend(
        self,
        objective: Tensor,
        rate: float,
        *,
        slots: Sequence[int],
        zero_is_wrong: ZeroIsWrong,
    ) -> list[dict[str, float | str]]:
        """One step along the gradient of an objective, watched; see :meth:`climb`.

        Args:
            objective: a number that depends on the table.
            rate: the learning rate.
            slots: the slots of the seeds that have something to learn from.
            zero_is_wrong: see :data:`coplay.learners.movement.ZeroIsWrong`.

        Raises:
            Unmoved: if the table does not move.
        """
        self.moving.connected(objective, slots)
        theta = self.policy.theta
        gradient_PFA = torch.autograd.grad(objective, theta)[0] if theta.requires_grad else None
        with self.moving.step(slots, rate=rate, gradients=[gradient_PFA], zero_is_wrong=zero_is_wrong):
            assert gradient_PFA is not None
            return self.climb(gradient_PFA, rate)

    @torch.no_grad()
    def climb(self, gradient_PFA: Tensor, rate: float) -> list[dict[str, float | str]]:
        """One step of plain ascent for each seed whose gradient is finite.

        Args:
            gradient_PFA: of the table's shape [P, features, actions].
            rate: the learning rate.

        Returns:
            For each seed ``gradient``, the gradient's length, or :data:`~coplay.learners.base.DIVERGED`: it was left where it is.
        """
        metrics: list[dict[str, float | str]] = []
        for position, gradient_FA in enumerate(gradient_PFA):
            if not bool(torch.isfinite(gradient_FA).all()):
                metrics.append({DIVERGED: "the gradient is not finite"})
                continue
            self.policy.theta[position] += rate * gradient_FA
            metrics.append({"gradient": float(gradient_FA.norm())})
        self.policy.clear_cache()
        return metrics

    def state_dict(self, seed: int) -> SeedState:
        """The seed's table; nothing else is learnt."""
        return self.policy.slot_state(self.slots[seed])

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        self.policy.load_slot_state(self.slots[seed], state)
