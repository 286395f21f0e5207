"""Demonstrations and fitted simulators as tasks: each is done as a whole, by one process, and is there in one move."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from coplay.experiments.demonstrate import demonstrate
from coplay.experiments.fit_simulator import VERSION, fit_simulator, write_simulator
from coplay.experiments.sft_data import CARD
from coplay.files.reading import as_object, parse_json, read_bytes
from coplay.files.store import Store
from coplay.games.catalogue import make_game
from coplay.games.memory import Memory
from coplay.recipes.demonstrations import Demonstrations
from coplay.runs.recording import Recording
from coplay.runs.sent_players import files_of, inputs_of, models_of, needs_of_models, sent_name
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.task import Needs, Task
from coplay.terminal.progress import Progress

AGAIN = "nothing of it is kept; the same command begins it anew"
"""What to say after Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class DemonstrationsTask(Task):
    """A data set of demonstrations; see :func:`coplay.experiments.demonstrate.demonstrate` for the fields."""

    plans: tuple[Demonstrations, ...]
    """What is played, a game each."""
    seed: int
    """Decides strategies, deals, draws and the split."""
    memory: Memory
    """What the prompts show of the past."""
    validation: float
    """The share of the episodes that is for validation."""
    command: str = ""
    """What was asked for, for the card."""
    locks: ClassVar[bool] = False
    saves: ClassVar[bool] = False

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Play them, unless an earlier attempt has."""
        if not (again and self.is_done()):
            demonstrate(
                self.plans,
                self.directory,
                seed=self.seed,
                memory=self.memory,
                validation=self.validation,
                command=self.command,
            )
        return []

    def needs(self, cpus: int, gpus: float) -> Needs:
        """Memory, and a GPU, for the language models among the opponents."""
        return needs_of_models(models_of(self._players()), cpus, gpus)

    def inputs(self) -> tuple[str, ...]:
        """What the opponents and the games are read from."""
        models = models_of(self._players())
        return inputs_of([path for plan in self.plans for path in files_of(self._players(), plan.game, models)])

    def is_done(self) -> bool:
        """Whether the data set is there."""
        return (self.directory / CARD).exists()

    def card(self) -> dict[str, Any]:
        """What ``card.json`` holds."""
        return Store.open(self.directory, "demonstrations").read_object(CARD)

    def check(self, executor: TaskExecutor) -> None:
        """Find what is wrong with the plans, or cannot be sent; raises UsageError."""
        for plan in self.plans:
            plan.checked()
        if executor.is_elsewhere:
            for player in self._players():
                sent_name(player)

    def _players(self) -> list[str]:
        """Who sits beside the demonstrators."""
        found: dict[str, None] = {}
        for plan in self.plans:
            game = make_game(plan.game)
            for opponent in plan.opponents:
                for seat in plan.seats_in(game):
                    found |= dict.fromkeys(plan.beside(seat, opponent, game).values())
        return list(found)


@dataclass(frozen=True, kw_only=True)
class FitTask(Task):
    """A simulator's file, fitted to recorded games; ``directory`` is the file."""

    games: tuple[Path, ...]
    """The directories of the recordings."""
    seed: int = 0
    """Decides which games are held out."""
    locks: ClassVar[bool] = False
    saves: ClassVar[bool] = False

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Fit it, unless an earlier attempt has."""
        if not (again and self.is_done()):
            write_simulator(fit_simulator(self.games, seed=self.seed), self.directory)
        return []

    def inputs(self) -> tuple[str, ...]:
        """The recordings."""
        return inputs_of(self.games)

    def is_done(self) -> bool:
        """Whether the file is there."""
        return self.directory.exists()

    def check(self) -> None:
        """Find a directory that holds no recorded games; raises UsageError."""
        for path in self.games:
            Recording.open(path)

    def simulator(self) -> dict[str, Any]:
        """What the file holds."""
        return as_object(parse_json(read_bytes(self.directory), self.directory), self.directory, newest=VERSION)


def carry_out(executor: TaskExecutor, task: Task, *, quiet: bool = False) -> None:
    """Carry out one task that is done as a whole.

    Args:
        executor: who carries it out.
        task: the task, whose directory is new.
        quiet: show no progress.

    Raises:
        UsageError: if it cannot be done as asked, or not there.
        Interrupted: on Ctrl-C on a cluster; nothing is kept.
    """
    executor.prepare(task.directory.parent, quiet=quiet)
    for _ in executor.run([task], resume=AGAIN, quiet=quiet):
        pass
