"""A mediator's PPO as one writes it first: PyTorch's own modules and optimiser, one seed after the other, the same arithmetic as coplay's.

Written from Algorithm 1 and Table 4 of Learning to Mediate Equilibrium Selection in LLM Games, not from coplay's learner. ``per`` says what goes
through the network at a time: one ``step``, the steps of one ``episode``, or a whole ``minibatch``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from coplay.learners.settings import PPO

Per = Literal["step", "episode", "minibatch"]
"""What goes through the network at a time."""


class Step(NamedTuple):
    """A round of an episode."""

    features: tuple[float, ...]
    choice: int
    reward: float
    logprob: float
    value: float


class Transition(NamedTuple):
    """A round with its credit."""

    episode: int
    features: tuple[float, ...]
    choice: int
    logprob: float
    advantage: float
    target: float


def sequential(state: Mapping[str, Tensor], hidden: Sequence[int]) -> nn.Sequential:
    """The hidden layers and the last one, with these weights (by the names of coplay's checkpoints)."""
    layers: list[nn.Module] = []
    widths = [state["layers.0.weight"].shape[0], *hidden]
    for i, (narrow, wide) in enumerate(pairwise(widths)):
        linear, norm = nn.Linear(narrow, wide), nn.LayerNorm(wide)
        with torch.no_grad():
            linear.weight.copy_(state[f"layers.{i}.weight"].T)
            linear.bias.copy_(state[f"layers.{i}.bias"])
            norm.weight.copy_(state[f"layers.{i}.gain"])
            norm.bias.copy_(state[f"layers.{i}.shift"])
        layers += [linear, norm, nn.ReLU()]
    last = nn.Linear(widths[-1], state["last.bias"].shape[0])
    with torch.no_grad():
        last.weight.copy_(state["last.weight"].T)
        last.bias.copy_(state["last.bias"])
    return nn.Sequential(*layers, last)


class PlainController:
    """One seed's actor and critic.

    Args:
        network: the hidden layers, then the actor's linear layer.
        critic: the critic's linear layer; None for a bandit.
        ppo: the settings.
        per: what goes through the network at a time.
    """

    def __init__(self, network: nn.Sequential, critic: nn.Linear | None, ppo: PPO, *, per: Per = "step") -> None:
        self.trunk, self.actor, self.critic = network[:-1], network[-1], critic
        self.ppo, self.per = ppo, per
        self.policy_parameters = list(network.parameters())
        self.adam = torch.optim.Adam(self.policy_parameters, lr=ppo.learning_rate)
        self.critic_adam = None if critic is None else torch.optim.Adam(critic.parameters(), lr=ppo.learning_rate)

    def learn(self, episodes: Sequence[Sequence[Step]], orders: Sequence[np.ndarray]) -> None:
        """One update; an order of the rows for each epoch."""
        rows = [row for number, steps in enumerate(episodes) for row in self._credited(number, steps)]
        for order in orders:
            for start in range(0, len(rows), self.ppo.minibatch):
                self._step([rows[i] for i in order[start : start + self.ppo.minibatch]])

    def _credited(self, number: int, steps: Sequence[Step]) -> list[Transition]:
        """Generalised advantages of an episode; the discounted payoffs where there is no critic."""
        gamma, lam = self.ppo.gamma, self.ppo.lam
        found, advantage, next_value = [], 0.0, 0.0
        for step in reversed(steps):
            value = step.value if self.critic is not None else 0.0
            advantage = step.reward + gamma * next_value - value + gamma * lam * advantage
            next_value = value
            found.append(Transition(number, step.features, step.choice, step.logprob, advantage, advantage + value))
        return found[::-1]

    def _step(self, rows: Sequence[Transition]) -> None:
        """One optimiser step on a minibatch."""
        total = torch.zeros(())
        for chunk in self._chunks(rows):
            total = total + self._loss(chunk) / len(rows)
        self.adam.zero_grad()
        if self.critic_adam is not None:
            self.critic_adam.zero_grad()
        total.backward()
        if self.ppo.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.policy_parameters, self.ppo.max_grad_norm)
        self.adam.step()
        if self.critic_adam is not None:
            self.critic_adam.step()

    def _chunks(self, rows: Sequence[Transition]) -> list[list[Transition]]:
        if self.per == "step":
            return [[row] for row in rows]
        if self.per == "minibatch":
            return [list(rows)]
        by_episode: dict[int, list[Transition]] = {}
        for row in rows:
            by_episode.setdefault(row.episode, []).append(row)
        return list(by_episode.values())

    def _loss(self, rows: Sequence[Transition]) -> Tensor:
        """The summed loss of some rows."""
        hidden = self.trunk(torch.tensor([row.features for row in rows]))
        policy = torch.distributions.Categorical(logits=self.actor(hidden))
        advantages = torch.tensor([row.advantage for row in rows])
        logprobs = policy.log_prob(torch.tensor([row.choice for row in rows]))
        ratio = torch.exp(logprobs - torch.tensor([row.logprob for row in rows]))
        clipped = ratio.clamp(1 - self.ppo.clip, 1 + self.ppo.clip)
        loss = -torch.min(ratio * advantages, clipped * advantages).sum()
        loss = loss - self.ppo.entropy_final * policy.entropy().sum()
        if self.critic is not None:
            errors = self.critic(hidden)[:, 0] - torch.tensor([row.target for row in rows])
            loss = loss + self.ppo.value_coef * 0.5 * (errors**2).sum()
        return loss
