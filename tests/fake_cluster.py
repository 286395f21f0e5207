"""An executor that sends tasks as a cluster does, to this very process: in another order, and as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coplay.errors import Interrupted
from coplay.tasks.executors import T
from coplay.tasks.task import Needs
from coplay.terminal.progress import Progress


@dataclass
class FakeCluster:
    """Carries tasks out in the opposite order.

    Args:
        stops_after: raise as after Ctrl-C when so many tasks are over; None for never.
    """

    stops_after: int | None = None
    is_elsewhere: bool = True
    option: str = " --executor ray"
    carried_out: list[str] = field(default_factory=list)
    """The titles of the tasks that were not over before, in order."""
    needs: list[Needs] = field(default_factory=list)
    """What they need."""
    inputs: list[tuple[str, ...]] = field(default_factory=list)
    """What they read."""

    def prepare(self, out: Path, *, quiet: bool = False) -> None:
        """Nothing can be wrong here."""

    def run(self, tasks: Sequence[T], *, resume: str, quiet: bool = False) -> Iterator[tuple[T, list[str]]]:
        """See :class:`coplay.tasks.executors.TaskExecutor`."""
        for task in reversed(tasks):
            if self.stops_after is not None and len(self.carried_out) >= self.stops_after:
                raise Interrupted(f"{'saved' if task.saves else 'stopped'}; {resume}")
            if not task.is_done():
                self.carried_out.append(task.title)
                self.needs.append(task.needs(1, 1.0))
                self.inputs.append(task.inputs())
            sent: T = pickle.loads(pickle.dumps(task))
            yield task, sent.run(Progress(quiet=True))
