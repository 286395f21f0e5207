"""Runs of seconds of every kind, as tasks."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from small_runs import small
from small_text_runs import small_text

from coplay.games.records import TrialResult
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.state import TrainingState
from coplay.runs.tasks import PartTask
from coplay.tasks.executors import LOCAL, TaskExecutor
from coplay.tasks.ray_attempt import read_report
from coplay.tasks.results import ResultTask
from coplay.tasks.task import Task
from coplay.terminal.progress import Progress


def sepo() -> Config:
    """A learner with a safety objective against pools."""
    sizes = [
        "games=7",
        "group_size=1",
        "eval_games=2",
        "trials=2",
        "rounds=3",
        "checkpoint_every=1",
        "held_out_games=1",
    ]
    config = make_config("sepo/ipd-8", learner="tabular")
    return with_overrides(config, [*sizes, "threads=1", "seeds=[0,1]"])


def mediation() -> Config:
    """A mediator that learns."""
    sizes = ["games=2", "eval_games=2", "trials=2", "rounds=2", "checkpoint_every=1", "threads=1", "seeds=[0]"]
    return with_overrides(make_config("mediation/ipd-3-ppo"), sizes)


KINDS = {
    "matrix": lambda: small("language_model", "seeds=[0,1]"),
    "tabular": lambda: small("tabular", "seeds=[0,1]"),
    "text": lambda: small_text("ipd-ab"),
    "sepo": sepo,
    "mediation": mediation,
}
"""Configs by the kind of run."""


def parts(out: Path, *kinds: str) -> list[PartTask]:
    """A task for each kind of run, below a directory."""
    return [PartTask(name=kind, directory=out / kind, config=KINDS[kind]()) for kind in kinds]


def carried_out(executor: TaskExecutor, tasks: Sequence[Task]) -> dict[str, list[str]]:
    """What became of tasks, by name."""
    return {task.name: lines for task, lines in executor.run(tasks, resume="run it again", quiet=True)}


@dataclass(frozen=True, kw_only=True)
class Slow(PartTask):
    """A run whose trials take a while, so that something can happen meanwhile."""

    seconds: float = 0.4
    """Of each trial."""
    hurry: Path | None = None
    """From when this file exists, trials take no longer than they must."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        whole = TrainingState.run_trial

        def slow(state: TrainingState, trial: int) -> TrialResult:
            if self.hurry is None or not self.hurry.exists():
                time.sleep(self.seconds)
            return whole(state, trial)

        TrainingState.run_trial = slow  # type: ignore[method-assign]
        try:
            return super().run(progress, again=again)
        finally:
            TrainingState.run_trial = whole  # type: ignore[method-assign]


@dataclass(frozen=True, kw_only=True)
class Broken(Task):
    """Work that never succeeds."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        print("what the task printed")
        raise RuntimeError("broken for good")


@dataclass(frozen=True, kw_only=True)
class Dying(Task):
    """Work that ends its process."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        print("about to die", flush=True)
        os._exit(1)


TRIALS = 20
"""Of a slow run: at 0.4 seconds each none is over before another machine has started a process."""


def slow_runs(out: Path, number: int, *, trials: int = TRIALS, seconds: float = 0.4) -> list[Slow]:
    """Runs of a table, with a checkpoint after every trial, which are slow until :func:`hurry`."""
    config = small("tabular", f"trials={trials}", "checkpoint_every=1")
    how = {"config": config, "seconds": seconds, "hurry": out / "hurry"}
    return [Slow(name=f"run{i}", directory=out / f"run{i}", **how) for i in range(number)]


def hurry(tasks: Sequence[Slow]) -> None:
    """Let slow runs end soon."""
    for task in tasks:
        assert task.hurry is not None
        task.hurry.touch()


def reference(out: Path, *, trials: int = TRIALS) -> Path:
    """What each of them ends as."""
    for _ in LOCAL.run(slow_runs(out, 1, trials=trials, seconds=0), resume="", quiet=True):
        pass
    return out / "run0"


def wait_until(happened: Callable[[], object], *, seconds: float = 180) -> None:
    """Wait for something; fail if it does not happen."""
    ends = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < ends, "it has not happened"
        time.sleep(0.05)


def steps(directory: Path) -> int:
    """How far the task of a directory says that it is; -1 before it says so."""
    report = read_report(directory)
    return -1 if report is None or not report["steps"] else report["step"]


@contextlib.contextmanager
def meanwhile(what: Callable[[], object]) -> Iterator[None]:
    """Something that is done in a thread while the block runs; what it raises is raised after the block."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(what)
        yield
        done.result()


@dataclass(frozen=True, kw_only=True)
class Waiting(ResultTask):
    """Work that takes long unless a file says that it need not."""

    hurry: Path

    def asked(self) -> dict[str, object]:
        return {"name": self.name}

    def compute(self, progress: Progress) -> dict[str, object]:
        with progress.running(1):
            wait_until(self.hurry.exists)
        return {"name": self.name}
