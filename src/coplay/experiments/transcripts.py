"""Watched games after training: one agent meets a certain co-player, game by game, kept beside the runs. The papers' transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coplay.recipes.experiments import Experiment
from coplay.experiments.cross_play import gather
from coplay.experiments.request import Request
from coplay.runs.directory import read_json, write_json

VERSION = 1
"""Of the file's form."""


def watched_file(out: Path, experiment: Experiment) -> Path:
    """Where an experiment's directory keeps its watched games."""
    return out / "watched" / f"{experiment.name}.json"


def load_watched(out: Path, experiment: Experiment) -> dict[str, Any]:
    """What :func:`watch` wrote of each seed, by seed: the ``states`` of all games, and one ``game`` in full. Empty if nobody is watched."""
    if experiment.watched is None:
        return {}
    seeds: dict[str, Any] = read_json(watched_file(out, experiment))["seeds"]
    return seeds


def watch(request: Request, first: Request, experiment: Experiment, out: Path, *, quiet: bool = False) -> None:
    """Let an experiment's watched pair play, unless it has; all are trained. Each seed's games are dealt as in its evaluation.

    Args:
        request: what is asked for.
        first: what the directory was made for.
        experiment: who is watched.
        out: the experiment's directory.
        quiet: whether to say nothing.
    """
    path = watched_file(out, experiment)
    if experiment.watched is None or path.exists():
        return
    from coplay.players.round_language_model import RoundLanguageModel
    from coplay.rounds.evaluate import match_rounds
    from coplay.rounds.metrics import state_of
    from coplay.play.records import game_record

    gathering = gather(experiment.watched, request, first, experiment, out, quiet=quiet)
    config, words = gathering.config, gathering.words
    names = dict(zip(words.game.seats, experiment.watched, strict=True))
    seeds = {}
    for i, seed in enumerate(config.seeds):
        players = {seat: agent.player(i) for seat, agent in zip(words.game.seats, gathering.agents, strict=True)}
        readers = {seat: one.decode for seat, one in players.items() if isinstance(one, RoundLanguageModel)}
        games = match_rounds(words, players, seed=seed, rounds=config.rounds, episodes=config.eval_games)
        seeds[str(seed)] = {
            "states": [[state_of(words, one) for one in game.rounds] for game in games],
            "game": game_record(words, games[0], step=config.trials, names=names, decode=readers),
        }
    path.parent.mkdir(exist_ok=True)
    write_json(path, {"version": VERSION, "game": config.game, "players": list(experiment.watched), "seeds": seeds})
