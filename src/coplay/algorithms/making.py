"""From a seat's settings to its learner."""

from __future__ import annotations

from collections.abc import Mapping

from coplay.algorithms.base import Learner
from coplay.algorithms.exact import ExactLearner
from coplay.algorithms.ppo import PPOLearner
from coplay.algorithms.q_learning import QLearner
from coplay.algorithms.reinforce import ReinforceLearner
from coplay.config import Config, Seat
from coplay.games.matrix import MatrixGame, other
from coplay.players.base import Player
from coplay.players.policy import Policy
from coplay.players.tabular import InitialPolicy, TabularPolicy


def make_language_learner(config: Config, seat: str, policy: Policy, game: MatrixGame, *, first_slot: int) -> Learner:
    """The learner of a language-model seat, whose seeds have the slots from ``first_slot`` on."""
    slots = range(first_slot, first_slot + len(config.seeds))
    return _ppo(config.seats[seat], seat, policy, game, config.seeds, slots)


def make_tabular_learner(config: Config, seat: str, game: MatrixGame, players: Mapping[str, Player]) -> Learner:
    """The learner of a tabular seat.

    Args:
        config: the run.
        seat: the seat to fill.
        game: the rules.
        players: every seat's player, complete by the time games are played; learners with exact gradients look at the other seat's.
    """
    setting = config.seats[seat]
    if setting.algorithm == "q_learning":
        return QLearner(setting.role, game, seat, seeds=config.seeds, memory=setting.memory, q=setting.q)
    policy = _table(setting, seat, game, slots=len(config.seeds))
    if setting.algorithm == "ppo":
        return _ppo(setting, seat, policy, game, config.seeds, range(len(config.seeds)))
    if setting.algorithm == "reinforce":
        return ReinforceLearner(setting.role, policy, seeds=config.seeds, reinforce=setting.reinforce)
    return ExactLearner(
        setting.role,
        policy,
        seeds=config.seeds,
        rounds=config.rounds,
        exact=setting.lola if setting.algorithm == "lola" else setting.exact,
        co_player=lambda: players[other(seat)],
    )


def _table(setting: Seat, seat: str, game: MatrixGame, *, slots: int) -> TabularPolicy:
    initial = InitialPolicy(setting.initial[0], setting.initial[1:]) if setting.initial else None
    if initial is not None and setting.reciprocity != 1:
        initial = initial.answering(setting.reciprocity, game.own_states(seat))
    return TabularPolicy(game, seat, setting.memory, slots=slots, sharing=setting.sharing, initial=initial)


def _ppo(
    setting: Seat, seat: str, policy: Policy, game: MatrixGame, seeds: tuple[int, ...], slots: range
) -> PPOLearner:
    return PPOLearner(
        setting.role,
        seat,
        policy,
        game.actions[seat],
        seeds=seeds,
        slots=slots,
        memory=setting.memory,
        ppo=setting.ppo,
    )
