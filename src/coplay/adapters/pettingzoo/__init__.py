"""PettingZoo, both ways: coplay's games as its environments, and its environments as games."""

from coplay.adapters.pettingzoo.environments import CoplayAECEnv, CoplayParallelEnv
from coplay.adapters.pettingzoo.game import pettingzoo_game

__all__ = ["CoplayAECEnv", "CoplayParallelEnv", "pettingzoo_game"]
