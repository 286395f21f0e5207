"""Executors: who trains a run's seeds. In this process, or shared out over processes, one a core; a cluster can be another.

Seeds do not depend on each other, so a run of five seeds may be a run of three beside a run of two. A small model's tensor operations
are too short to be worth splitting over threads; whole seeds are not. Each worker trains its part of the seeds as one process
trains them all, and is asked, trial by trial, for metrics and now and then for what it has learnt.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from coplay.games.records import EpisodeRecord, TrialResult
from coplay.runs.config import Config
from coplay.runs.worker_number import workers_for
from coplay.runs.workers import SeedStates, SentStates, Worker, collect_seldom

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.runs.state import TrainingState


class Executor(Protocol):
    """Whoever trains a run's seeds."""

    def run_trial(self, trial: int) -> TrialResult:
        """Train all seeds for one trial."""
        ...

    def state_dicts(self) -> SeedStates:
        """Everything that learning has changed, by seed; see :meth:`coplay.runs.state.TrainingState.state_dict`."""
        ...


class InProcess:
    """All seeds in this process."""

    def __init__(self, state: TrainingState) -> None:
        self.state = state

    def run_trial(self, trial: int) -> TrialResult:
        """See :class:`Executor`."""
        return self.state.run_trial(trial)

    def state_dicts(self) -> SeedStates:
        """See :class:`Executor`."""
        return {seed: self.state.state_dict(seed) for seed in self.state.config.seeds}


class LocalProcesses:
    """The seeds shared out over processes of this machine.

    Args:
        config: the run.
        states: what it has learnt so far, by seed.
        workers: number of processes, at most one a seed.
        threads: CPU threads of all of them together.
    """

    def __init__(self, config: Config, states: SeedStates, *, workers: int, threads: int) -> None:
        each = max(1, threads // workers)
        self.workers: list[Worker] = []
        try:
            for share in shares(config.seeds, workers):
                part = config.model_copy(update={"seeds": share, "threads": each, "workers": 1})
                self.workers.append(Worker(part, {seed: states[seed] for seed in share}, threads=each))
            for worker in self.workers:
                worker.receive()
        except BaseException:
            self.close()
            raise

    def run_trial(self, trial: int) -> TrialResult:
        """See :class:`Executor`."""
        lines: dict[int, dict[str, object]] = {}
        episodes: list[EpisodeRecord] = []
        for result in cast("list[TrialResult]", self._all(("trial", trial))):
            lines |= result.lines
            episodes += result.episodes
        seeds = list(lines)
        return TrialResult(lines, sorted(episodes, key=lambda game: (game["episode"], seeds.index(game["seed"]))))

    def state_dicts(self) -> SeedStates:
        """See :class:`Executor`."""
        import torch

        states: dict[int, dict[str, Tensor]] = {}
        for part in cast("list[SentStates]", self._all(("states", None))):
            states |= {seed: {key: torch.from_numpy(value) for key, value in own.items()} for seed, own in part.items()}
        return states

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()

    def _all(self, request: tuple[str, object]) -> list[object]:
        """Ask all workers at once."""
        for worker in self.workers:
            worker.send(request)
        return [worker.receive() for worker in self.workers]


@contextlib.contextmanager
def executor_for(state: TrainingState, *, first_trial: int = 0) -> Iterator[Executor]:
    """Whoever is to train this run's seeds: this process, or workers that start from the state.

    What workers have learnt is in the state again when the block ends without an error.

    Args:
        state: the run.
        first_trial: the first trial to be trained. A resumed run has as many workers as it had before, unless nothing is left to train.
    """
    from coplay.models.threads import available_threads

    threads = state.config.threads or available_threads()
    number = worker_count(state, threads) if first_trial < state.config.trials else 1
    if number == 1:
        with _seldom_collected():
            yield InProcess(state)
        return
    workers = LocalProcesses(state.config, InProcess(state).state_dicts(), workers=number, threads=threads)
    try:
        yield workers
        for seed, learnt in workers.state_dicts().items():
            state.load_state_dict(seed, learnt)
    finally:
        workers.close()


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """In the block, the garbage collector is as :func:`collect_seldom` sets it: a trial makes many objects that stay and few cycles."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def worker_count(state: TrainingState, threads: int) -> int:
    """How many processes a run is worth, if its config does not say."""
    bank = state.bank
    if not state.learners and state.config.workers is None:
        return 1
    return workers_for(
        state.config,
        threads,
        alone=state.single_process,
        size=0 if bank is None else bank.base_size,
        on_cpu=bank is None or bank.device.type == "cpu",
    )


def shares(seeds: Sequence[int], workers: int) -> list[tuple[int, ...]]:
    """The seeds in as many parts, in order, the larger parts first: 5 seeds for 2 workers are 3 and 2."""
    least, more = divmod(len(seeds), workers)
    ends = [(i + 1) * least + min(i + 1, more) for i in range(workers)]
    return [tuple(seeds[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
