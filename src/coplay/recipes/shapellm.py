"""ShapeLLM's experiments (Opponent Shaping in LLM Agents, ICLR 2026) as recipes.

Every variant is stated as a difference: the shaper is the naive learner with the memory of a trial, updated once a trial, slower.
"""

from __future__ import annotations

from typing import Literal

from coplay.config import PPO, Config, Seat
from coplay.games.memory import Memory

NAIVE_PAPER = PPO(
    learning_rate=1.41e-6,
    value_coef=0.2,
    minibatch=10,
    epochs=1,
    score_scaling=True,
)
"""Table 7. What the table gives as TRL's default is :class:`coplay.config.PPO`'s default."""

SHAPER_PAPER = NAIVE_PAPER.model_copy(update={"learning_rate": 1.41e-7, "value_coef": 1e-3, "clip": 1e-4})
"""Tables 8 and 9, the IPD's row of section 5.1."""

NAIVE_TINY = NAIVE_PAPER.model_copy(
    update={"learning_rate": 2e-3, "head_learning_rate": 1e-2, "value_gradient": "head", "kl_coef": 0.02}
)
"""Tuned for the embedded model; the recipe page says how."""

SHAPER_TINY = NAIVE_TINY.model_copy(update={"learning_rate": 2.5e-5, "minibatch": 50, "lam": 0.8})
"""The tiny naive learner, eighty times slower and with less noise in its gradient: fewer, larger minibatches and a shorter trace."""

NAIVE_TABULAR = NAIVE_TINY.model_copy(update={"learning_rate": 0.01, "head_learning_rate": 0.05})
"""Tuned for tabular learners."""

SHAPER_TABULAR = NAIVE_TABULAR.model_copy(update={"learning_rate": 5e-4, "minibatch": 50, "lam": 0.8})
"""The tabular naive learner, slower, with less noise in its gradient."""

PAPER_TRIALS = 250
"""The paper says 200 to 300."""

TINY_TRIALS = 140
"""How long the shaper steers the embedded model: see the recipe's page on why this is a setting of the result."""

TABULAR_TRIALS = 120
"""Likewise for tabular learners."""

BASELINE_TRIALS = 60
"""Two naive learners have long settled by then."""

NAIVE_START = (0.60, 0.89, 0.89, 0.70, 0.68)
"""Where tabular naive learners start: Table 14, labels H and K. P(cooperate) at the start, after CC, CD, DC, DD."""

SHAPER_START = (0.60, 0.88, 0.12, 0.85, 0.20)
"""Where tabular shapers start: reciprocal, as the embedded model is in prompts that show counts."""


def ipd(
    scale: Literal["tiny", "paper"] = "tiny", learner: Literal["language_model", "tabular"] = "language_model"
) -> Config:
    """Shaper versus naive learner (section 5.1)."""
    tabular = learner == "tabular"
    naive_ppo, shaper_ppo = (NAIVE_TINY, SHAPER_TINY) if scale == "tiny" else (NAIVE_PAPER, SHAPER_PAPER)
    if tabular:
        naive_ppo, shaper_ppo = NAIVE_TABULAR, SHAPER_TABULAR
    naive = Seat(role="naive", learner=learner, ppo=naive_ppo, initial=NAIVE_START if tabular else None)
    shaper = naive.model_copy(
        update={
            "role": "shaper",
            "memory": Memory.TRIAL_COUNTS,
            "update": "trial",
            "ppo": shaper_ppo,
            "initial": SHAPER_START if tabular else None,
        }
    )
    paper = scale == "paper" and not tabular
    return Config(
        recipe="shapellm/ipd",
        game="ipd",
        model="google/gemma-2-2b-it" if paper else "tiny",
        four_bit=paper,
        trials=PAPER_TRIALS if paper else TABULAR_TRIALS if tabular else TINY_TRIALS,
        row=shaper,
        column=naive,
        threads=1 if tabular else None,
    )


def ipd_baseline(
    scale: Literal["tiny", "paper"] = "tiny", learner: Literal["language_model", "tabular"] = "language_model"
) -> Config:
    """Two naive learners: the shaping experiment with the naive learner in both seats."""
    config = ipd(scale, learner)
    trials = config.trials if config.model != "tiny" else BASELINE_TRIALS
    return config.model_copy(update={"recipe": "shapellm/ipd-baseline", "row": config.column, "trials": trials})
