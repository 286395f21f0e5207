"""coplay: train and audit language-model agents among co-players that learn.

The names one starts with; everything else is a module away.

    >>> import coplay
    >>> game = coplay.make_game("ipd")
    >>> names = {"row": "tit_for_tat", "column": "random:0.3"}
    >>> players = {seat: coplay.make_player(name, game, seat) for seat, name in names.items()}
    >>> coplay.match(game, players, rounds=8, episodes=3, seed=0).rounds
    8
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Config": "coplay.runs.config",
    "Memory": "coplay.games.memory",
    "MatrixGame": "coplay.games.matrix",
    "Player": "coplay.players.base",
    "check_game": "coplay.games.check",
    "check_player": "coplay.players.check",
    "evaluate_seeds": "coplay.evaluation.match",
    "make_config": "coplay.recipes",
    "make_game": "coplay.games",
    "make_player": "coplay.players.scripted",
    "match": "coplay.evaluation.match",
    "overridden": "coplay.runs.config_input",
    "summary": "coplay.evaluation.match",
    "write_report": "coplay.report",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import coplay`` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'coplay' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
