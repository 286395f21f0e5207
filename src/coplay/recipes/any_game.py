"""Recipes for any game, yours too: a learner in every seat, or one learner in all of them. Starting points, tuned for no game in particular."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coplay.games import make_game
from coplay.games.catalogue import GameSpec, config_game
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import GroupGradient, Method, QLearning
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.shapellm.settings import NAIVE_PAPER, NAIVE_TABULAR, NAIVE_TINY
from coplay.runs.config import Config, PastSelves

DEFAULT_GAME = "ipd"
"""What these recipes play if no game is named."""

TABULAR = NAIVE_TABULAR.model_copy(update={"learning_rate": 0.1, "minibatch": 50, "kl_coef": 0.0})
"""Tables whose states share nothing learn from the few replies of each: large steps, all replies of an update in a few of them."""

Maker = Callable[[GameSpec, Scale, LearnerKind], Config]
"""From a game, a scale and a kind of learner to the config."""


def naive(game: GameSpec, scale: Scale, learner: LearnerKind) -> Config:
    """A PPO learner of its own in every seat, updated every episode."""
    ppo = TABULAR if learner == "tabular" else NAIVE_TINY if scale == "tiny" else NAIVE_PAPER
    return _in_every_seat("any/naive", game, scale, learner, {"role": "naive", "ppo": ppo})


def q_learning(game: GameSpec, scale: Scale, learner: LearnerKind) -> Config:
    """A Q-learner with a table of its own in every seat, updated every episode."""
    q = QLearning(epsilon_initial=0.3, epsilon_final=0.02, epsilon_updates=150)
    changes = {"role": "q-learner", "algorithm": "q_learning", "q": q}
    return _in_every_seat("any/q-learning", game, scale, "tabular", changes)


def _in_every_seat(
    recipe: str, game: GameSpec, scale: Scale, learner: LearnerKind, changes: Mapping[str, object]
) -> Config:
    config, one = _base(recipe, game, scale, learner)
    learners = dict.fromkeys(config.seats, one.model_copy(update=changes))
    return config.model_copy(update={"learners": learners, "seats": {seat: (seat,) for seat in config.seats}})


def _self_play(name: str, method: Method) -> Maker:
    def make(game: GameSpec, scale: Scale, learner: LearnerKind) -> Config:
        rate = 0.05 if learner == "tabular" else 5e-3 if scale == "tiny" else 3e-6
        group = GroupGradient(method=method, learning_rate=rate)
        past = PastSelves(probability=0.5) if method == "advantage_alignment" and learner != "tabular" else PastSelves()
        config, one = _base(f"any/{name}", game, scale, learner)
        return config.model_copy(
            update={
                "learners": {
                    "learner": one.model_copy(update={"algorithm": "group", "update": "trial", "group": group})
                },
                "seats": dict.fromkeys(config.seats, ("learner",)),
                "rotate_seats": True,
                "past_selves": past,
                "episodes": 1,
                "games": 32,
                "group_size": 8,
            }
        )

    return make


def _base(recipe: str, game: GameSpec, scale: Scale, learner: LearnerKind) -> tuple[Config, LearnerConfig]:
    """The config that these recipes have in common, with a placeholder in every seat, and a learner for any seat."""
    rules = make_game(game)
    config = Config(
        recipe=recipe,
        model=("tiny" if rules.one_token else "tiny-talk")
        if scale == "tiny" or learner == "tabular"
        else "google/gemma-2-2b-it",
        game=config_game(game),
        trials=60,
        rounds=min(rules.rounds, 20),
        learners={},
        seats=dict.fromkeys(rules.seats, ("uniform",)),
    )
    if learner == "tabular":
        return config, LearnerConfig(policy="tabular")
    return config, LearnerConfig(memory=Memory.LAST_ROUND if rules.one_token else Memory.CHAT, max_tokens=64)


ANY_GAME: Mapping[str, tuple[str, Maker]] = {
    "naive": ("Any game: a PPO learner in every seat, updated every episode.", naive),
    "q-learning": ("Any game that lists its choices: a Q-learner in every seat.", q_learning),
    "self-play": ("Any game: multi-agent GRPO, one learner in all seats.", _self_play("self-play", "grpo")),
    "alignment": (
        "Any game: Advantage Alignment, one learner in all seats, with past selves.",
        _self_play("alignment", "advantage_alignment"),
    ),
}
"""By name behind ``any/``: description, and how the config is made."""
