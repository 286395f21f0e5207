"""From a learner's settings to the learner, on the policy it trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from coplay.games.base import Game
from coplay.learners.base import Learner
from coplay.learners.config import LearnerConfig
from coplay.learners.exact import ExactLearner
from coplay.learners.group_learner import GroupLearner
from coplay.learners.ppo import PPOLearner
from coplay.learners.q_information import QInformationTable
from coplay.learners.q_learning import QLearner, QTable, ValueTable
from coplay.learners.reinforce import ReinforceLearner
from coplay.players.information_table import InformationTable
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy

Trainable: TypeAlias = Policy | ValueTable
"""What a learner may train: a policy, or a table of values."""


def make_learner(
    name: str,
    config: LearnerConfig,
    policy: Trainable,
    *,
    game: Game,
    rounds: int,
    seeds: Sequence[int],
    slots: Sequence[int],
) -> Learner:
    """The learner that a config asks for, on the policy that it trains.

    Args:
        name: what the config calls it; occupants of its seats carry this name.
        config: its settings.
        policy: the player it trains; a table for algorithms that learn tables.
        game: the rules.
        rounds: T, rounds of an episode.
        seeds: the run's seeds.
        slots: the policy's slot of each.
    """
    if isinstance(policy, ValueTable):
        return QLearner(name, policy, seeds=seeds, q=config.q)
    if config.algorithm == "ppo":
        return PPOLearner(name, policy, seeds=seeds, slots=slots, ppo=config.ppo)
    if config.algorithm == "group":
        return GroupLearner(name, policy, game=game, seeds=seeds, slots=slots, settings=config.group)
    if config.algorithm == "reinforce":
        assert isinstance(policy, TabularPolicy | InformationTable)
        return ReinforceLearner(name, policy, seeds=seeds, reinforce=config.reinforce)
    assert isinstance(policy, TabularPolicy)
    settings = config.lola if config.algorithm == "lola" else config.exact
    return ExactLearner(name, policy, seeds=seeds, rounds=rounds, exact=settings)


def make_table(config: LearnerConfig, seat: str, game: Game, *, slots: int) -> Trainable:
    """The table of a tabular learner, with its start."""
    if game.actions is None:
        if config.algorithm == "q_learning":
            return QInformationTable(
                config.role, game, config.memory, slots=slots, initial_value=config.q.initial_value
            )
        return InformationTable(config.role, game, config.memory, slots=slots)
    if config.algorithm == "q_learning":
        return QTable(config.role, game, seat, config.memory, slots=slots, initial_value=config.q.initial_value)
    initial = InitialPolicy(config.initial[0], config.initial[1:]) if config.initial else None
    if initial is not None and config.reciprocity != 1:
        initial = initial.answering(config.reciprocity, game.own_states(seat))
    return TabularPolicy(config.role, game, seat, config.memory, slots=slots, sharing=config.sharing, initial=initial)
