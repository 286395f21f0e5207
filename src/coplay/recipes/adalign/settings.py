"""Settings: at ``paper`` Table 1's, to the letter; at ``tiny`` those tuned for the embedded model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]
"""Values by key, dots for nesting."""

ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Every linear layer of a block."""

PAPER: Settings = {
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "past": "chat",
    "longest": 400,
    "temperature": 1.0,
    "rounds": 10,
    "games": 64,
    "group_size": 8,
    "trials": 1000,
    "adapter.rank": 32,
    "adapter.alpha": 64.0,
    "adapter.targets": ALL_LINEAR,
    "learner.learning_rate": 3e-6,
    "learner.max_grad_norm": 1.0,
    "learner.importance_cap": 2.0,
    "past_selves.every": 10,
    "past_selves.kept": 30,
}
"""What Table 1 says of all games; it does not say how many iterations, how groups are cut and when snapshots are taken, which are the
published code's."""

PAPER_GAMES: Mapping[str, Settings] = {
    "ipd-ab": {
        "games": 128,
        "group_size": 128,
        "learner.reward_constant": 5.0,
        "learner.entropy_coef": 0.01,
        "learner.kl_coef": 0.0,
        "learner.discount": 0.9,
        "learner.beta": 0.5,
        "learner.alignment_discount": 0.9,
    },
    "split-no-comm": {
        "learner.reward_constant": 100.0,
        "learner.kl_coef": 0.001,
        "learner.discount": 0.9,
        "learner.beta": 1.0,
        "learner.alignment_discount": 0.9,
    },
    "trust-and-split": {
        "learner.reward_constant": 100.0,
        "learner.kl_coef": 0.001,
        "learner.discount": 0.96,
        "learner.beta": 2.0,
        "learner.alignment_discount": 0.96,
    },
}
"""What it says of each. Nothing is dealt in the dilemma, so all its games are one group."""

PAPER_EXPLOITERS: Mapping[str, Settings] = {"trust-and-split": {"learner.kl_coef": 0.0}}
"""Where Table 2, on learners against a fixed opponent, differs from Table 1; the paper has them in one game alone."""

TINY: Settings = {
    "model": "tiny-talk",
    "past": "last_round",
    "longest": 16,
    "games": 64,
    "trials": 60,
    "adapter.rank": 8,
    "adapter.alpha": 16.0,
    "learner.learning_rate": 5e-3,
    "past_selves.kept": 8,
    "checkpoint_every": 25,
}
"""Where the embedded model's settings differ from the paper's, in all games."""

TINY_GAMES: Mapping[str, Settings] = {
    "ipd-ab": {"games": 64, "group_size": 64, "trials": 80, "learner.adam_eps": 3e-4},
    "split-no-comm": {"learner.adam_eps": 1e-4, "learner.max_grad_norm": 0.02, "learner.kl_coef": 0.01},
    "trust-and-split": {
        "trials": 80,
        "learner.learning_rate": 1e-2,
        "learner.decay_updates": 80,
        "learner.final_rate": 0.3,
        "learner.adam_eps": 3e-5,
        "learner.max_grad_norm": 0.008,
        "learner.kl_coef": 0.01,
        "learner.price": 100.0,
    },
}
"""The same, by game."""
