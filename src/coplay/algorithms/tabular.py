"""What learners with a softmax table have in common: acting, and plain steps along a gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coplay.algorithms.acting import Actor
from coplay.players.tabular import TabularPolicy
from coplay.types import Move, View


class SoftmaxLearner:
    """The acting half of a learner with a :class:`TabularPolicy`, all seeds at once.

    Args:
        name: what to call it in tables.
        policy: its distributions over actions, one slot a seed.
        seeds: the seeds, in the order of their slots.
    """

    def __init__(self, name: str, policy: TabularPolicy, *, seeds: Sequence[int]) -> None:
        self.name, self.policy = name, policy
        self.game, self.seat, self.memory = policy.game, policy.seat, policy.memory
        self.seeds = list(seeds)
        self.position = {seed: i for i, seed in enumerate(self.seeds)}
        self.slots = {i: i for i in range(len(self.seeds))}
        self.actor = Actor(policy, policy.actions)

    def act(self, views: Sequence[View]) -> list[Move]:
        """Sample an action for each view."""
        keys = [(self.position[view.seed], view.observation) for view in views]
        decisions = self.actor.decide(keys, self.slots)
        return [self.actor.sample(decision, view.draw) for decision, view in zip(decisions, views, strict=True)]

    def forget(self) -> None:
        """Drop the distributions computed so far."""
        self.actor.forget()

    @torch.no_grad()
    def climb(self, gradient_PFA: Tensor, rate: float) -> list[float | None]:
        """One step of plain ascent for each seed whose gradient is finite.

        Args:
            gradient_PFA: of the table's shape [P, features, actions].
            rate: the learning rate.

        Returns:
            The length of each seed's gradient; None for a seed that was left where it is.
        """
        lengths: list[float | None] = []
        for position, gradient_FA in enumerate(gradient_PFA):
            if not bool(torch.isfinite(gradient_FA).all()):
                lengths.append(None)
                continue
            self.policy.theta[position] += rate * gradient_FA
            lengths.append(float(gradient_FA.norm()))
        self.actor.forget()
        return lengths

    def tensors(self) -> dict[str, Tensor]:
        """Nothing but the policy is learnt."""
        return {}

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Nothing to go back to but the policy."""
        self.actor.forget()
