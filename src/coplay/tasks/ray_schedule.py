"""Tasks on a Ray cluster: handed out, watched, begun again where a machine was lost, given up where that does not help."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from coplay.errors import CoplayError, Interrupted, UsageError
from coplay.files.fence import FOLDER, grant, revoke, task_folder
from coplay.files.lock import hold
from coplay.tasks.display import Display
from coplay.tasks.executors import T
from coplay.tasks.ray_attempt import Outcome, Sent, attempt, read_report
from coplay.tasks.ray_checks import remove_if_empty
from coplay.tasks.ray_failures import FINAL, raise_failures, reason_of
from coplay.tasks.task import Needs
from coplay.tasks.versions import versions
from coplay.terminal.interrupt import Interrupt

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.remote_function import RemoteFunction

ATTEMPTS = 3
"""Errors of its own after which a task is given up; having no memory left is one."""

LOSSES = 10
"""Attempts in a row after which it is given up that were lost with their machine or process and had reached no further checkpoint."""

PATIENCE = 120.0
"""Seconds without a sign of life after which an attempt is given up. Files on network file systems are seen late, by up to a minute."""

TICK = 0.25
"""Seconds between two looks at what runs."""

COUNTED_AGAIN = 2.0
"""Seconds after which machines and processors are counted again: machines join and leave."""

IDLE = 60.0
"""Seconds after which it is told that tasks wait and none runs."""


@dataclass
class _Running(Generic[T]):
    """An attempt that has been handed out."""

    task: T
    token: str
    heard: float | None = None
    """When a sign of life was seen last; None before the first."""
    beat: int = 0
    """The number of that sign."""
    machine: str = ""
    """Where it runs, once it has begun."""
    let_go: Callable[[], None] | None = None
    """Lets go of the directory's lock."""


@dataclass
class _History:
    """The attempts at a task so far."""

    step: int
    """How far it was before the latest."""
    attempts: int = 0
    """How many there were."""
    stalled: int = 0
    """How many of those that were lost have brought it no further, in a row."""
    errors: int = 0
    """How many ended with an error of the task's own."""


