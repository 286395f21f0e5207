"""Players that are sent to other machines, which is by name: which can be, and what they read and take there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.files.reading import read_bytes
from coplay.files.store import MANIFEST, checksum
from coplay.games.catalogue import GameSpec, config_game
from coplay.models.known import EMBEDDED
from coplay.models.loading import model_path
from coplay.players.model_player import files_of_model, names_model
from coplay.players.named import PlayerSpec, is_endpoint, with_persona
from coplay.players.personas import split_persona
from coplay.players.simulator import PREFIX, names_simulator
from coplay.runs.directory import RunDirectory
from coplay.runs.tasks import memory_of
from coplay.runs.trained import parse_run
from coplay.tasks.task import Needs


def sent_name(player: PlayerSpec) -> str:
    """The name by which a player is sent.

    Raises:
        UsageError: for an object, which has none, and an endpoint, whose requests are counted by one process.
    """
    if not isinstance(player, str):
        raise UsageError(
            f"players are sent to a cluster by name, and {type(player).__name__} is an object; put it in a module and name it MODULE:PLAYER,"
            " or leave out the executor"
        )
    if is_endpoint(player):
        raise UsageError(
            f"{player} is an endpoint: what it is asked is agreed to, counted and limited by one process, and many would each count for"
            " themselves; leave out --executor"
        )
    return player


def sent_game(game: GameSpec) -> str | dict[str, object]:
    """What a game is sent as: its name, or the mapping of a matrix game; raises UsageError for another object."""
    return config_game(game)


def models_of(players: Sequence[str]) -> list[str]:
    """The language models that players are made of, each once."""
    found = []
    for player in players:
        run = parse_run(player)
        if run is not None:
            config = RunDirectory.open(run.path).config
            learners = [one for name, one in config.learners.items() if run.learner in (None, name)]
            found += [config.model for one in learners if one.policy == "language_model"]
        elif names_model(player):
            found.append(files_of_model(with_persona(player)[0])[0])
    return list(dict.fromkeys(found))


def needs_of_models(models: Sequence[str], cpus: int, gpus: float) -> Needs:
    """What one process takes that holds these models; see :meth:`coplay.tasks.task.Task.needs`."""
    return Needs(cpus, gpus if models else 0.0, memory_of(models))


def files_of(players: Sequence[str], game: str | dict[str, object], models: Sequence[str]) -> list[Path]:
    """The files and directories that players, a game and models are read from, as far as names tell it.

    Args:
        players: their names.
        game: the game, as it is sent.
        models: language models.
    """
    texts = [game] if isinstance(game, str) and game.endswith(".toml") else []
    for player in players:
        if (run := parse_run(player)) is not None:
            texts.append(str(run.path))
            continue
        persona = split_persona(player)[1]
        texts += [persona] if persona else []
        if names_simulator(player):
            texts += [player.removeprefix(PREFIX), split_persona(player)[0].removeprefix(PREFIX)]
        elif names_model(player):
            texts.append(files_of_model(with_persona(player)[0])[1] or "")
    texts += [model_path(model) for model in models if model not in EMBEDDED]
    return [path for text in dict.fromkeys(texts) if text and (path := user_path(text)).exists()]


def inputs_of(files: Sequence[Path]) -> tuple[str, ...]:
    """What every machine must have for these files to be found there: their absolute paths, and the directory where relative ones begin."""
    here = [] if all(path.is_absolute() for path in files) else [os.getcwd()]
    return (*here, *(str(path.absolute()) for path in files))


def checksums_of(files: Sequence[Path]) -> dict[str, str]:
    """The checksum of each file, and of the manifest of each directory that has one: whether they are what they were."""
    listed = {path: path / MANIFEST if path.is_dir() else path for path in files}
    return {str(path): checksum(read_bytes(file)) for path, file in listed.items() if file.is_file()}
