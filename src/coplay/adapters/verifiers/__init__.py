"""A seat of a game as an environment of verifiers, in which others train and evaluate their models; its reward is the seat's payoff.

verifiers finds it by the name ``coplay-verifiers``, of the package :mod:`coplay_verifiers`.
"""

from coplay.adapters.verifiers.environment import SeatEnv, SeatEnvConfig, environment, load_environment
from coplay.adapters.verifiers.harness import ChatHarness
from coplay.adapters.verifiers.tasks import GameTaskset, GameTasksetConfig

__all__ = [
    "ChatHarness",
    "GameTaskset",
    "GameTasksetConfig",
    "SeatEnv",
    "SeatEnvConfig",
    "environment",
    "load_environment",
]
