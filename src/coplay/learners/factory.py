"""From a learner's settings to the learner, on the policy it trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from coplay.games.base import Game
from coplay.learners.base import Learner
from coplay.learners.config import LearnerConfig
from coplay.learners.dqn import DQNLearner
from coplay.learners.exact import ExactLearner
from coplay.learners.group_learner import GroupLearner
from coplay.learners.ppo import PPOLearner
from coplay.learners.q_information import QInformationTable
from coplay.learners.q_initial import values_against_uniform
from coplay.learners.q_learner import QLearner
from coplay.learners.q_learning import InitialValues, QTable, ValueTable
from coplay.learners.q_network import QNetwork
from coplay.learners.reinforce import ReinforceLearner
from coplay.players.information_table import InformationTable
from coplay.players.network import NetworkPolicy
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy

Trainable: TypeAlias = Policy | ValueTable | QNetwork
"""What a learner may train: a policy, or a table or network of values."""


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
    if isinstance(policy, QNetwork):
        return DQNLearner(name, policy, seeds=seeds, dqn=config.dqn)
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
    if config.algorithm == "q_learning":
        return _value_table(config, seat, game, slots=slots)
    if game.actions is None:
        return InformationTable(config.role, game, config.memory, slots=slots)
    initial = InitialPolicy(config.initial[0], config.initial[1:]) if config.initial else None
    if initial is not None and config.reciprocity != 1:
        initial = initial.answering(config.reciprocity, game.own_states(seat))
    return TabularPolicy(config.role, game, seat, config.memory, slots=slots, sharing=config.sharing, initial=initial)


def _value_table(config: LearnerConfig, seat: str, game: Game, *, slots: int) -> ValueTable:
    q = config.q
    initial: InitialValues = q.initial_value
    if q.initial_values == "against_uniform":
        initial = values_against_uniform(game, seat, discount=q.discount)
    if game.actions is not None:
        return QTable(config.role, game, seat, config.memory, slots=slots, initial=initial)
    return QInformationTable(
        config.role, game, config.memory, slots=slots, initial=initial, rows=q.rows, own_rows=q.own_rows
    )


def make_network(
    name: str, config: LearnerConfig, seats: Sequence[str], game: Game, *, seeds: Sequence[int]
) -> NetworkPolicy | QNetwork:
    """The networks of a learner, one a seed, with their initial weights.

    Args:
        name: what the config calls the learner; names the random streams of the weights.
        config: its settings.
        seats: the seats that it may sit in.
        game: the rules.
        seeds: the run's seeds.
    """
    kind = QNetwork if config.algorithm == "dqn" else NetworkPolicy
    return kind(config.role, name, game, seats, config.memory, window=config.window, hidden=config.hidden, seeds=seeds)
