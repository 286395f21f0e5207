"""Cross-play as tasks of a cluster: one for each player, with all that come after it. What takes a moment stays where it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from coplay.errors import UsageError
from coplay.evaluation.at_once import AtOnce
from coplay.evaluation.cross_play import Meetings, Payoffs
from coplay.evaluation.match import STREAMS
from coplay.files.reading import expected_shape
from coplay.games.base import Game
from coplay.games.catalogue import GameSpec, make_game
from coplay.players.named import PlayerSpec
from coplay.runs.contestants import Contestant, contestants, meetings_of_all
from coplay.runs.sent_players import (
    checksums_of,
    files_of,
    inputs_of,
    models_of,
    needs_of_models,
    sent_game,
    sent_name,
)
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.results import ResultTask, results
from coplay.tasks.task import Needs
from coplay.terminal.progress import Progress
from coplay.text.rendering import counted

Meeting = tuple[int, int, int]
"""Two players by their numbers, and the replicate."""


@dataclass(frozen=True)
class Matrix:
    """A cross-play that is asked for by names."""

    game: str | dict[str, object]
    """The game."""
    players: tuple[str, ...]
    """Who meets."""
    rounds: int
    """Most rounds of a game."""
    episodes: int = 100
    """Games of each seating."""
    seeds: tuple[int, ...] = (0,)
    """Of the replicates; those of further ones follow the last."""
    temperature: float | None = None
    """At which trained players sample text; None for each run's own."""
    max_tokens: int | None = None
    """Tokens that a reply in text of an untrained model may have; None for the usual number."""

    def play(self, asked: Sequence[Meeting]) -> Iterable[Payoffs]:
        """Load the players of some meetings, and play their games."""
        own = sorted({player for one in asked for player in one[:2]})
        game = make_game(self.game).lasting(self.rounds)
        found = contestants(
            [self.players[i] for i in own], game, temperature=self.temperature, max_tokens=self.max_tokens
        )
        play = self.meetings(found, game)
        return play([(own.index(i), own.index(j), replicate) for i, j, replicate in asked])

    def meetings(self, found: Sequence[Contestant], game: Game) -> Meetings:
        """The meetings of loaded players, in this process."""
        return meetings_of_all(found, game, rounds=self.rounds, episodes=self.episodes, seed=self.seed_of)

    def seed_of(self, replicate: int) -> int:
        """The seed of a replicate's games."""
        known = len(self.seeds)
        return self.seeds[replicate] if replicate < known else self.seeds[-1] + replicate - known + 1


@dataclass(frozen=True, kw_only=True)
class PartOfMatrix(ResultTask):
    """Some meetings of a cross-play."""

    matrix: Matrix
    """The cross-play."""
    meetings: tuple[Meeting, ...]
    """Which of its meetings."""

    def asked(self) -> dict[str, object]:
        """The cross-play, the meetings and what the players are read from."""
        return {**asdict(self.matrix), "meetings": self.meetings, "files": checksums_of(self._files())}

    def compute(self, progress: Progress) -> dict[str, object]:
        """What the two of each meeting get from each other, game by game."""
        return {"payoffs": [[list(first), list(second)] for first, second in self.matrix.play(self.meetings)]}

    def needs(self, cpus: int, gpus: float) -> Needs:
        """Memory, and a GPU, for the language models among the players."""
        return needs_of_models(models_of(self._players()), cpus, gpus)

    def inputs(self) -> tuple[str, ...]:
        """What players and game are read from."""
        return inputs_of(self._files())

    def _players(self) -> list[str]:
        return [self.matrix.players[i] for i in sorted({player for one in self.meetings for player in one[:2]})]

    def _files(self) -> list[Path]:
        return files_of(self._players(), self.matrix.game, models_of(self._players()))


def check_sendable(game: GameSpec, players: Sequence[PlayerSpec], folder: str | Path | None) -> None:
    """Refuse a cross-play that cannot be sent to a cluster, before anything is loaded.

    Args:
        game: the game.
        players: who meets.
        folder: where the results of its tasks are kept meanwhile.

    Raises:
        UsageError: for objects, endpoints, or no folder.
    """
    for one in players:
        sent_name(one)
    sent_game(game)
    if folder is None:
        raise UsageError(
            "all pairs on a cluster need --parts DIR, on storage that all machines share: its parts write their results there"
        )


def meetings_by(
    executor: TaskExecutor, matrix: Matrix, found: Sequence[Contestant], folder: Path, *, quiet: bool = False
) -> Meetings:
    """Meetings that a cluster plays; those that are played together as arrays, in a moment, are played by this process.

    Args:
        executor: the cluster.
        matrix: what is asked for.
        found: its players, loaded.
        folder: where the results of tasks lie until all are there.
        quiet: do not show how far tasks are.

    Returns:
        The meetings, which raise UsageError if there is something wrong with the cluster or the folder has something else in it, and Interrupted on
        Ctrl-C; what is done then is kept for the same command.
    """

    def play(asked: Sequence[Meeting]) -> Iterable[Payoffs]:
        game = make_game(matrix.game).lasting(matrix.rounds)
        at_once = AtOnce(game, rounds=matrix.rounds, streams=STREAMS)
        quick = {
            (one, replicate): at_once.covers({seat: found[one].occupant(replicate, seat) for seat in game.seats})
            for one, replicate in {(player, pair[2]) for pair in asked for player in pair[:2]}
        }
        here = [one for one in asked if quick[one[0], one[2]] and quick[one[1], one[2]]]
        payoffs = dict(zip(here, matrix.meetings(found, game)(here), strict=True))
        tasks = _tasks(matrix, [one for one in asked if one not in payoffs], folder)
        if tasks:
            with results(executor, tasks, folder, quiet=quiet) as told, expected_shape(folder):
                for task, of_task in zip(tasks, told, strict=True):
                    both = [(list(first), list(second)) for first, second in of_task["payoffs"]]
                    payoffs |= dict(zip(task.meetings, both, strict=True))
        return [payoffs[one] for one in asked]

    return play


def _tasks(matrix: Matrix, meetings: Sequence[Meeting], folder: Path) -> list[PartOfMatrix]:
    """A task for each player that is the first in some meetings, with all of these."""
    return [
        PartOfMatrix(
            name=f"{matrix.players[first]} with {counted(len({one[1] for one in own}), 'player')}",
            directory=folder / f"row-{first}",
            matrix=matrix,
            meetings=tuple(own),
        )
        for first in sorted({one[0] for one in meetings})
        if (own := [one for one in meetings if one[0] == first])
    ]
