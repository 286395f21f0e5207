"""Complete games of a directory, whatever made it: what an export starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coplay.evaluation.match import MatchResult
from coplay.evaluation.summary import N, SeatEstimate, SeatSummary, Summary
from coplay.files.reading import expected_shape
from coplay.games.records import EpisodeRecord
from coplay.play.rows import game_rows
from coplay.runs.directory import RunDirectory
from coplay.runs.recording import GAMES, RECORD, Recording


@dataclass(frozen=True)
class Seated:
    """What is known of a seat after an evaluation."""

    player: str
    """Who sat there."""
    numbers: Mapping[str, tuple[float, float | None]]
    """Measures by name, each with half the width of its 95 % interval, if known."""


@dataclass(frozen=True)
class GameLog:
    """A run or recorded games, read."""

    path: Path
    """The directory."""
    game: str
    """Name of the game."""
    rounds: int
    """Most rounds of a game."""
    settings: Mapping[str, Any]
    """Of a run its config; of recorded games what was asked for."""
    environment: Mapping[str, Any]
    """Where and with what it was made, as in ``env.json``."""
    games: list[EpisodeRecord]
    """Complete games; of a run a sample."""
    seats: Mapping[str, Seated]
    """The evaluation by seat; empty of a run that is not finished."""
    evaluated: int
    """How many games (of each seed) the evaluation is of."""
    intervals: str
    """What intervals are over: ``seeds`` or ``games``."""

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.path.resolve().name

    @property
    def players(self) -> dict[str, str]:
        """Who sat in each seat, in the first game or else in the evaluation."""
        if self.games:
            return self.games[0]["players"]
        return {seat: one.player for seat, one in self.seats.items()}


def read_games(path: Path) -> GameLog:
    """The games of a run directory, or of one that ``coplay eval --record`` wrote.

    Raises:
        UsageError: if it is neither, or damaged.
    """
    return _of_recording(path) if (path / RECORD).exists() else _of_run(path)


def _of_run(path: Path) -> GameLog:
    run = RunDirectory.open(path)
    evaluation = run.evaluation() if run.store.has("eval.json") else None
    seats = {} if evaluation is None else {seat: _over_seeds(one) for seat, one in evaluation["seats"].items()}
    game = run.raw_config["game"]
    return GameLog(
        path=path,
        game=str(game if isinstance(game, str) else game.get("name")),
        rounds=int(run.raw_config["rounds"]),
        settings=run.raw_config,
        environment=run.store.read_object("env.json"),
        games=_checked(run.episodes(), path / "episodes.jsonl"),
        seats=seats,
        evaluated=0 if evaluation is None else evaluation["episodes"],
        intervals="seeds",
    )


def _of_recording(path: Path) -> GameLog:
    recording = Recording.open(path)
    game, asked = recording.game, recording.asked
    rules = game.lasting(int(asked["rounds"]))
    episodes = recording.episodes(rules)
    found: Summary | None = None
    if episodes:
        found = MatchResult(rules, dict(asked["players"]), int(asked["rounds"]), episodes).summary()
    return GameLog(
        path=path,
        game=rules.name,
        rounds=int(asked["rounds"]),
        settings={key: value for key, value in asked.items() if key not in ("environment", "version")},
        environment=asked["environment"],
        games=_checked(recording.records(), path / GAMES),
        seats={} if found is None else {seat: _over_games(one) for seat, one in found["seats"].items()},
        evaluated=len(episodes),
        intervals="games",
    )


def _checked(games: list[EpisodeRecord], path: Path) -> list[EpisodeRecord]:
    """Games whose form is the right one; raises UsageError for one that has another."""
    for number, game in enumerate(games, 1):
        with expected_shape(f"{path}, line {number}"):
            list(game_rows([game]))
    return games


def _over_seeds(one: SeatEstimate) -> Seated:
    numbers = {"total": one["total"], "illegal": one["illegal"], **_shares(one["actions"])}
    if one["per_round"] is not None:
        numbers["per_round"] = one["per_round"]
    return Seated(one["player"], {name: (found["mean"], found["ci95"]) for name, found in numbers.items()})


def _over_games(one: SeatSummary) -> Seated:
    numbers: dict[str, tuple[float, float | None]] = {
        name: (share, None)
        for name, share in {"total": one["total"], "illegal": one["illegal"], **_shares(one["actions"])}.items()
    }
    if one["per_round"] is not None:
        numbers["per_round"] = (one["per_round"], one["ci95"])
    return Seated(one["player"], numbers)


def _shares(actions: Mapping[str, N]) -> dict[str, N]:
    return {f"action/{name}": share for name, share in actions.items()}
