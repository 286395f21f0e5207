"""The settings of a learner: what it is made of, what it is shown, how and when it learns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, field_validator, model_validator

from coplay.games.memory import WINDOW_ROUNDS, Memory
from coplay.learners.settings import (
    DQN,
    PPO,
    Algorithm,
    ExactGradient,
    FloatTuple,
    GroupGradient,
    IntTuple,
    Lola,
    QLearning,
    Reinforce,
    StrictModel,
    StrTuple,
)

TABLES = ("q_learning", "reinforce", "exact", "lola")
"""Algorithms that learn tables alone."""


class LearnerConfig(StrictModel):
    """A player that learns: what it is made of, what it is shown, how and when it learns."""

    role: str = "learner"
    """Name in reports, e.g. ``shaper``."""
    policy: Literal["language_model", "tabular", "network"] = "language_model"
    """What is trained: an adapter of the run's language model, a table, or a network on the game's features."""
    replies: Literal["choice", "text"] | None = None
    """How a language model replies: one token, the label of an action (``choice``), or generated text (``text``). None for the game's own way."""
    memory: Memory = Memory.LAST_ROUND
    """How much of the past it is shown."""
    window: int = Field(WINDOW_ROUNDS, ge=1, le=10**9)
    """H, the rounds that ``memory=window`` shows."""
    hidden: IntTuple = Field((256, 128, 64), min_length=1, max_length=10)
    """Networks: widths of the hidden layers, each linear, LayerNorm, ReLU."""
    algorithm: Algorithm = "ppo"
    """How it learns: ``ppo``, ``group`` (GRPO, sum of rewards, Advantage Alignment), for networks also ``dqn``, or for tables ``q_learning``,
    ``reinforce``, ``exact`` or ``lola``."""
    update: Literal["round", "episode", "trial", "never"] = "episode"
    """When it takes its optimiser steps: after every round, episode or trial, or never."""
    reset: Literal["never", "trial"] = "never"
    """When it is put back to where the run began, with all that it has learnt: never, or at the start of every trial."""
    labels: StrTuple | None = None
    """Action labels in its prompts; None for the game's."""
    max_tokens: int = Field(400, ge=1, le=10**6)
    """Largest number of tokens of a generated reply."""
    temperature: float = Field(1.0, gt=0)
    """Sampling temperature of generated replies: logits are divided by it."""
    fallback: bool = False
    """Whether a language model whose reply in text names no action is then made to choose one, in a second turn in which only the actions are
    allowed. What it chooses is played and not learnt from; metrics count it as ``fallback``."""
    init_adapter: str | None = None
    """Language models: directory of a PEFT adapter that it starts from; None for the run's ``adapter.init_adapter``."""
    sharing: float = Field(0.8, ge=0, le=1)
    """Tabular learners: how much the memory states share, from 0 (each learns alone) to 1."""
    initial: FloatTuple | None = None
    """Tabular learners: P(first action) at the start and after each joint action; None for uniform."""
    reciprocity: float = Field(1.0, ge=0, le=1)
    """Tabular learners: how much of ``initial``'s answer to the co-player's last action is kept, from 0 (none) to 1 (all)."""
    ppo: PPO = PPO()
    """Settings of ``algorithm=ppo``."""
    group: GroupGradient = GroupGradient()
    """Settings of ``algorithm=group``."""
    dqn: DQN = DQN()
    """Settings of ``algorithm=dqn``."""
    q: QLearning = QLearning()
    """Settings of ``algorithm=q_learning``."""
    reinforce: Reinforce = Reinforce()
    """Settings of ``algorithm=reinforce``."""
    exact: ExactGradient = ExactGradient()
    """Settings of ``algorithm=exact``."""
    lola: Lola = Lola()
    """Settings of ``algorithm=lola``."""

    @field_validator("initial")
    @classmethod
    def _probabilities(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value is not None and not all(0.0 < p < 1.0 for p in value):
            raise ValueError("every probability must lie strictly between 0 and 1")
        return value

    @field_validator("hidden")
    @classmethod
    def _widths(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not all(1 <= width <= 4096 for width in value):
            raise ValueError("every hidden layer must be 1 to 4096 wide")
        return value

    @model_validator(mode="after")
    def _fits(self) -> LearnerConfig:
        for problem in _misfits(self):
            raise ValueError(problem)
        return self


MEMORIES_OF: dict[str, tuple[Memory, ...]] = {
    "q_learning": (Memory.NONE, Memory.LAST_ROUND),
    "exact": (Memory.LAST_ROUND,),
    "lola": (Memory.LAST_ROUND,),
}
"""The memories that algorithms for small tables can have; other algorithms can have any."""

MEMORIES_OF_NETWORKS = (Memory.NONE, Memory.LAST_ROUND, Memory.WINDOW)
"""What a network can be shown of the past."""


def _misfits(learner: LearnerConfig) -> Iterator[str]:
    """What an algorithm cannot be combined with, and what to do about it."""
    algorithm = learner.algorithm
    if algorithm in TABLES and learner.policy != "tabular":
        yield (
            f"algorithm={algorithm} is for policy=tabular; a policy={learner.policy} learns with algorithm=ppo or group."
            " Set policy=tabular, or algorithm=ppo"
        )
    if algorithm == "dqn" and learner.policy != "network":
        yield f"algorithm=dqn is for policy=network, not {learner.policy}. Set policy=network, or algorithm=ppo"
    memories = MEMORIES_OF.get(algorithm, tuple(Memory))
    if learner.memory not in memories:
        yield f"algorithm={algorithm} needs memory={' or '.join(memories)}, not {learner.memory}"
    if learner.policy == "network" and learner.memory not in MEMORIES_OF_NETWORKS:
        yield f"policy=network needs memory={' or '.join(MEMORIES_OF_NETWORKS)}, not {learner.memory}"
    if learner.update == "round" and algorithm != "q_learning":
        yield f"update=round is for algorithm=q_learning; with algorithm={algorithm} choose episode, trial or never"
    if algorithm == "q_learning" and learner.initial is not None:
        yield "algorithm=q_learning starts from q.initial_value and has no initial policy; set initial=null"
    if learner.reciprocity != 1 and learner.initial is None:
        yield "reciprocity scales the answers of an initial policy; set initial, or leave reciprocity=1"
    if learner.init_adapter is not None and learner.policy != "language_model":
        yield f"init_adapter is the start of a language model, not of policy={learner.policy}; leave it out"
    if learner.reset == "trial" and learner.update in ("trial", "never"):
        yield (
            f"reset=trial is for learners that learn within a trial; with update={learner.update} nothing they learn would ever be"
            " played. Set update=episode, or reset=never"
        )
