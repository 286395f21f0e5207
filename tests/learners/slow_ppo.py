"""PPO over rounds once more, slowly: loops over single transitions, torch.optim.AdamW, one seed.

Written from the papers and TRL 0.11.4's documented behaviour, not from coplay's learner: Schulman et al. 2016 (GAE) and 2017 (PPO),
Ziegler et al. 2019 (KL), ShapeLLM appendix A.3 and A.5. Double precision throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from coplay.games.memory import Observation
from coplay.games.records import Episode
from coplay.learners.settings import PPO

Linear = Callable[[Observation], tuple[list[float], list[float]]]
"""Features and initial logits of an observation: logits = initial + features @ theta."""


@dataclass
class Step:
    """One transition that counts."""

    observation: Observation
    reply: int
    score: float
    episode: int
    logprob: float = 0.0
    value: float = 0.0
    advantage: float = 0.0
    target: float = 0.0


@dataclass
class SlowPPO:
    """One learner of one seed."""

    ppo: PPO
    linear: Linear
    legal: Sequence[int]
    theta: Tensor
    """[features, words]."""
    head: Tensor
    """[features + 1], the bias last."""
    order: Callable[[tuple[int | str, ...], int, int], Sequence[int]]
    """(rng_path, epoch, n) to a permutation."""
    scores: list[float] = field(default_factory=list)
    """Every score so far."""
    updates: int = 0

    def __post_init__(self) -> None:
        self.theta = self.theta.double().clone().requires_grad_(True)
        self.head = self.head.double().clone().requires_grad_(True)
        self.kl_coef = self.ppo.kl_coef
        self.adam = torch.optim.AdamW(
            [self.theta], lr=self.ppo.learning_rate, eps=self.ppo.adam_eps, weight_decay=self.ppo.weight_decay
        )
        self.head_adam = torch.optim.Adam([self.head], lr=self.ppo.head_learning_rate or self.ppo.learning_rate)
        self.metrics: dict[str, float] = {}

    def logits(self, observation: Observation) -> Tensor:
        features, initial = self.linear(observation)
        return torch.tensor(initial).double() + torch.tensor(features).double() @ self.theta

    def value(self, observation: Observation) -> Tensor:
        features, _ = self.linear(observation)
        return (torch.tensor([*features, 1.0]).double() * self.head).sum()

    def reference(self, observation: Observation) -> Tensor:
        return torch.log_softmax(torch.tensor(self.linear(observation)[1]).double(), -1)

    def learn(self, episodes: Sequence[Episode], seat: str, rng_path: tuple[int | str, ...]) -> None:
        """One update from complete episodes."""
        sequences: dict[int, list[Step]] = {}
        for number, episode in enumerate(episodes):
            for turn, one in zip(episode.turns[seat], episode.rounds, strict=True):
                assert one.payoffs is not None
                payoff = one.payoffs[seat]
                if payoff is not None:  # None: the co-player's illegal reply voided the round
                    step = Step(turn.observation, turn.reply.tokens[0], payoff, number)
                    sequences.setdefault(episode.game, []).append(step)
        steps = [step for sequence in sequences.values() for step in sequence]
        for step in steps:
            step.logprob = float(torch.log_softmax(self.logits(step.observation), -1)[step.reply].detach())
            step.value = float(self.value(step.observation).detach())
        rewards = self._rewards(steps)
        start = 0
        for sequence in sequences.values():
            self._advantages(sequence, rewards[start : start + len(sequence)])
            start += len(sequence)
        mean = sum(step.advantage for step in steps) / len(steps)
        variance = sum((step.advantage - mean) ** 2 for step in steps) / (len(steps) - 1)
        for step in steps:
            step.advantage = (step.advantage - mean) / math.sqrt(variance + 1e-8)
        for epoch in range(self.ppo.epochs):
            order = self.order(rng_path, epoch, len(steps))
            for first in range(0, len(steps), self.ppo.minibatch):
                self._step([steps[i] for i in order[first : first + self.ppo.minibatch]])
        self.updates += 1

    def _rewards(self, steps: Sequence[Step]) -> list[float]:
        scores = [step.score for step in steps]
        if self.ppo.score_scaling:
            self.scores += scores
            mean = float(np.mean(self.scores)) if self.ppo.score_normalisation else 0.0
            scores = [(score - mean) / float(np.std(self.scores, ddof=1)) for score in scores]
        kls = [step.logprob - float(self.reference(step.observation)[step.reply]) for step in steps]
        rewards = [penalised(score, kl, self.kl_coef) for score, kl in zip(scores, kls, strict=True)]
        mean_kl = sum(kls) / len(kls)
        self.metrics = {"kl": mean_kl, "kl_coef": self.kl_coef}
        if self.ppo.kl_adaptive:
            error = max(-0.2, min(0.2, mean_kl / self.ppo.kl_target - 1))
            self.kl_coef *= 1 + error * len(steps) / self.ppo.kl_horizon
        return rewards

    def _advantages(self, sequence: Sequence[Step], rewards: Sequence[float]) -> None:
        ppo = self.ppo

        def last(k: int) -> bool:
            if k + 1 == len(sequence):
                return True
            return ppo.gae_chain == "episode" and sequence[k + 1].episode != sequence[k].episode

        for t, step in enumerate(sequence):
            for k in range(t, len(sequence)):
                next_value = 0.0 if last(k) else sequence[k + 1].value
                delta = rewards[k] + ppo.gamma * next_value - sequence[k].value
                step.advantage += (ppo.gamma * ppo.lam) ** (k - t) * delta
                if last(k):
                    break
            step.target = step.advantage + step.value

    def _step(self, rows: Sequence[Step]) -> None:
        ppo = self.ppo
        since = self.updates - ppo.entropy_delay_updates
        fraction = min(1.0, max(0, since) / ppo.entropy_updates) if ppo.entropy_updates else float(since >= 0)
        entropy_coef = ppo.entropy_initial + fraction * (ppo.entropy_final - ppo.entropy_initial)
        total = torch.zeros((), dtype=torch.float64)
        ratios = []
        for row in rows:
            logits = self.logits(row.observation)
            logprob = torch.log_softmax(logits, -1)[row.reply]
            ratios.append(math.exp(float(logprob.detach()) - row.logprob))
            legal = torch.stack([logits[word] for word in self.legal])
            probs = torch.softmax(legal, -1)
            entropy = -(probs * probs.log()).sum()
            total = total + row_loss(row, logprob, self.value(row.observation), entropy, ppo, entropy_coef) / len(rows)
        if sum(ratios) / len(ratios) > ppo.ratio_threshold:
            return
        self.adam.zero_grad()
        self.head_adam.zero_grad()
        total.backward()
        if ppo.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_([self.theta], ppo.max_grad_norm)
        self.adam.param_groups[0]["lr"] = ppo.learning_rate * self.lr_factor()
        self.adam.step()
        self.head_adam.step()

    def lr_factor(self) -> float:
        """A trapezium: up to 1, down to what is left."""
        ppo, step = self.ppo, self.updates + 1
        if step < ppo.lr_warmup_updates:
            return step / ppo.lr_warmup_updates
        after = step - ppo.lr_warmup_updates
        if after >= ppo.lr_decay_updates:
            return ppo.lr_end_factor
        return 1.0 - (1.0 - ppo.lr_end_factor) * after / ppo.lr_decay_updates


def penalised(score: float, kl: float, kl_coef: float) -> float:
    """The reward of a reply whose log-probability is ``kl`` above the reference policy's (Ziegler et al. 2019, equation 2)."""
    return score - kl_coef * kl


def row_loss(row: Step, logprob: Tensor, value: Tensor, entropy: Tensor, ppo: PPO, entropy_coef: float) -> Tensor:
    """The loss of one transition: L_policy + c_VF L_value - c_S H (ShapeLLM, equation 7)."""
    ratio = torch.exp(logprob - row.logprob)
    clipped = torch.clamp(ratio, 1 - ppo.clip, 1 + ppo.clip)
    policy_loss = -torch.min(ratio * row.advantage, clipped * row.advantage)
    near = row.value + torch.clamp(value - row.value, -ppo.value_clip, ppo.value_clip)
    value_loss = torch.max((value - row.target) ** 2, (near - row.target) ** 2) / 2
    return policy_loss + ppo.value_coef * value_loss - entropy_coef * entropy
