"""PPO learners in row's seat of the IPD, small enough to reason about."""

from __future__ import annotations

from collections.abc import Sequence

from small_policies import IPD, RandomPlayer, play
from torch import Tensor

from coplay.games.memory import Memory
from coplay.games.records import Episode
from coplay.learners.ppo import PPOLearner
from coplay.learners.settings import PPO
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy

START = (0.6, 0.9, 0.3, 0.7, 0.4)
"""P(cooperate) at the start, then after each joint action."""

SHARING = 0.5

BUSY = PPO(
    learning_rate=0.05,
    head_learning_rate=0.02,
    value_coef=0.3,
    minibatch=7,
    epochs=2,
    clip=0.1,
    gamma=0.97,
    score_scaling=True,
    kl_coef=0.5,
    kl_target=0.05,
    kl_horizon=200.0,
    entropy_initial=0.3,
    entropy_final=0.1,
    entropy_updates=3,
)
"""Everything turned on, at rates that move things."""


def tabular_policy(
    slots: int = 1, *, sharing: float = SHARING, memory: Memory = Memory.LAST_ROUND, start: tuple[float, ...] = START
) -> TabularPolicy:
    initial = InitialPolicy(start[0], start[1:])
    return TabularPolicy("naive", IPD, "row", memory, slots=slots, sharing=sharing, initial=initial)


def make_learner(policy: Policy, ppo: PPO, *, seeds: Sequence[int] = (0,), name: str = "row") -> PPOLearner:
    return PPOLearner(name, policy, seeds=seeds, slots=range(len(seeds)), ppo=ppo)


def theta_of(learner: PPOLearner, position: int = 0) -> Tensor:
    return learner.policy.parameters()[0].detach()[position].clone()


def all_weights(learner: PPOLearner) -> list[Tensor]:
    return [learner.policy.parameters()[0].detach().clone(), learner.heads.weights.detach().clone()]


def episodes_of(learner: PPOLearner, *, rounds: int = 4, seeds: Sequence[int] = (0,)) -> list[Episode]:
    """Two games a seed against a random player."""
    return play(learner, RandomPlayer(), games=2, rounds=rounds, seeds=seeds)
