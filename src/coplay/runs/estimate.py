"""The games of a run, for an estimate of what it will ask endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from coplay.evaluation.estimate import Games
from coplay.players.named import is_endpoint
from coplay.runs.checkpoints import step_of
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory, is_taken
from coplay.runs.factory import pooled
from coplay.runs.games import game_of

Players = Mapping[str, str | None]
"""Who sits where, by name; None for a learner."""


def asks_endpoints(config: Config) -> bool:
    """Whether an endpoint sits in any seat of a run, or is in a pool that it is measured against."""
    seated = [who for seat in config.seats for who in config.sits_in(seat)]
    pools = config.pools.fixed.values() if config.held_out_games else ()
    return any(map(is_endpoint, [*seated, *(who for members in pools for who in members)]))


def trials_done(path: Path) -> int:
    """How many trials of a run its latest checkpoint has; 0 where there is no run yet."""
    saved = RunDirectory.open(path).checkpoints() if is_taken(path) else []
    return (step_of(saved[-1].name) or 0) if saved else 0


def games_of_run(config: Config, *, first_trial: int = 0) -> list[Games]:
    """All games of a run: those of its trials, of its checkpoints, and of the evaluation after training.

    Args:
        config: the run.
        first_trial: trials that were trained before, by a run that is resumed.
    """
    trained = (config.trials - first_trial) * config.games * config.episodes * len(config.seeds)
    lineups = list(_lineups(config, rotate=config.rotate_seats))
    return [
        *_shared_out(config, lineups, trained),
        *_held_out(config, first_trial),
        *games_of_evaluation(config),
    ]


def games_of_evaluation(config: Config, *, rounds: int | None = None, games: int | None = None) -> list[Games]:
    """The games with which a run is evaluated.

    Args:
        config: the run.
        rounds: rounds of a game; None for the run's.
        games: games of each seed; None for the run's.
    """
    number = (config.eval_games if games is None else games) * len(config.seeds)
    return _shared_out(config, list(_lineups(config, rotate=False)), number, rounds=rounds)


def _shared_out(config: Config, lineups: list[Players], number: float, *, rounds: int | None = None) -> list[Games]:
    """So many games, as many of each lineup."""
    game = game_of(config)
    return [
        Games(game, lineup, rounds or config.rounds, number / len(lineups), retries=config.retries)
        for lineup in lineups
    ]


def _lineups(config: Config, *, rotate: bool) -> Iterator[Players]:
    """Who can sit where: everybody who is named for a seat, in each of the seats that the assignment moves on to."""
    seats = list(game_of(config).seats)
    members = [[_named(config, who) for who, _ in pooled(config, seat)] for seat in seats]
    for chosen in product(*members):
        for shift in range(len(seats) if rotate else 1):
            yield {seat: chosen[(i - shift) % len(seats)] for i, seat in enumerate(seats)}


def _held_out(config: Config, first_trial: int) -> list[Games]:
    """The games of a learner with a safety objective against every co-player of every pool, at checkpoints and after training."""
    if not config.held_out_games:
        return []
    checkpoints = config.trials // config.checkpoint_every - first_trial // config.checkpoint_every
    number = (checkpoints * config.held_out_games + config.eval_games) * len(config.seeds)
    name = next(name for name, one in config.learners.items() if one.algorithm == "group")
    own = [seat for seat in config.seats if name in config.sits_in(seat)]
    members = [who for pool in config.pools.fixed.values() for who in pool]
    game = game_of(config)
    return [
        games
        for who in members
        for seat in own
        for games in _shared_out(config, [{one: None if one == seat else who for one in game.seats}], number / len(own))
    ]


def _named(config: Config, who: str) -> str | None:
    return None if who in config.learners else who
