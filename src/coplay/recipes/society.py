"""A society as a recipe: one player that shapes, one that learns naively, one with a safety objective, and a mediator that learns whom to write to.

Each is a learner of the papers with its own clock; that they share a game is a matter of seats. A starting point, tuned for no game in particular.
"""

from __future__ import annotations

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.catalogue import GameSpec, config_game
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.presets import CONTROLLER
from coplay.learners.settings import PPO, GroupGradient, SafetyTerms
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.shapellm.settings import (
    NAIVE_PAPER,
    NAIVE_TABULAR,
    NAIVE_TINY,
    SHAPER_TABULAR,
    SHAPER_TINY,
    SHAPERS_PAPER,
)
from coplay.runs.config import Config
from coplay.runs.pools import POOLS, Pools

DEFAULT_GAME = "ipd-3:talk=0,shared=true+mediator"
"""What is played if no game is named: three seats, one decision a round."""

DESCRIPTION = "Any game of three seats and a mediator: a shaper, a naive learner, one with a safety objective, and a mediator, all learning."
"""One sentence for a person."""

GROUP_SIZE = 8
"""Games in which the second seat has the same co-player."""


def society(game: GameSpec, scale: Scale, learner: LearnerKind) -> Config:
    """A shaper, a naive learner and a safe one in this order of seats, and a mediator that is a network.

    The naive learner shares its seat with the co-players by which the safety objective is measured: groups of games take them in turn.
    """
    rules = make_game(game)
    if len(rules.seats) != 4 or rules.seats[-1] != MEDIATOR:
        raise UsageError(
            f"any/society seats a shaper, a naive learner, a safe one and a mediator; game {rules.name!r} has the seats"
            f" {', '.join(rules.seats)}. Try --game {DEFAULT_GAME}"
        )
    first, second, third, mediator = rules.seats
    naive_ppo, shaper_ppo, rate = _settings(scale, learner)
    base = LearnerConfig(policy=learner, memory=Memory.LAST_ROUND, max_tokens=64)
    learners = {
        "shaper": {"role": "shaper", "memory": Memory.TRIAL_COUNTS, "update": "trial", "ppo": shaper_ppo},
        "naive": {"role": "naive", "ppo": naive_ppo},
        "safe": {
            "role": "safe",
            "algorithm": "group",
            "update": "trial",
            "group": GroupGradient(method="grpo", learning_rate=rate, safety=SafetyTerms(exploit=1.0)),
        },
        "mediator": {
            "role": "mediator",
            "policy": "network",
            "memory": Memory.WINDOW,
            "update": "trial",
            "ppo": CONTROLLER,
        },
    }
    seats = {first: ("shaper",), second: ("naive", POOLS), third: ("safe",), mediator: ("mediator",)}
    pools = Pools(train=("tit_for_tat",), exploit=("always_defect",))
    return Config(
        recipe="any/society",
        model="tiny-talk" if scale == "tiny" or learner == "tabular" else "google/gemma-2-2b-it",
        game=config_game(game),
        trials=60,
        episodes=4,
        rounds=min(rules.rounds, 20),
        games=3 * GROUP_SIZE,
        group_size=GROUP_SIZE,
        learners={name: base.model_copy(update=changes) for name, changes in learners.items()},
        seats=seats,
        pools=pools,
    )


def _settings(scale: Scale, learner: LearnerKind) -> tuple[PPO, PPO, float]:
    """PPO of the naive learner and of the shaper, and the safe learner's rate."""
    if learner == "tabular":
        return NAIVE_TABULAR, SHAPER_TABULAR, 0.05
    if scale == "tiny":
        return NAIVE_TINY, SHAPER_TINY, 5e-3
    row = SHAPERS_PAPER["ipd"]
    changes = {"learning_rate": row.learning_rate, "value_coef": row.value_coef, "clip": row.clip}
    return NAIVE_PAPER, NAIVE_PAPER.model_copy(update=changes), 3e-6
