"""Recorded games: a directory of complete games that ``coplay eval --record`` plays a few at a time, and continues with where it was stopped.

``recording.json`` says what is played and by whom, ``games.jsonl`` has a game a line, in the form of a run's ``episodes.jsonl``.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coplay.errors import UsageError
from coplay.evaluation.match import STREAMS, MatchResult
from coplay.files.kinds import newest_version
from coplay.files.lock import locked
from coplay.files.reading import expected_shape
from coplay.files.store import Store, entry_of
from coplay.files.writing import json_lines, json_text, new_directory
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Episode, EpisodeRecord, Occupant
from coplay.play.loop import Table, play_episode
from coplay.play.records import episode_record, recorded_episode
from coplay.play.version_1 import stored_games
from coplay.runs.environment import environment

RECORD, GAMES = "recording.json", "games.jsonl"
"""The files."""

GAMES_AT_ONCE = 16
"""Games that are played in step, then written: a model's players share passes within them, and its memory of them is bounded."""


class Recording:
    """A directory of recorded games."""

    def __init__(self, path: Path, store: Store, asked: Mapping[str, Any]) -> None:
        self.path, self.store, self.asked = path, store, asked

    @classmethod
    def open(cls, path: Path) -> Recording:
        """Open recorded games; raises UsageError if there are none, or they are damaged."""
        if not path.is_dir() or not (path / RECORD).exists():
            raise UsageError(f"{path} has no recorded games; make some with coplay eval ... --record DIR")
        store = Store.open(path, "recording")
        return cls(path, store, store.read_object(RECORD))

    @classmethod
    def begin(cls, path: Path, asked: Mapping[str, object]) -> Recording:
        """Open recorded games to add to them, or make a directory for them.

        Args:
            path: the directory.
            asked: what is played, by whom, with which seed.

        Raises:
            UsageError: if something else is there, or games of other players or settings.
        """
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            with new_directory(path) as temporary:
                store = Store(temporary, "recording")
                record = {"version": newest_version(RECORD), **asked, "environment": environment()}
                store.write(RECORD, json_text(record))
                store.write(GAMES, "")
                store.commit()
        elif not (path / RECORD).exists():
            raise UsageError(f"{path} exists already and holds no recorded games; choose another --record")
        found = cls.open(path)
        for key, value in asked.items():
            if found.asked.get(key) != value:
                raise UsageError(
                    f"{path} has games with {key} {found.asked.get(key)!r}, not {value!r}; choose another --record"
                )
        return found

    @property
    def game(self) -> Game:
        """The rules."""
        return make_game(self.asked["game"])

    def episodes(self, game: Game) -> list[Episode]:
        """The games, in order; raises UsageError for a damaged one."""
        found = []
        for number, record in enumerate(self.records(), 1):
            with expected_shape(f"{self.path / GAMES}, line {number}"):
                found.append(recorded_episode(game, record, STREAMS))
        return found

    def records(self) -> list[EpisodeRecord]:
        """The games as they are stored, older ones translated; raises UsageError for a damaged one."""
        return stored_games(self.store.read_lines(GAMES), self.path / GAMES)

    def play(
        self,
        game: Game,
        seated: Mapping[str, Occupant],
        episodes: int,
        *,
        tell: Callable[[int, int], None] = lambda done, all_: None,
    ) -> MatchResult:
        """Play the games that are missing; each is what it is with any number of games beside it.

        Args:
            game: the rules.
            seated: who sits in each seat.
            episodes: number of games in all.
            tell: is told how many are there, of how many.
        """
        rounds, seed = int(self.asked["rounds"]), int(self.asked["seed"])
        with locked(self.path):
            self.store = Store.open(self.path, "recording")
            self.store.tidy()
            self.store.cut_back(GAMES)
            found = self.episodes(game)
            tell(min(len(found), episodes), episodes)
            while len(found) < episodes:
                indices = range(len(found), min(len(found) + GAMES_AT_ONCE, episodes))
                tables = [Table(game, seed, index, index, seated) for index in indices]
                played = play_episode(game, tables, rounds=rounds, streams=STREAMS)
                self.store.append(GAMES, json_lines(GAMES, (episode_record(game, one) for one in played)))
                self.store.commit(step=indices.stop)
                found += played
                tell(len(found), episodes)
        return MatchResult(game, {seat: seated[seat].name for seat in game.seats}, rounds, found[:episodes])

    def digest(self) -> str:
        """The SHA-256 of the games, by which others say which they used; compressed or not it is the same."""
        if self.store.has(GAMES):
            return entry_of(self.store.read(GAMES)).sha256
        return entry_of(gzip.decompress(self.store.read(f"{GAMES}.gz"))).sha256
