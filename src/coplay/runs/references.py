"""Configs without files to go astray: what a config refers to is written out, or named by an absolute path."""

from __future__ import annotations

from coplay.files.naming import user_path
from coplay.games import make_game
from coplay.games.matrix import MatrixGame, game_to_dict
from coplay.models.known import MODELS
from coplay.players.named import is_endpoint, with_persona
from coplay.players.personas import PERSONAS, SIGN
from coplay.runs.config import Config
from coplay.runs.pools import POOLS
from coplay.runs.trained import parse_run


def freeze_references(config: Config) -> Config:
    """The same config with the files it refers to written out: a run can be resumed from anywhere, whatever becomes of a game's file."""
    seats = {
        seat: tuple(one if one in config.learners or one == POOLS else _absolute(one) for one in who)
        for seat, who in config.seats.items()
    }
    pools = {name: tuple(map(_absolute, members)) for name, members in config.pools.all.items()}
    changes: dict[str, object] = {"seats": seats, "pools": config.pools.model_copy(update=pools)}
    if isinstance(config.game, str) and config.game.endswith(".toml"):
        game = make_game(config.game)
        assert isinstance(game, MatrixGame)
        changes["game"] = game_to_dict(game)
    directory = user_path(config.model)
    if directory.is_dir() and config.model not in MODELS:
        changes["model"] = str(directory.resolve())
    if config.adapter.init_adapter is not None:
        start = str(user_path(config.adapter.init_adapter).resolve())
        changes["adapter"] = config.adapter.model_copy(update={"init_adapter": start})
    changes["learners"] = {
        name: learner
        if learner.init_adapter is None
        else learner.model_copy(update={"init_adapter": str(user_path(learner.init_adapter).resolve())})
        for name, learner in config.learners.items()
    }
    return config.model_copy(update=changes)


def _absolute(who: str) -> str:
    """A run or an endpoint's file by its absolute path; anybody else as they are."""
    player, persona = with_persona(who)
    if persona is not None and persona not in PERSONAS and user_path(persona).is_file():
        persona = str(user_path(persona).resolve())
    if is_endpoint(player) and user_path(player).is_file():
        player = str(user_path(player).resolve())
    if persona is not None:
        return f"{player}{SIGN}{persona}"
    if is_endpoint(player):
        return player
    run = parse_run(who)
    if run is None:
        return who
    parts = [
        str(run.path.resolve()),
        *([run.learner] if run.learner else []),
        *([str(run.seed)] if run.seed is not None else []),
    ]
    return ":".join(parts)
