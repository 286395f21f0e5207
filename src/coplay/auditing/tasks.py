"""The parts of an audit as tasks of a cluster: each is sent names and numbers, and its result is a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from coplay.auditing.parts import Case, Found, measured, parts, title
from coplay.auditing.plan import Plan
from coplay.auditing.record import Audit
from coplay.auditing.run import Tell, audit_player, case_of, merged
from coplay.errors import UsageError
from coplay.files.reading import expected_shape
from coplay.games.catalogue import GameSpec, make_game
from coplay.models.known import TINY
from coplay.players.named import PlayerSpec
from coplay.runs.contestants import contestants
from coplay.runs.exploiter import KINDS, TABLES
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
from coplay.tasks.results import ResultTask, parts_folder, results
from coplay.tasks.task import Needs
from coplay.terminal.progress import Progress


@dataclass(frozen=True)
class Order:
    """An audit that is asked for by names."""

    game: str | dict[str, object]
    """The game."""
    player: str
    """Who is audited."""
    plan: Plan
    """What is measured."""
    temperature: float | None = None
    """At which trained players sample text; None for each run's own."""

    def case(self) -> Case:
        """Game and player, loaded; raises UsageError if the player cannot be audited there."""
        game = make_game(self.game).lasting(self.plan.rounds)
        (player,) = contestants([self.player], game, temperature=self.temperature)
        return case_of(game, player, self.plan)


@dataclass(frozen=True, kw_only=True)
class PartOfAudit(ResultTask):
    """One part of an audit."""

    part: str
    """Which, of :func:`coplay.auditing.parts.parts`."""
    order: Order
    """The audit."""
    seconds: float | None = None
    """How long learners are trained at most; None for no limit."""

    def asked(self) -> dict[str, object]:
        """The order, the part and what the player is read from."""
        return {
            "part": self.part,
            **asdict(self.order),
            "seconds": self.seconds,
            "files": checksums_of(self._files()),
        }

    def compute(self, progress: Progress) -> dict[str, object]:
        """What the part has found."""
        seconds = math.inf if self.seconds is None else self.seconds
        return measured(self.part, self.order.case(), seconds=seconds).to_dict()

    def needs(self, cpus: int, gpus: float) -> Needs:
        """Memory, and a GPU, for the language models among player and learners."""
        return needs_of_models(self._models(), cpus, gpus)

    def inputs(self) -> tuple[str, ...]:
        """What player, game and models are read from."""
        return inputs_of(self._files())

    def _models(self) -> list[str]:
        learns = self.part in KINDS and self.part not in TABLES
        return [*models_of([self.order.player]), *([self.order.plan.model or TINY] if learns else [])]

    def _files(self) -> list[Path]:
        return files_of([self.order.player], self.order.game, self._models())


def tasks_of(order: Order, case: Case, out: Path) -> list[PartOfAudit]:
    """A task for each part of an audit. Each kind of learners has its share of the seconds, as they are trained at the same time.

    Args:
        order: the audit.
        case: what it names, loaded.
        out: the audit's directory.
    """
    found, plan = parts(case), order.plan
    learners = [part for part in found if part in KINDS]
    share = None if plan.seconds is None or not learners else plan.seconds / len(learners)
    return [
        PartOfAudit(
            name=title(part),
            directory=parts_folder(out) / part,
            part=part,
            order=order,
            seconds=share if part in KINDS else None,
        )
        for part in found
    ]


def check_sendable(game: GameSpec, player: PlayerSpec, out: Path | None) -> None:
    """Refuse an audit that cannot be sent to a cluster, before anything is loaded.

    Args:
        game: the game.
        player: who is audited.
        out: the audit's directory, beside which the parts' results are written.

    Raises:
        UsageError: for an object, an endpoint, or no directory.
    """
    sent_name(player)
    sent_game(game)
    if out is None:
        raise UsageError(
            "an audit on a cluster needs --out DIR, on storage that all machines share: its parts write there"
        )


@contextmanager
def audited(
    executor: TaskExecutor,
    case: Case,
    *,
    game: GameSpec,
    out: Path | None = None,
    temperature: float | None = None,
    tell: Tell = lambda text: None,
    quiet: bool = False,
) -> Iterator[Audit]:
    """Carry out an audit, for a block that writes it: in this process, or its parts as tasks of a cluster.

    Args:
        executor: who carries it out.
        case: who is audited in what.
        game: what the game is called.
        out: the audit's directory; needed where the executor is elsewhere.
        temperature: at which trained players sample text; None for each run's own.
        tell: is told what is being measured, in this process.
        quiet: do not show how far tasks are.

    Yields:
        What was found.

    Raises:
        UsageError: as :func:`check_sendable`, or if there is something wrong with the cluster.
        Interrupted: on Ctrl-C on a cluster; parts that are done are kept for the same command.
    """
    if not executor.is_elsewhere:
        yield audit_player(case, tell=tell)
        return
    check_sendable(game, case.player.name, out)
    assert out is not None
    order = Order(sent_game(game), case.player.name, case.plan, temperature)
    tasks = tasks_of(order, case, out)
    with results(executor, tasks, parts_folder(out), quiet=quiet) as found:
        with expected_shape(parts_folder(out)):
            of_parts = {task.part: Found.from_json(one) for task, one in zip(tasks, found, strict=True)}
        yield merged(case, of_parts)
