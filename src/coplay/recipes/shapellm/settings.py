"""ShapeLLM's hyper-parameters: the paper's to the letter, and those tuned for small learners.

Every setting is a difference: the shaper is the naive learner with the memory of a trial, updated once a trial, slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coplay.learners.settings import PPO

NAIVE_PAPER = PPO(learning_rate=1.41e-6, value_coef=0.2, minibatch=10, epochs=1, score_scaling=True)
"""Table 7. What the table gives as TRL's default is :class:`coplay.runs.config.PPO`'s default."""

NAIVE_PAPER_CHANGES: Mapping[str, Mapping[str, object]] = {
    "imp": {"learning_rate": 1.41e-7, "value_coef": 0.05},
    "ipd-second-model": {"value_coef": 1e-2},
}
"""Where naive learners depart from Table 7: footnote 7 (all matching pennies), and appendix A.9 (Llama)."""


@dataclass(frozen=True)
class ShaperRow:
    """A row of Table 9 or Table 12."""

    learning_rate: float
    """lr."""
    value_coef: float
    """c_VF."""
    clip: float
    """epsilon_p."""
    entropy_initial: float = 0.0
    """c_S at the beginning; it ends at 0."""
    entropy_updates: int = 0
    """T_S, the updates over which it gets there."""


SHAPERS_PAPER: Mapping[str, ShaperRow] = {
    "ipd": ShaperRow(1.41e-7, 1e-3, 1e-4),
    "imp": ShaperRow(3.41e-7, 1e-3, 0.2),
    "icg": ShaperRow(1.41e-7, 1e-3, 0.2),
    "ipd-opponent-75": ShaperRow(1.41e-7, 1e-3, 0.2),
    "ipd-opponent-50": ShaperRow(1.41e-7, 5e-4, 5e-3),
    "ipd-opponent-25": ShaperRow(1.41e-7, 3e-3, 1e-4),
    "imp-opponent-75": ShaperRow(4.41e-7, 1e-3, 0.2),
    "imp-opponent-50": ShaperRow(4.41e-7, 1e-3, 0.2),
    "imp-opponent-25": ShaperRow(6.41e-7, 1e-3, 0.2),
    "icg-opponent-75": ShaperRow(1.41e-7, 1e-3, 0.2),
    "icg-opponent-50": ShaperRow(1.41e-7, 1e-3, 0.2),
    "icg-opponent-25": ShaperRow(6.41e-8, 1e-3, 0.2),
    "c-ipd": ShaperRow(8.41e-8, 5e-5, 0.2),
    "ish": ShaperRow(8.41e-8, 1e-3, 0.2),
    "ipd-table-format": ShaperRow(1.41e-7, 1e-3, 1e-5),
    "imp-table-format": ShaperRow(2.41e-7, 1e-3, 0.2),
    "icg-table-format": ShaperRow(1.41e-7, 1e-3, 0.2),
    "ipd-switched-order": ShaperRow(6.41e-7, 1e-3, 0.2, entropy_initial=0.1, entropy_updates=25),
    "imp-switched-order": ShaperRow(6.41e-6, 1e-3, 0.2),
    "icg-switched-order": ShaperRow(1.41e-7, 1e-3, 0.2, entropy_initial=0.7, entropy_updates=25),
    "ipd-second-model": ShaperRow(3.41e-7, 1e-4, 0.1),
}
"""Tables 9 and 12 and appendix A.9, by recipe. Whatever is not here has its game's row."""

NAIVE_TINY = NAIVE_PAPER.model_copy(
    update={
        "learning_rate": 1.2e-2,
        "lr_warmup_updates": 100,
        "lr_decay_updates": 150,
        "lr_end_factor": 0.01,
        "head_learning_rate": 1e-2,
        "value_gradient": "head",
        "kl_coef": 0.02,
        "adam_eps": 3e-2,
        "max_grad_norm": 1.0,
    }
)
"""Tuned for the embedded model; the recipe page says how."""

SHAPER_TINY = NAIVE_TINY.model_copy(
    update={
        "learning_rate": 4e-5,
        "lr_warmup_updates": 0,
        "lr_decay_updates": 0,
        "lr_end_factor": 1.0,
        "minibatch": 50,
        "lam": 0.8,
        "adam_eps": 1e-8,
        "max_grad_norm": None,
    }
)
"""The tiny naive learner, slower and with less noise in its gradient: fewer, larger minibatches and a shorter trace."""

NAIVE_TABULAR = NAIVE_TINY.model_copy(
    update={
        "learning_rate": 0.01,
        "lr_warmup_updates": 0,
        "lr_decay_updates": 0,
        "lr_end_factor": 1.0,
        "head_learning_rate": 0.05,
        "adam_eps": 1e-8,
        "max_grad_norm": None,
    }
)
"""Tuned for tabular learners."""

SHAPER_TABULAR = NAIVE_TABULAR.model_copy(update={"learning_rate": 5e-4, "minibatch": 50, "lam": 0.8})
"""The tabular naive learner, slower, with less noise in its gradient."""

PAPER_TRIALS = 250
"""The paper says 200 to 300."""


@dataclass(frozen=True)
class Tuned:
    """What was tuned for one game or recipe, as differences from the settings above."""

    naive: Mapping[str, object]
    """Of the naive learner, the same in every arm of the game."""
    shaper: Mapping[str, object]
    """Of the shaper."""
    trials: int
    """How long the shaper steers: see the recipe's page on why this is a setting of the result."""
    baseline_trials: int
    """How long two naive learners play; they settle sooner."""


_LATE_TURN: Mapping[str, object] = {"learning_rate": 6e-5, "lr_warmup_updates": 60}
"""A shaper that stays as it is until its opponent has settled: it then turns against one that no longer tries anything else."""

_QUARTER: Mapping[str, object] = {"learning_rate": 3e-3, "lr_warmup_updates": 400, "lr_decay_updates": 600}
"""A naive learner that learns a quarter as fast, for four times as long."""

EARLIER = "-earlier"
"""What follows a game's name for the settings that its published explanations were found with."""

TINY: Mapping[str, Tuned] = {
    "ipd": Tuned({}, _LATE_TURN, 120, 60),
    "imp": Tuned(
        {"learning_rate": 5e-4, "lr_warmup_updates": 0, "lr_decay_updates": 300}, {"learning_rate": 1e-4}, 120, 60
    ),
    "icg": Tuned(_QUARTER, {"learning_rate": 1e-4, "lr_warmup_updates": 80}, 200, 200),
    "icg-switched-order": Tuned(
        _QUARTER, {"learning_rate": 1e-4, "entropy_initial": 0.7, "entropy_updates": 25}, 200, 200
    ),
    f"icg{EARLIER}": Tuned({}, {}, 60, 60),
    "c-ipd": Tuned(_QUARTER, {"learning_rate": 8e-5, "lr_warmup_updates": 200}, 240, 240),
    f"c-ipd{EARLIER}": Tuned({}, _LATE_TURN, 120, 60),
    "ish": Tuned({}, {}, 60, 60),
}
"""For the embedded model, by recipe; whatever is not here has its game's, or the IPD's."""

TABULAR: Mapping[str, Tuned] = {"ipd": Tuned({}, {}, 120, 60)}
"""For tabular learners."""

ALIGNMENT_RATES: Mapping[Literal["tiny", "paper"], float] = {"tiny": 3e-3, "paper": 2e-4}
"""Rate at which the second model is aligned to the first (appendix A.9), by scale. The paper does not print its own."""