class Schedule(Generic[T]):
    """Tasks on their way through a cluster.

    Args:
        tasks: what to do.
        needs: what each takes.
        over: directories of tasks that were over before.
        patience: see :data:`PATIENCE`.
        resume: what to say after Ctrl-C.
        quiet: show no progress.
    """

    def __init__(
        self,
        tasks: Sequence[T],
        needs: Sequence[Needs],
        *,
        over: Collection[Path],
        patience: float,
        resume: str,
        quiet: bool,
    ) -> None:
        self.waiting = list(tasks)
        self.needs = {task.directory: one for task, one in zip(tasks, needs, strict=True)}
        self.over, self.patience, self.resume = set(over), patience, resume
        self.running: dict[ObjectRef[Any], _Running[T]] = {}
        self.history = {task.directory: _History(task.step()) for task in tasks}
        self.failed: dict[Path, CoplayError] = {}
        self.alone = len(tasks) == 1
        self.saves = any(task.saves for task in tasks)
        self.versions = versions()
        self.remote = _remote_attempt()
        self.busy = time.monotonic()
        self.processors, self.machines, self.counted = 0, 0, -math.inf
        self.display = Display([task.title for task in tasks], quiet=quiet)

    def run(self) -> Iterator[tuple[T, list[str]]]:
        """Carry out all tasks; see :meth:`coplay.tasks.executors.TaskExecutor.run`."""
        import ray

        try:
            with Interrupt() as interrupt, self.display:
                asked = False
                while self.waiting or self.running:
                    if interrupt.asked and not asked:
                        asked = True
                        self._ask_to_stop()
                    self._hand_out()
                    if not self.running and not self.failed.keys() & {
                        one for task in self.waiting for one in task.after
                    }:
                        self._refuse_to_wait()
                    if self.running:
                        ready, _ = ray.wait(list(self.running), num_returns=1, timeout=TICK)
                        if ready:  # and whatever else is
                            ready, _ = ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
                        for ref in ready:
                            yield from self._ended(ref, stopping=interrupt.asked)
                    self._listen()
                if asked:
                    raise Interrupted(f"{'saved' if self.saves else 'stopped'}; {self.resume}")
        finally:
            self._abandon()
        raise_failures(self.failed, of=len(self.history), resume=self.resume)

    def _refuse_to_wait(self) -> None:
        """Nothing runs, so what still waits would wait for ever."""
        if self.waiting:
            raise ValueError(f"{self.waiting[0].title} comes after {self.waiting[0].after}, which nobody does")

    # ------------------------------------------------------------------ handing out

    def _hand_out(self) -> None:
        """Begin what can begin, as much as keeps the cluster busy."""
        self._count()
        for task in list(self.waiting):
            if len(self.running) >= 2 * max(4, self.processors):
                return
            lost = [one for one in task.after if one in self.failed]
            if lost:
                self.waiting.remove(task)
                self._give_up(task, CoplayError(f"not begun, as it needs {lost[0]}"))
            elif all(one in self.over for one in task.after):
                self.waiting.remove(task)
                self._begin(task)

    def _count(self) -> None:
        """Ask how many machines and processors the cluster has; the answer takes milliseconds, too long for each of many short tasks."""
        import ray

        now = time.monotonic()
        if now - self.counted >= COUNTED_AGAIN:
            self.counted = now
            self.processors = int(ray.cluster_resources().get("CPU", 0))
            self.machines = sum(bool(node["Alive"]) for node in ray.nodes())

    def _begin(self, task: T) -> None:
        history, needs = self.history[task.directory], self.needs[task.directory]
        history.attempts += 1
        running = _Running(task, uuid.uuid4().hex)
        try:
            self._lock(running)
        except UsageError as error:
            self._give_up(task, error)
            return
        grant(task.directory, running.token)
        remote = self.remote.options(
            name=task.title,
            num_cpus=needs.cpus,
            num_gpus=needs.gpus,
            memory=needs.memory,
            max_retries=0,  # Ray's own would not count, nor change the grant
            # to spread, Ray looks for a machine anew for each task; without, a process takes the next task at once
            scheduling_strategy="SPREAD" if self.machines > 1 else "DEFAULT",
        )
        self.running[remote.remote(Sent(task, running.token, history.attempts, needs.cpus, self.versions))] = running

    def _lock(self, running: _Running[T]) -> None:
        """Hold the lock of a task's directory for it, as soon as there is one; raises UsageError if another command has it."""
        if running.let_go is None and running.task.locks and running.task.directory.is_dir():
            running.let_go = hold(running.task.directory)

    # ------------------------------------------------------------------ watching

    def _listen(self) -> None:
        """Look for signs of life and for how far tasks are, and give up attempts that have been silent for too long."""
        for ref, running in list(self.running.items()):
            if self._hear(running):
                with contextlib.suppress(UsageError):  # then it has been shut out, and says so
                    self._lock(running)
            elif running.heard is not None and time.monotonic() - running.heard > self.patience:
                self._let_go(ref)
                self._lost(running, f"{running.machine} has given no sign of life for {self.patience:g} seconds")
                _cancel(ref, force=True)

        self._tell_if_idle()

    def _tell_if_idle(self) -> None:
        """Say so, now and then, if no machine has taken anything for a while."""
        now = time.monotonic()
        if not self.running or any(running.heard is not None for running in self.running.values()):
            self.busy = now
        elif now - self.busy > IDLE:
            self.busy = now
            self.display.say(
                f"no machine has had room for any of {len(self.running)} tasks for {IDLE:g} seconds; waiting"
            )

    def _hear(self, running: _Running[T]) -> bool:
        """Show how far an attempt is; whether it has given a sign of life since the last look."""
        report = read_report(running.task.directory)
        if report is None or report["token"] != running.token:
            return False
        self.display.show(running.task.title, report["step"], report["steps"], report["numbers"])
        if running.heard is not None and report["beat"] == running.beat:
            return False
        running.heard, running.beat, running.machine = time.monotonic(), report["beat"], report["machine"]
        return True

    def _ended(self, ref: ObjectRef[Any], *, stopping: bool) -> Iterator[tuple[T, list[str]]]:
        """What has become of an attempt."""
        import ray

        running = self._let_go(ref)
        task = running.task
        try:
            outcome: Outcome = ray.get(ref)
        except ray.exceptions.TaskCancelledError:
            outcome = {"interrupted": ""}
        except ray.exceptions.RayError as error:
            if not stopping:
                self.history[task.directory].errors += isinstance(error, ray.exceptions.OutOfMemoryError)
                self._lost(running, reason_of(error))
            return
        if "done" in outcome:
            self.over.add(task.directory)
            self._hear(running)
            shutil.rmtree(task_folder(task.directory), ignore_errors=True)
            self.display.over(task.title)
            yield task, outcome["done"]
        elif stopping:
            return
        elif "refused" in outcome and outcome["refused"][0] in FINAL:
            kind, text = outcome["refused"]
            self._give_up(task, FINAL[kind](text))
        elif "superseded" in outcome:
            self._give_up(task, UsageError(outcome["superseded"]))
        else:
            told = outcome.get("failed") or outcome.get("refused", ("", "it was stopped from outside"))[1]
            self.history[task.directory].errors += "interrupted" not in outcome
            self._lost(running, told)

    def _lost(self, running: _Running[T], reason: str) -> None:
        """Begin a task again whose attempt came to nothing, unless that has brought it no further several times."""
        task, history = running.task, self.history[running.task.directory]
        step = task.step()
        history.stalled = 0 if step > history.step else history.stalled + 1
        history.step = step
        if history.errors >= ATTEMPTS or history.stalled >= LOSSES:
            self._give_up(task, CoplayError(f"{reason}, after {history.attempts} attempts"))
            return
        where = f"from step {step}" if step else "from its beginning"
        self.display.say(f"{task.title}: {reason}; attempt {history.attempts + 1}, {where}")
        self.waiting.insert(0, task)

    # ------------------------------------------------------------------ ending

    def _ask_to_stop(self) -> None:
        """Have all that runs save and end; nothing else begins."""
        self.waiting.clear()
        if self.running:
            doing = "saving" if self.saves else "stopping"
            self.display.say(f"{doing} {len(self.running)} of them; Ctrl-C again stops them at once")
        for ref in self.running:
            _cancel(ref, force=False)

    def _let_go(self, ref: ObjectRef[Any]) -> _Running[T]:
        """Watch an attempt no longer, and shut it out of its directory."""
        running = self.running.pop(ref)
        revoke(running.task.directory)
        if running.let_go is not None:
            running.let_go()
        return running

    def _give_up(self, task: T, error: CoplayError) -> None:
        self.failed[task.directory] = error
        if self.history[task.directory].attempts and not self.alone:
            self.display.say(f"{task.title}: {str(error).splitlines()[0]}; given up, the others go on")

    def _abandon(self) -> None:
        """Stop at once what still runs, and remove the folders of tasks that did not fail."""
        for ref in list(self.running):
            self._let_go(ref)
            _cancel(ref, force=True)
        for directory in self.history:
            if directory not in self.failed:
                shutil.rmtree(task_folder(directory), ignore_errors=True)
        for folder in {directory.parent / FOLDER for directory in self.history}:
            remove_if_empty(folder)


def _remote_attempt() -> RemoteFunction:
    """An attempt as Ray's function. One serves all tasks: every process of the cluster fetches each such function once."""
    import ray

    return ray.remote(attempt)


def _cancel(ref: ObjectRef[Any], *, force: bool) -> None:
    """Ask an attempt to stop, or have its process killed where it can be reached."""
    import ray

    with contextlib.suppress(Exception):  # it may be over, and its machine gone
        ray.cancel(ref, force=force)
