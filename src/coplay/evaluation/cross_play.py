"""Cross-play: every player against every player and itself, with seats swapped, and the reward of each against each.

Intervals are over trained seeds; where there is but one, or nobody is trained, they are over games and say nothing about other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

from coplay.errors import UsageError
from coplay.players.scripted import EARLIER_NAMES
from coplay.statistics import Interval, mean_ci95
from coplay.terminal.tables import Column, align, frame
from coplay.text.rendering import counted

if TYPE_CHECKING:
    import pandas

VERSION = 1
"""Of the JSON form."""

Payoffs = tuple[Sequence[float], Sequence[float]]
"""What each of two players gets per round from the other, game by game."""

Meetings = Callable[[Sequence[tuple[int, int, int]]], Iterable[Payoffs]]
"""From pairs, each (first, second, replicate), to what they get from each other, in order; everything is played with seats swapped as well."""

Over = Literal["seeds", "games"]
"""What intervals are over."""

PAIR_COLUMNS: dict[str, Column] = {
    "player": Column("string", "the player"),
    "co_player": Column("string", "whom it plays with"),
    "per_round": Column("float64", "what the player gets per round"),
    "ci95": Column("float64", "half-width of its 95 % interval; missing where there is none"),
    "n": Column("int64", "how many seeds or games are behind it"),
}
"""The columns of cross-play in a data frame."""


@dataclass(frozen=True)
class CrossPlay:
    """The rewards of all pairs of players."""

    game: str
    """The game."""
    rounds: int
    """Rounds of a game."""
    episodes: int
    """Games of each seating, pair and replicate."""
    players: tuple[str, ...]
    """Everybody, in order."""
    payoffs: tuple[tuple[tuple[float, ...], ...], ...]
    """What the first (line) got per round from the second (column), one number a replicate."""
    over_games: tuple[tuple[Interval, ...], ...] | None = None
    """Of a single replicate, the same with intervals over its games; None for several, and in files that are older than this."""
    wins: tuple[tuple[tuple[float, int], ...], ...] | None = field(default=None, compare=False)
    """In how many games the first (line) got more per round than the second (column), equal ones half, and of how many independent games; None
    where the games are not known, as in files."""

    @property
    def over(self) -> Over | None:
        """What the intervals are over: seeds where there are several, else games; None where there are no intervals."""
        if len(self.payoffs[0][0]) > 1:
            return "seeds"
        return None if self.over_games is None or self.episodes == 1 else "games"

    @property
    def by_pair(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """What the first of a pair got from the second, one number a replicate."""
        return {
            (one, other): self.payoffs[i][j]
            for i, one in enumerate(self.players)
            for j, other in enumerate(self.players)
        }

    def interval(self, first: int, second: int) -> Interval:
        """What one player got per round from another: mean and 95 % interval; see :attr:`over`."""
        return mean_ci95(self.payoffs[first][second]) if self.over_games is None else self.over_games[first][second]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CrossPlay:
        """What :meth:`to_dict` returned, now or before it had ``over``."""
        players = tuple(_renamed(name) for name in data["players"])
        of_pair = {(_renamed(cell["player"]), _renamed(cell["co_player"])): cell for cell in data["cells"]}
        lines = [[of_pair[one, other] for other in players] for one in players]
        payoffs = tuple(tuple(tuple(map(_number, cell["values"])) for cell in line) for line in lines)
        over_games = tuple(tuple(map(_interval, line)) for line in lines)
        known = over_games if data.get("over") == "games" else None
        rounds, episodes = (int(_number(data[name])) for name in ("rounds", "episodes"))
        return cls(str(data["game"]), rounds, episodes, players, payoffs, known)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each pair, with :data:`PAIR_COLUMNS`; needs pandas."""
        return frame(self._cells(), PAIR_COLUMNS)

    def _cells(self) -> list[dict[str, object]]:
        return [
            {
                "player": one,
                "co_player": other,
                "per_round": (interval := self.interval(i, j)).mean,
                "ci95": interval.half_width,
                "n": interval.n,
                "values": list(self.payoffs[i][j]),
            }
            for i, one in enumerate(self.players)
            for j, other in enumerate(self.players)
        ]

    def to_dict(self) -> dict[str, object]:
        """What ``coplay eval --matrix --json`` prints."""
        return {
            "version": VERSION,
            "game": self.game,
            "rounds": self.rounds,
            "episodes": self.episodes,
            "players": list(self.players),
            "over": self.over,
            "cells": self._cells(),
        }

    def table(self, *, game: str | None = None) -> str:
        """As text for a person: a line a player, a column a co-player.

        Args:
            game: what to call the game if its name does not say all, e.g. ``ipd with payoffs 3,0,5,1``.
        """
        head = ["player \\ co-player", *self.players]
        lines = [
            [name, *(str(self.interval(i, j)) for j in range(len(self.players)))] for i, name in enumerate(self.players)
        ]
        title = (
            f"{game or self.game}, {counted(self.rounds, 'round')}, {counted(self.episodes, 'game')} each way;"
            " payoff per round of the player on the left"
            + (f"; ± is the 95% interval over {self.over}" if self.over is not None else "")
        )
        return "\n".join([title, "", *align([head, *lines])])


