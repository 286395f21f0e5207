"""Settings: at ``paper`` Table 1's, to the letter; at ``tiny`` those tuned for the embedded model."""

from __future__ import annotations

from collections.abc import Mapping

Settings = Mapping[str, object]
"""Values by key, dots for nesting."""

ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Every linear layer of a block."""

PAPER: Settings = {
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "learner.memory": "chat",
    "learner.max_tokens": 400,
    "learner.temperature": 1.0,
    "rounds": 10,
    "games": 64,
    "group_size": 8,
    "trials": 1000,
    "adapter.rank": 32,
    "adapter.alpha": 64.0,
    "adapter.targets": ALL_LINEAR,
    "learner.group.learning_rate": 3e-6,
    "learner.group.max_grad_norm": 1.0,
    "learner.group.importance_cap": 2.0,
    "past_selves.snapshot_interval": 10,
    "past_selves.pool_size": 30,
}
"""What Table 1 says of all games; it does not say how many iterations, how groups are cut and when snapshots are taken, which are the
published code's."""

PAPER_GAMES: Mapping[str, Settings] = {
    "ipd-ab": {
        "games": 128,
        "group_size": 128,
        "learner.group.reward_scale": 5.0,
        "learner.group.entropy_coef": 0.01,
        "learner.group.kl_coef": 0.0,
        "learner.group.discount": 0.9,
        "learner.group.beta": 0.5,
        "learner.group.alignment_discount": 0.9,
    },
    "split-no-comm": {
        "learner.group.reward_scale": 100.0,
        "learner.group.kl_coef": 0.001,
        "learner.group.discount": 0.9,
        "learner.group.beta": 1.0,
        "learner.group.alignment_discount": 0.9,
    },
    "trust-and-split": {
        "learner.group.reward_scale": 100.0,
        "learner.group.kl_coef": 0.001,
        "learner.group.discount": 0.96,
        "learner.group.beta": 2.0,
        "learner.group.alignment_discount": 0.96,
    },
}
"""What it says of each. Nothing is dealt in the dilemma, so all its games are one group."""

PAPER_EXPLOITERS: Mapping[str, Settings] = {"trust-and-split": {"learner.group.kl_coef": 0.0}}
"""Where Table 2, on learners against a fixed opponent, differs from Table 1; the paper has them in one game alone."""

TINY: Settings = {
    "model": "tiny-talk",
    "learner.memory": "last_round",
    "learner.max_tokens": 16,
    "games": 64,
    "trials": 60,
    "adapter.rank": 8,
    "adapter.alpha": 16.0,
    "learner.group.learning_rate": 5e-3,
    "past_selves.pool_size": 8,
    "checkpoint_every": 25,
}
"""Where the embedded model's settings differ from the paper's, in all games."""

TINY_GAMES: Mapping[str, Settings] = {
    "ipd-ab": {"games": 64, "group_size": 64, "trials": 80, "learner.group.adam_eps": 3e-4},
    "split-no-comm": {
        "learner.group.adam_eps": 1e-4,
        "learner.group.max_grad_norm": 0.02,
        "learner.group.kl_coef": 0.01,
    },
    "trust-and-split": {
        "learner.memory": "last_choice",
        "games": 128,
        "trials": 20,
        "learner.temperature": 0.8,
        "learner.group.learning_rate": 1e-2,
        "learner.group.lr_decay_updates": 40,
        "learner.group.lr_end_factor": 0.3,
        "learner.group.adam_eps": 1e-5,
        "learner.group.max_grad_norm": 0.008,
        "learner.group.parse_error_penalty": 100.0,
    },
}
"""The same, by game."""

TINY_ALIGNMENT: Mapping[str, Settings] = {
    "trust-and-split": {"learner.group.adam_eps": 3e-5, "learner.group.kl_coef": 0.01},
}
"""Where Advantage Alignment's differ from these: its credits are noisier, and with the others' steps a tuning seed turned to defection."""

TINY_TRIALS: Mapping[str, int] = {"trust-and-split": 40, "trust-and-split-grpo": 50, "trust-and-split-grpo-second": 50}
"""By recipe, how long it takes until tuning seeds have settled, where that is longer than in the game's other arms."""
