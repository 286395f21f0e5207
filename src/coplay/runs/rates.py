"""Learning rates that no learner can learn with, found before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator

from coplay.errors import UsageError
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import DQN, PPO, ExactGradient, GroupGradient, Reinforce

MOST_ADAM = {"language_model": 1.0, "network": 1.0, "tabular": 10.0}
"""Largest rate of Adam by kind of policy. In a step Adam moves every parameter by about its rate, however small the gradient: more than this
replaces all weights of a model, and takes the logits of a table from sure of one action to sure of another."""

MOST_ASCENT = 1000.0
"""Largest rate of plain gradient ascent, whose steps are the rate times the gradient of a payoff."""


def check_rates(name: str, learner: LearnerConfig) -> None:
    """Refuse learning rates beyond these bounds.

    An ``adam_eps`` above 1 makes smaller steps of the same rate, so that rates are compared with the bound times it.

    Args:
        name: the learner's.
        learner: its settings.

    Raises:
        UsageError: naming the setting, the rate, and the largest one.
    """
    for key, rate, most, moves in _rates(learner):
        if rate > most:
            raise UsageError(
                f"learners.{name}.{key}={rate:g} is too large to learn with: {moves}. Use at most {most:g}"
            )


def _rates(learner: LearnerConfig) -> Iterator[tuple[str, float, float, str]]:
    """The rates that a learner uses: key, rate, the largest one, and why."""
    by_adam: dict[str, PPO | GroupGradient | DQN] = {"ppo": learner.ppo, "group": learner.group, "dqn": learner.dqn}
    adam = by_adam.get(learner.algorithm)
    if adam is not None:
        most = MOST_ADAM[learner.policy] * max(1.0, adam.adam_eps)
        why = "Adam moves every parameter by about its rate in a step"
        yield f"{learner.algorithm}.learning_rate", adam.learning_rate, most, why
    if learner.algorithm == "ppo" and learner.ppo.head_learning_rate is not None:
        why = "Adam moves every parameter of the value head by about its rate in a step"
        yield "ppo.head_learning_rate", learner.ppo.head_learning_rate, MOST_ADAM[learner.policy], why
    if learner.algorithm == "ppo" and learner.ppo.weight_decay:
        why = "in a step weights shrink by this times the learning rate, to 0 and beyond"
        yield "ppo.weight_decay", learner.ppo.weight_decay, 1 / learner.ppo.learning_rate, why
    by_ascent: dict[str, Reinforce | ExactGradient] = {
        "reinforce": learner.reinforce,
        "exact": learner.exact,
        "lola": learner.lola,
    }
    ascent = by_ascent.get(learner.algorithm)
    if ascent is not None:
        why = "a step is the rate times the gradient"
        yield f"{learner.algorithm}.learning_rate", ascent.learning_rate, MOST_ASCENT, why
    if learner.algorithm == "lola":
        yield "lola.co_player_rate", learner.lola.co_player_rate, MOST_ASCENT, "a step is the rate times the gradient"