def _number(value: object) -> float:
    """A number of a file; TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{str(value)[:50]!r} is no number")
    return value


def _interval(cell: Mapping[str, Any]) -> Interval:
    half = cell["ci95"]
    return Interval(_number(cell["per_round"]), None if half is None else _number(half), int(_number(cell["n"])))


def _renamed(player: str) -> str:
    """A player as it is called now: older files have other names for scripted ones."""
    return EARLIER_NAMES.get(player, player)


def cross_play(
    players: Sequence[str], meetings: Meetings, *, game: str, rounds: int, episodes: int, replicates: int
) -> CrossPlay:
    """Play all pairs of players, each player with itself too.

    Args:
        players: their names.
        meetings: plays the games of all pairs.
        game: the game's name.
        rounds: rounds of a game.
        episodes: games of each seating.
        replicates: how often the whole is played, each time with the players' next seeds.

    Raises:
        UsageError: if a player is named twice.
    """
    twice = {name for name in players if list(players).count(name) > 1}
    if twice:
        raise UsageError(f"{', '.join(sorted(twice))} is named twice; everybody meets itself anyway")
    met: list[list[list[Interval]]] = [[[] for _ in players] for _ in players]
    wins = [[(0.0, 0) for _ in players] for _ in players]
    pairs = [
        (i, j, replicate)
        for replicate in range(replicates)
        for i, j in combinations_with_replacement(range(len(players)), 2)
    ]
    for (i, j, _), (first, second) in zip(pairs, meetings(pairs), strict=True):
        if i == j:
            first = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
        met[i][j].append(_over_games(first))
        if i != j:
            met[j][i].append(_over_games(second))
            won, games = _won(first, second)
            wins[i][j] = (wins[i][j][0] + won, wins[i][j][1] + games)
            wins[j][i] = (wins[j][i][0] + games - won, wins[j][i][1] + games)
    payoffs = tuple(tuple(tuple(one.mean for one in cell) for cell in line) for line in met)
    over_games = tuple(tuple(cell[0] for cell in line) for line in met) if replicates == 1 else None
    return CrossPlay(game, rounds, episodes, tuple(players), payoffs, over_games, tuple(map(tuple, wins)))


def _won(first: Sequence[float], second: Sequence[float]) -> tuple[float, int]:
    """In how many independent games the first got more, equal ones half, and how many there are: one if all paid the same."""
    if not first or len(first) != len(second):
        return 0.0, 0
    won = [(a > b) + (a == b) / 2 for a, b in zip(first, second, strict=True)]
    alike = len(set(first)) == len(set(second)) == 1
    return (won[0], 1) if alike else (sum(won), len(won))


def _over_games(payoffs: Sequence[float]) -> Interval:
    """Mean and interval of what was got in each game; no number if no game counts."""
    return mean_ci95(payoffs) if payoffs else Interval(math.nan, None, 0)


def replicates_of(seeds: Sequence[Sequence[int]], names: Sequence[str]) -> int:
    """How many replicates there are: as many as every trained player has seeds; one if nobody is trained.

    Raises:
        UsageError: if trained players have different numbers of seeds.
    """
    counts = {name: len(own) for name, own in zip(names, seeds, strict=True) if own}
    if len(set(counts.values())) > 1:
        numbers = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise UsageError(f"the runs have different numbers of seeds ({numbers}); name single ones as RUN:SEED")
    return next(iter(counts.values()), 1)
