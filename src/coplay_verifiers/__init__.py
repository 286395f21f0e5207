"""The name by which verifiers finds :mod:`coplay.adapters.verifiers`: it imports environments by a name without dots, such as ``coplay-verifiers``."""

from coplay.adapters.verifiers import ChatHarness, GameTaskset, SeatEnv, load_environment

__all__ = ["ChatHarness", "GameTaskset", "SeatEnv", "load_environment"]
