"""Runs as tasks: a run by itself, and one of many, such as an experiment's arm or a sweep's cell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from coplay.errors import CoplayError, UsageError
from coplay.evaluation.tables import diverged_lines
from coplay.files.store import MANIFEST, Store
from coplay.files.writing import Taken
from coplay.models.known import EMBEDDED, MODELS
from coplay.models.loading import model_path
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory, is_finished, is_taken, refuse_existing, refuse_no_run
from coplay.runs.references import freeze_references
from coplay.runs.settings import Setting
from coplay.runs.train import evaluate_in, resume, train, train_or_resume
from coplay.runs.worker_number import LARGEST_SHARED_MODEL
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.task import Needs, Task
from coplay.terminal.progress import Progress
from coplay.tracking.sink import Sink
from coplay.tracking.trackers import sinks_for

PROCESS = 2**29
"""Bytes of memory that a process takes without a model: the libraries and a run's records."""

COPIES = 4
"""Bytes of memory for each parameter of a model, in a process on a CPU; activations and adapters are small beside small models."""


@dataclass(frozen=True, kw_only=True)
class RunTask(Task):
    """A run by itself: trained into a new directory, or resumed in its own."""

    config: Config
    """The run."""
    resumed: bool = False
    """Whether the directory has been begun by an earlier command."""
    track: tuple[str | Sink, ...] = ()
    """Trackers by name; or objects, where the task stays in this process."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Train or resume; raises as :func:`coplay.runs.train.train` does."""
        sinks = sinks_for(self.track)
        if self.resumed or (again and is_taken(self.directory)):
            resume(self.directory, progress=progress, sinks=sinks)
        else:
            train(self.config, self.directory, progress=progress, sinks=sinks)
        return []

    def needs(self, cpus: int, gpus: float) -> Needs:
        """Threads as the config says, a GPU if it has a language model, and memory by its model's size, once for each process that may hold it."""
        return needs_of(self.config, cpus, gpus)

    def inputs(self) -> tuple[str, ...]:
        """The model's directory, and what the config names by a path."""
        config = freeze_references(self.config)
        own = [] if config.model in EMBEDDED else [model_path(config.model)]
        named = [text.partition(":")[0] for text in _texts(config.model_dump(mode="json"))]
        return tuple(dict.fromkeys(text for text in (*own, *named) if text.startswith("/") and Path(text).exists()))

    def is_done(self) -> bool:
        """Whether the run is finished."""
        return is_finished(self.directory)

    def step(self) -> int:
        """The trial of the last checkpoint."""
        with contextlib.suppress(UsageError, OSError):
            if (self.directory / MANIFEST).exists():
                return Store.open(self.directory, "run").step
        return 0


@dataclass(frozen=True, kw_only=True)
class PartTask(RunTask):
    """One run of many: what is there is kept, what was begun is resumed, and a run of which nothing is left tells so and ends nobody else's."""

    settings: tuple[Setting, ...] = ()
    """Other settings than that of training in which it is evaluated too."""
    against: Path | None = None
    """The run of whose every seed it has a seed for a co-player."""
    resume_with: str = ""
    """What to add to the same command to resume after an interrupt."""

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """Train, resume or check, then evaluate.

        Returns:
            A line for each seed that has diverged, or one for all, or one that says why it was not trained.
        """
        if self.against is not None and not _is_whole(self.against):
            needed = f"it needs every seed of {self.against}, of which one has diverged"
            return [f"{self.directory}: not trained, as {needed}"]
        lines = train_or_resume(self.config, self.directory, again=self.resume_with, progress=progress)
        if self.settings and is_finished(self.directory):
            evaluate_in(self.directory, self.settings)
        return lines

    def is_done(self) -> bool:
        """Whether the run is finished and evaluated in all settings."""
        return is_finished(self.directory, [setting.file for setting in self.settings])


def train_by(
    executor: TaskExecutor,
    config: Config,
    out: Path,
    *,
    numbered: bool = False,
    quiet: bool = False,
    track: Sequence[str | Sink] = (),
) -> RunDirectory:
    """Train a run into a new directory.

    Args:
        executor: who trains it.
        config: the run.
        out: its directory.
        numbered: whether to take ``OUT-2`` and so on if something is there already.
        quiet: show no progress.
        track: trackers by name, or sinks, which cannot be sent to other processes.

    Raises:
        UsageError: for anything wrong with the config, the directory or the executor, before anything is written.
        Interrupted: on Ctrl-C, after saving.
    """
    if executor.is_elsewhere and any(not isinstance(one, str) for one in track):
        raise UsageError("on_trial and sinks that are objects work with executor='local' alone; name trackers instead")
    executor.prepare(out.parent, quiet=quiet)
    for number in count(1):
        path = out if number == 1 else out.with_name(f"{out.name}-{number}")
        if numbered and is_taken(path):
            continue
        try:
            refuse_existing(path)
            return _one(executor, RunTask(directory=path, config=config, track=tuple(track)), quiet=quiet)
        except Taken:  # perhaps by another command, in this moment
            if not numbered:
                raise
    raise AssertionError("there is no end to numbers")


def resume_by(
    executor: TaskExecutor, path: Path, *, quiet: bool = False, track: Sequence[str | Sink] = ()
) -> RunDirectory:
    """Resume a run from its latest checkpoint; see :func:`coplay.runs.train.resume` and :func:`train_by`."""
    refuse_no_run(path)
    executor.prepare(path.parent, quiet=quiet)
    config = RunDirectory.open(path).config
    return _one(executor, RunTask(directory=path, config=config, resumed=True, track=tuple(track)), quiet=quiet)


def _one(executor: TaskExecutor, task: RunTask, *, quiet: bool) -> RunDirectory:
    """Carry out a run by itself."""
    if executor.is_elsewhere:
        check_without_weights(task.config)
    again = f"resume it with: coplay train --resume {task.directory}{executor.option}"
    for _ in executor.run([task], resume=again, quiet=quiet):
        pass
    return RunDirectory.open(task.directory)


def needs_of(config: Config, cpus: int, gpus: float) -> Needs:
    """What a run takes; see :meth:`coplay.tasks.task.Task.needs`."""
    cpus = config.threads or cpus
    if not any(learner.policy == "language_model" for learner in config.learners.values()):
        return Needs(max(cpus, config.workers or 1), memory=max(1, config.workers or cpus) * PROCESS)
    if config.four_bit and not gpus:
        raise UsageError("four_bit=true needs a GPU; ask for one with --gpus 1")
    size = parameters(config.model)
    alone = gpus > 0 or size > LARGEST_SHARED_MODEL
    processes = 1 if alone else max(1, min(config.workers or cpus, len(config.seeds)))
    return Needs(max(cpus, config.workers or 1), gpus, processes * memory_of([config.model]))


def memory_of(models: Iterable[str]) -> int:
    """Bytes of memory that a process takes which holds these language models."""
    return PROCESS + COPIES * sum(map(parameters, models))


def parameters(model: str) -> int:
    """About how many parameters a model has, by the size of its files; 0 if they are not here to be looked at."""
    if model in MODELS:
        return MODELS[model].parameters
    try:
        directory = Path(model_path(model))
    except CoplayError:
        return 0
    return sum(file.stat().st_size for file in directory.glob("*.safetensors")) // 2


def _is_whole(path: Path) -> bool:
    """Whether a run is finished and none of its seeds has diverged."""
    return is_finished(path) and not diverged_lines(RunDirectory.open(path).evaluation())


def _texts(data: object) -> Iterator[str]:
    """All texts in a JSON document."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, Sequence):
        for value in data:
            yield from _texts(value)
