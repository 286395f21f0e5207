"""Cross-play after training: an experiment's learners and scripted players, everybody against everybody, kept beside the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.evaluation.cross_play import CrossPlay, Payoffs, cross_play, replicates_of
from coplay.experiments.request import Reproduction
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.files.writing import json_text
from coplay.games.base import Game
from coplay.recipes.experiments import Experiment
from coplay.runs.config import Config
from coplay.runs.cross_play_tasks import Matrix, meetings_by
from coplay.runs.games import game_of
from coplay.runs.sent_players import sent_game
from coplay.tasks.executors import LOCAL, TaskExecutor
from coplay.tasks.results import parts_folder
from coplay.terminal.streams import tell

if TYPE_CHECKING:
    from coplay.runs.contestants import Contestant


def cross_play_file(experiment: Experiment) -> str:
    """Where an experiment's directory keeps its cross-play."""
    return f"meetings/{experiment.name}.json"


def load_cross_play(out: Path, experiment: Experiment) -> CrossPlay | None:
    """An experiment's cross-play; None if it has none."""
    if not experiment.meets:
        return None
    file = cross_play_file(experiment)
    found = Store.open(out, "experiment").read_object(file)
    with expected_shape(out / file):
        return CrossPlay.from_json(found)


@dataclass(frozen=True)
class Loaded:
    """Players about to play, and the games that they are dealt: those of the evaluation."""

    config: Config
    """The config with the sizes and seeds of the games."""
    game: Game
    """The game."""
    players: list[Contestant]
    """The players, in the order of their names."""


def load_players(names: Sequence[str], experiment: Experiment, reproduction: Reproduction) -> Loaded:
    """Load players by the names that an experiment has for them: its arms, all trained, and scripted players."""
    from coplay.runs.contestants import contestants

    config = reproduction.request.config(experiment.arms[0])
    game = game_of(config)
    arms = {arm.name: reproduction.directory(arm).absolute() for arm in experiment.arms}
    players = contestants([str(arms.get(name, name)) for name in names], game)
    if not reproduction.quiet:
        tell(f"{experiment.name}: {', '.join(names)} play each other")
    return Loaded(config, game, players)


Known = dict[tuple[str, str, int, str, int, int], Payoffs]
"""What two players got from each other, by the runs' directories or scripted players' names, the seed, the game, its rounds and how many games."""


def play_cross_play(
    experiment: Experiment, reproduction: Reproduction, known: Known, executor: TaskExecutor = LOCAL
) -> None:
    """Play an experiment's cross-play, unless it is there; all are trained. Each seed's games are dealt as in its evaluation.

    Args:
        experiment: who plays.
        reproduction: where.
        known: cross-play of other experiments, which is not played again; what is played is added.
        executor: who plays.
    """
    store, file = Store.open(reproduction.out, "experiment"), cross_play_file(experiment)
    if not experiment.meets or store.has(file):
        return
    loaded = load_players(experiment.meets, experiment, reproduction)
    config, game, players = loaded.config, loaded.game, loaded.players

    names = tuple(player.name for player in players)
    matrix = Matrix(sent_game(config.game), names, config.rounds, config.eval_games, tuple(config.seeds))
    play = (
        meetings_by(executor, matrix, players, parts_folder(reproduction.out), quiet=reproduction.quiet)
        if executor.is_elsewhere
        else matrix.meetings(players, game)
    )

    def meetings(asked: Sequence[tuple[int, int, int]]) -> list[Payoffs]:
        length = (game.name, config.rounds, config.eval_games)
        keys = [(players[i].name, players[j].name, config.seeds[replicate], *length) for i, j, replicate in asked]
        missing = {key: one for key, one in zip(keys, asked, strict=True) if key not in known}
        known.update(zip(missing, play(list(missing.values())), strict=True))
        return [known[key] for key in keys]

    found = cross_play(
        experiment.meets,
        meetings,
        game=game.name,
        rounds=config.rounds,
        episodes=config.eval_games,
        replicates=replicates_of([player.seeds for player in players], experiment.meets),
    )
    store.replace(file, json_text(found.to_dict()))
