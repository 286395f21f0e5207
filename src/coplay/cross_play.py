"""Cross-play: everybody meets everybody and itself, with seats swapped; what each gets from whom, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coplay.errors import UsageError
from coplay.evaluate import align
from coplay.stats import Interval, mean_ci95

VERSION = 1
"""Of the JSON form."""

Meeting = Callable[[int, int, int], tuple[float, float]]
"""(first, second, replicate) to what each of two players gets per round; half of the games are played with seats swapped."""


@dataclass(frozen=True)
class CrossPlay:
    """Who got what from whom."""

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

    @property
    def by_pair(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """What the first of a pair got from the second, one number a replicate."""
        return {
            (one, other): self.payoffs[i][j]
            for i, one in enumerate(self.players)
            for j, other in enumerate(self.players)
        }

    def interval(self, first: int, second: int) -> Interval:
        """What one player got per round from another: mean and 95 % interval over replicates."""
        return mean_ci95(self.payoffs[first][second])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CrossPlay:
        """What :meth:`as_json` returned."""
        players = tuple(data["players"])
        of_pair = {(cell["player"], cell["co_player"]): tuple(cell["values"]) for cell in data["cells"]}
        payoffs = tuple(tuple(of_pair[one, other] for other in players) for one in players)
        return cls(data["game"], data["rounds"], data["episodes"], players, payoffs)

    def as_json(self) -> dict[str, Any]:
        """What ``coplay eval --matrix --json`` prints."""
        cells = []
        for i, line in enumerate(self.payoffs):
            for j, values in enumerate(line):
                interval = self.interval(i, j)
                cells.append(
                    {
                        "player": self.players[i],
                        "co_player": self.players[j],
                        "per_round": interval.mean,
                        "ci95": interval.half_width,
                        "n": interval.n,
                        "values": list(values),
                    }
                )
        return {
            "version": VERSION,
            "game": self.game,
            "rounds": self.rounds,
            "episodes": self.episodes,
            "players": list(self.players),
            "cells": cells,
        }

    def table(self) -> str:
        """As text for a person: a line a player, a column a co-player."""
        head = ["player \\ co-player", *self.players]
        lines = [
            [name, *(str(self.interval(i, j)) for j in range(len(self.players)))] for i, name in enumerate(self.players)
        ]
        several = len(self.payoffs[0][0]) > 1
        title = (
            f"{self.game}, {self.rounds} rounds, {self.episodes} games each way; payoff per round of the player on the left"
            + ("; ± is the 95% interval over trained seeds" if several else "")
        )
        return "\n".join([title, "", *align([head, *lines])])


def cross_play(
    players: Sequence[str], meeting: Meeting, *, game: str, rounds: int, episodes: int, replicates: int
) -> CrossPlay:
    """Let everybody meet everybody and itself.

    Args:
        players: their names.
        meeting: plays a pair's games.
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
    payoffs: list[list[list[float]]] = [[[] for _ in players] for _ in players]
    for replicate in range(replicates):
        for i in range(len(players)):
            for j in range(i, len(players)):
                first, second = meeting(i, j, replicate)
                if i == j:
                    first = second = (first + second) / 2
                payoffs[i][j].append(first)
                if i != j:
                    payoffs[j][i].append(second)
    return CrossPlay(game, rounds, episodes, tuple(players), tuple(tuple(map(tuple, line)) for line in payoffs))


def replicates_of(seeds: Sequence[Sequence[int]], names: Sequence[str]) -> int:
    """How many replicates there are: as many as every trained player has seeds; one if nobody is trained.

    Raises:
        UsageError: if trained players have different numbers of seeds.
    """
    counts = {name: len(own) for name, own in zip(names, seeds, strict=True) if own}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise UsageError(f"the runs have different numbers of seeds ({told}); name single ones as RUN:SEED")
    return next(iter(counts.values()), 1)
