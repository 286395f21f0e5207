"""coplay: train and audit language-model agents among co-players that learn.

>>> import coplay
>>> result = coplay.match("ipd", "tit_for_tat", "random:0.3", rounds=8, episodes=3, seed=0)
>>> result.rounds
8
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from coplay.api import cross_play, exploit, make_config, match, to_config, train
    from coplay.auditing.api import audit
    from coplay.auditing.result import AuditResult
    from coplay.conformance.games import check_game
    from coplay.conformance.players import check_player
    from coplay.errors import CoplayError, UsageError
    from coplay.evaluation.cross_play import CrossPlay
    from coplay.evaluation.match import MatchResult
    from coplay.games.base import Game
    from coplay.games.catalogue import GAMES, make_game
    from coplay.games.matrix import MatrixGame
    from coplay.games.memory import Memory, Observation
    from coplay.games.normal_form import NormalFormGame
    from coplay.games.public_goods import PublicGoods
    from coplay.games.reasoned import ReasonedGame
    from coplay.games.records import Act, Action, Episode, Harm, Outcome, Phase, Reply, Request, Round, Turn, in_order
    from coplay.games.strategy import GameStrategy
    from coplay.learners.config import LearnerConfig
    from coplay.players.base import Player
    from coplay.players.named import make_player
    from coplay.run import Run, load_run
    from coplay.runs.config import Config
    from coplay.tasks.ray_cluster import RayCluster
    from coplay.tracking.sink import Sink, TrackedRun

_HOME = {
    "coplay.api": ("cross_play", "exploit", "make_config", "match", "to_config", "train"),
    "coplay.auditing.api": ("audit",),
    "coplay.auditing.result": ("AuditResult",),
    "coplay.conformance.games": ("check_game",),
    "coplay.conformance.players": ("check_player",),
    "coplay.errors": ("CoplayError", "UsageError"),
    "coplay.evaluation.cross_play": ("CrossPlay",),
    "coplay.evaluation.match": ("MatchResult",),
    "coplay.games.base": ("Game",),
    "coplay.games.catalogue": ("GAMES", "make_game"),
    "coplay.games.matrix": ("MatrixGame",),
    "coplay.games.memory": ("Memory", "Observation"),
    "coplay.games.normal_form": ("NormalFormGame",),
    "coplay.games.public_goods": ("PublicGoods",),
    "coplay.games.reasoned": ("ReasonedGame",),
    "coplay.games.records": (
        "Act",
        "Action",
        "Episode",
        "Harm",
        "Outcome",
        "Phase",
        "Reply",
        "Request",
        "Round",
        "Turn",
        "in_order",
    ),
    "coplay.games.strategy": ("GameStrategy",),
    "coplay.learners.config": ("LearnerConfig",),
    "coplay.players.base": ("Player",),
    "coplay.players.named": ("make_player",),
    "coplay.run": ("Run", "load_run"),
    "coplay.runs.config": ("Config",),
    "coplay.tasks.ray_cluster": ("RayCluster",),
    "coplay.tracking.sink": ("Sink", "TrackedRun"),
}
"""Where each public name is defined; imported when it is first used, so that ``import coplay`` costs nothing."""

_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [  # spelled out for type checkers; a test compares it with _HOME
    "GAMES",
    "Act",
    "Action",
    "AuditResult",
    "Config",
    "CoplayError",
    "CrossPlay",
    "Episode",
    "Game",
    "GameStrategy",
    "Harm",
    "LearnerConfig",
    "MatchResult",
    "MatrixGame",
    "Memory",
    "NormalFormGame",
    "Observation",
    "Outcome",
    "Phase",
    "Player",
    "PublicGoods",
    "RayCluster",
    "ReasonedGame",
    "Reply",
    "Request",
    "Round",
    "Run",
    "Sink",
    "TrackedRun",
    "Turn",
    "UsageError",
    "__version__",
    "audit",
    "check_game",
    "check_player",
    "cross_play",
    "exploit",
    "in_order",
    "load_run",
    "make_config",
    "make_game",
    "make_player",
    "match",
    "to_config",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'coplay' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for editors and interactive sessions."""
    return __all__
