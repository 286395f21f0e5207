"""ShapeLLM's experiments (Opponent Shaping in LLM Agents, ICLR 2026) as recipes.

Every variant is stated as a difference: the shaper is the naive learner with the memory of a trial, updated once a trial, slower.
"""

from __future__ import annotations

from coplay.config import PPO, Config, Seat
from coplay.games.memory import Memory

NAIVE_PAPER = PPO(
    learning_rate=1.41e-6,
    value_coef=0.2,
    minibatch=10,
    epochs=1,
    score_scaling=True,
)
"""Table 7. What it does not mention is TRL's default, as in :class:`coplay.config.PPO`."""

SHAPER_PAPER = NAIVE_PAPER.model_copy(update={"learning_rate": 1.41e-7, "value_coef": 1e-3, "clip": 1e-4})
"""Tables 8 and 9, the IPD's row."""

NAIVE_TINY = NAIVE_PAPER.model_copy(
    update={"learning_rate": 1e-3, "head_learning_rate": 1e-2, "value_gradient": "head", "kl_coef": 0.2}
)
"""Tuned for the embedded model; how, is told in docs/recipes/shapellm.md."""

SHAPER_TINY = NAIVE_TINY.model_copy(update={"learning_rate": 1e-5})
"""The naive learner, slower."""


def ipd() -> Config:
    """Shaper versus naive learner, tiny."""
    return Config(
        recipe="shapellm/ipd",
        game="ipd",
        trials=300,
        row=Seat(role="shaper", memory=Memory.TRIAL_COUNTS, update="trial", ppo=SHAPER_TINY),
        column=Seat(role="naive", ppo=NAIVE_TINY),
    )


def ipd_baseline() -> Config:
    """Two naive learners."""
    config = ipd()
    return config.model_copy(update={"recipe": "shapellm/ipd-baseline", "row": config.column, "trials": 100})
