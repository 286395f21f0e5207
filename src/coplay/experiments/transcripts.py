"""Transcripts after training: a learner against a certain co-player, game by game, kept beside the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from coplay.evaluation.match import play_match
from coplay.experiments.cross_play import load_players
from coplay.experiments.request import Reproduction
from coplay.files.kinds import newest_version
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.files.writing import json_text
from coplay.games.records import EpisodeRecord
from coplay.play.records import episode_record
from coplay.play.version_1 import stored_game
from coplay.recipes.experiments import Experiment


def transcripts_file(experiment: Experiment) -> str:
    """Where an experiment's directory keeps its transcripts."""
    return f"watched/{experiment.name}.json"


@dataclass(frozen=True)
class Transcripts:
    """The recorded games of one seed."""

    states: Sequence[Sequence[str]]
    """The joint actions of all games, game by game."""
    game: EpisodeRecord
    """One game in full, as in ``episodes.jsonl``."""


def load_transcripts(out: Path, experiment: Experiment) -> list[Transcripts]:
    """What :func:`play_transcripts` wrote, seed by seed; empty if the experiment has none."""
    if experiment.watched is None:
        return []
    file = transcripts_file(experiment)
    found = Store.open(out, "experiment").read_object(file)
    with expected_shape(out / file):
        return [
            Transcripts(one["states"], stored_game({**one["game"], "version": found["version"]}, out / file))
            for one in found["seeds"].values()
        ]


def play_transcripts(experiment: Experiment, reproduction: Reproduction) -> None:
    """Play the games of an experiment's transcripts, unless they are there; all are trained. Each seed's games are dealt as in its evaluation."""
    store, file = Store.open(reproduction.out, "experiment"), transcripts_file(experiment)
    if experiment.watched is None or store.can_read(file):
        return
    loaded = load_players(experiment.watched, experiment, reproduction)
    config, game = loaded.config, loaded.game
    seeds = {}
    for i, seed in enumerate(config.seeds):
        seated = {
            seat: replace(player.occupant(i, seat), name=name)
            for seat, player, name in zip(game.seats, loaded.players, experiment.watched, strict=True)
        }
        played = play_match(game, seated, rounds=config.rounds, episodes=config.eval_games, seed=seed).episodes
        states = [[game.state_name(outcome) for outcome in episode.outcomes] for episode in played]
        seeds[str(seed)] = asdict(Transcripts(states, episode_record(game, played[0], step=config.trials)))
    about = {"version": newest_version(file), "game": game.name, "players": list(experiment.watched), "seeds": seeds}
    store.replace(file, json_text(about))
