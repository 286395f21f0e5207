"""Cross-play after training: an experiment's learners and scripted players, everybody against everybody, kept beside the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.evaluation.cross_play import CrossPlay, cross_play, replicates_of
from coplay.evaluation.match import swapped_payoffs
from coplay.experiments.request import Request, arm_directory
from coplay.games import make_game
from coplay.games.base import Game
from coplay.recipes.experiments import Experiment
from coplay.runs.config import Config
from coplay.runs.directory import read_json, write_json
from coplay.terminal.streams import tell

if TYPE_CHECKING:
    from coplay.runs.contestants import Contestant


def cross_play_file(out: Path, experiment: Experiment) -> Path:
    """Where an experiment's directory keeps who got what from whom."""
    return out / "meetings" / f"{experiment.name}.json"


def load_cross_play(out: Path, experiment: Experiment) -> CrossPlay | None:
    """Who got what from whom; None if the experiment has no cross-play."""
    return CrossPlay.from_json(read_json(cross_play_file(out, experiment))) if experiment.meets else None


@dataclass(frozen=True)
class Loaded:
    """Players about to play."""

    config: Config
    """The config that says which games they are dealt: those of its evaluation."""
    game: Game
    """Their game."""
    players: list[Contestant]
    """Who they are, in the order of the names."""


def load_players(
    names: Sequence[str], request: Request, first: Request, experiment: Experiment, out: Path, *, quiet: bool = False
) -> Loaded:
    """Load players by the names that an experiment has for them, and say that they play.

    Args:
        names: arms by name, and scripted players.
        request: what is asked for.
        first: what the directory was made for.
        experiment: whose arms; all are trained.
        out: the experiment's directory.
        quiet: whether to print nothing.
    """
    from coplay.runs.contestants import contestants

    config = request.config(experiment.arms[0])
    game = make_game(config.game)
    arms = {arm.name: arm_directory(first, out, arm) for arm in experiment.arms}
    players = contestants([str(arms.get(name, name)) for name in names], game)
    if not quiet:
        tell(f"{experiment.name}: {', '.join(names)} play each other")
    return Loaded(config, game, players)


Known = dict[tuple[str, str, int, str, int, int], tuple[list[float], list[float]]]
"""What two players got from each other, by the runs' directories or scripted players' names, the seed, the game, its rounds and how many games."""


def play_cross_play(
    request: Request, first: Request, experiment: Experiment, out: Path, *, known: Known, quiet: bool = False
) -> None:
    """Play an experiment's cross-play, unless it is there; all are trained. Each seed's games are dealt as in its evaluation.

    Args:
        request: what is asked for.
        first: what the directory was made for.
        experiment: who plays.
        out: the experiment's directory.
        known: cross-play of other experiments, which is not played again; what is played is added.
        quiet: whether to print nothing.
    """
    path = cross_play_file(out, experiment)
    if not experiment.meets or path.exists():
        return
    loaded = load_players(experiment.meets, request, first, experiment, out, quiet=quiet)
    config, game, players = loaded.config, loaded.game, loaded.players

    def meeting(one: int, other: int, replicate: int) -> tuple[list[float], list[float]]:
        pair, seed = (players[one], players[other]), config.seeds[replicate]
        key = (pair[0].name, pair[1].name, seed, game.name, config.rounds, config.eval_games)
        if key not in known:
            a = {seat: pair[0].occupant(replicate, seat) for seat in game.seats}
            b = a if one == other else {seat: pair[1].occupant(replicate, seat) for seat in game.seats}
            known[key] = swapped_payoffs(game, a, b, rounds=config.rounds, episodes=config.eval_games, seed=seed)
        return known[key]

    found = cross_play(
        experiment.meets,
        meeting,
        game=game.name,
        rounds=config.rounds,
        episodes=config.eval_games,
        replicates=replicates_of([player.seeds for player in players], experiment.meets),
    )
    path.parent.mkdir(exist_ok=True)
    write_json(path, found.to_dict())
