"""Settings: at ``paper`` those of section 4, to the letter; at ``tiny`` those for small models and tables."""

from __future__ import annotations

from collections.abc import Mapping

from coplay.games.safety import Weights
from coplay.recipes.kinds import Scale
from coplay.recipes.sepo.warm_start import SETTINGS

Settings = Mapping[str, object]
"""Values by key, dots for nesting."""


def continued(scale: Scale) -> Settings:
    """The adapter's shape at a scale: that of the warm start, which learners continue."""
    return {f"adapter.{key}": value for key, value in SETTINGS[scale].adapter.form.items()}


WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    "ipd-8": (2.4, 1.0, 1.8),
    "auction": (1.2, 1.0, 1.8),
    "negotiation-v1": (3.0, 2.0, 1.8),
    "negotiation-v2": (3.0, 2.0, 1.8),
    "kuhn": (1.5, 0.0, 0.0),
}
"""Table 1: lambda of exploitability, collusion and externality, in training."""


def table_1(game: str) -> Weights:
    """A game's weights by name."""
    exploit, collusion, externality = WEIGHTS[game]
    return {"exploit": exploit, "collusion": collusion, "externality": externality}


TITLES: Mapping[str, str] = {
    "ipd-8": "Iterated Prisoner's Dilemma of eight rounds",
    "auction": "repeated sealed-bid auction",
    "negotiation-v1": "negotiation about a pie",
    "negotiation-v2": "negotiation about three items with private values",
    "kuhn": "Kuhn poker",
}
"""The paper's games."""

PAPER: Settings = {
    "model": "google/gemma-4-E4B-it",
    "learner.memory": "chat",
    "learner.max_tokens": 256,
    "learner.temperature": 0.8,
    "learner.group.learning_rate": 1e-5,
    "learner.group.max_grad_norm": 1.0,
    "learner.group.clip": 0.2,
    "learner.group.kl_coef": 0.01,
    "learner.group.kl_estimator": "one_sided",
    "learner.group.normalise": "round",
    "learner.group.discount": 0.0,
    "group_size": 2,
    "trials": 100,
    "checkpoint_every": 25,
    "held_out_games": 20,
    "eval_games": 20,
    "select": "held_out",
    **continued("paper"),
}
"""Sections 3.5 and 4. Where appendix H has another number, see :data:`APPENDIX`."""

PAPER_GAMES: Mapping[str, Settings] = {
    "kuhn": {"learner.group.learning_rate": 3e-6, "learner.group.kl_coef": 0.2},
}
"""Where a game differs (section 3.5)."""

SMALL_BETA: Settings = {"learner.group.kl_coef": PAPER["learner.group.kl_coef"]}
"""The KL weight of the other games, for Kuhn poker."""

LESS_NOISE: Settings = {
    "learner.group.normalise": "none",
    "group_size": 16,
    "learner.group.parse_error_penalty": 3.0,
}
"""For comparing exploit pools: in a game of chance a group's deviation is mostly that of luck, and division by it makes noise as large as signal.
Replies that cannot be parsed are priced, at a mutual cooperation, or they drift in."""

APPENDIX: Settings = {
    "group_size": 4,
    "learner.max_tokens": 512,
    "learner.group.kl_coef": 0.1,
    "learner.group.clip": 0.2,
    "learner.group.epochs": 5,
    "learner.group.epochs_kl": 0.5,
}
"""Table 17, where it contradicts section 4 or adds to it: rollouts per opponent, tokens, KL weight; the refresh after 5 steps or a KL above 0.5,
read as optimiser steps on the games of an update, which take the clip."""

APPENDIX_GAMES: Mapping[str, Settings] = {"kuhn": {"learner.group.kl_coef": 0.2}}
"""Where a game differs (Table 17's footnote)."""

TINY: Settings = {
    "model": "tiny-reason",
    "learner.memory": "last_round",
    "learner.max_tokens": 16,
    "learner.group.learning_rate": 1e-3,
    "group_size": 4,
    "trials": 40,
    "checkpoint_every": 10,
    "held_out_games": 10,
    "eval_games": 40,
    **continued("tiny"),
}
"""Where a small model's settings differ from the paper's. The embedded model's replies have up to
10 tokens; a model that writes its own sentences needs more (``learner.max_tokens``)."""

TINY_GAMES: Mapping[str, Settings] = {
    "ipd-8": {"held_out_samples": 100},
    "auction": {"held_out_samples": 30},
    "negotiation-v1": {"held_out_samples": 30},
    "kuhn": {"learner.memory": "none", "held_out_samples": 200},
}
"""Where a game differs. Hands of poker are independent: a learner that sees one alone can be measured without the luck of the deal."""

TABULAR: Settings = {
    "learner.memory": "last_round",
    "learner.group.learning_rate": 0.05,
    "learner.group.max_grad_norm": None,
    "learner.group.discount": 1.0,
    "group_size": 8,
    "trials": 200,
    "checkpoint_every": 10,
    "held_out_games": 20,
}
"""On tables: more rollouts, returns instead of a round's own payoff (the paper's credit has no effect of an action on later rounds), and no
division by a deviation."""

TABULAR_GAMES: Mapping[str, Settings] = {"kuhn": {"learner.memory": "none"}}
"""Where a game differs, for the same reason."""
