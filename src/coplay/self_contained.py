"""Configs without files to go astray: what a config refers to is spelled out, or named by an absolute path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coplay.games import make_game
from coplay.games.matrix import game_to_dict
from coplay.models.known import MODELS
from coplay.rounds.config import AnyConfig, RoundConfig, run_and_seed


def self_contained(config: AnyConfig) -> AnyConfig:
    """The same config with files it refers to spelled out: a run can be resumed from anywhere, whatever becomes of a game's file."""
    changes: dict[str, Any] = {}
    if isinstance(config, RoundConfig):
        run, seed = run_and_seed(config.co_player)
        if Path(run).expanduser().exists():
            place = Path(run).expanduser().resolve()
            changes["co_player"] = str(place) if seed is None else f"{place}:{seed}"
    elif isinstance(config.game, str) and config.game.endswith(".toml"):
        changes["game"] = game_to_dict(make_game(config.game))
    directory = Path(config.model).expanduser()
    if directory.is_dir() and config.model not in MODELS:
        changes["model"] = str(directory.resolve())
    if config.adapter.start is not None:
        start = str(Path(config.adapter.start).expanduser().resolve())
        changes["adapter"] = config.adapter.model_copy(update={"start": start})
    return config.model_copy(update=changes)
