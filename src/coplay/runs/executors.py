"""Executors: who trains a run's seeds. In this process, or shared out over processes, one a core; a cluster can be another.

Seeds do not depend on each other, so a run of five seeds may be a run of three beside a run of two. A small model's tensor operations
are too short to be worth splitting over threads; whole seeds are not. Each worker trains its part of the seeds as one process
trains them all, and is asked, trial by trial, for metrics and now and then for what it has learnt.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from coplay.errors import CoplayError
from coplay.games.records import EpisodeRecord, TrialResult
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config
from coplay.runs.factory import build

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from coplay.runs.state import TrainingState

SeedStates = Mapping[int, "Mapping[str, Tensor]"]
"""What has been learnt, by seed."""

SentStates = Mapping[int, "Mapping[str, npt.NDArray[np.generic]]"]
"""The same as pipes send it."""

LARGEST_SHARED_MODEL = 20_000_000
"""Parameters of a model up to which every worker may hold a copy of it. Larger ones keep all threads of one process busy anyway."""

FEWEST_TRIALS = 10
"""Runs of fewer trials are over before a second process has started."""


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
        self.workers: list[_Worker] = []
        try:
            for share in shares(config.seeds, workers):
                part = config.model_copy(update={"seeds": share, "threads": each, "workers": 1})
                self.workers.append(_Worker(part, {seed: states[seed] for seed in share}, threads=each))
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
    from coplay.models.loading import available_threads

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


def collect_seldom() -> None:
    """Have the garbage collector ignore what exists now, and run after every 100,000 new objects instead of 700."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def worker_count(state: TrainingState, threads: int) -> int:
    """How many processes a run is worth, if its config does not say."""
    config = state.config
    if state.single_process:
        return 1
    if config.workers is not None:
        return min(config.workers, len(config.seeds))
    if config.trials < FEWEST_TRIALS or not state.learners:
        return 1
    if state.bank is not None and (state.bank.device.type != "cpu" or state.bank.base_size > LARGEST_SHARED_MODEL):
        return 1
    return min(threads, len(config.seeds))


def shares(seeds: Sequence[int], workers: int) -> list[tuple[int, ...]]:
    """The seeds in as many parts, in order, the larger parts first: 5 seeds for 2 workers are 3 and 2."""
    least, more = divmod(len(seeds), workers)
    ends = [(i + 1) * least + min(i + 1, more) for i in range(workers)]
    return [tuple(seeds[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


# ---------------------------------------------------------------------- processes


_ALLOCATION = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("hugetlb", 1), ("mmap_threshold", 2**25), ("trim_threshold", 2**29), ("top_pad", 2**24))
)
"""Asks glibc's allocator to keep what is freed, in large pages: a tenth of a trial's time went into fetching and returning the same
memory over and over. Other systems ignore it."""


class _Worker:
    """A worker, seen from outside."""

    def __init__(self, config: Config, states: SeedStates, *, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        limits = {"OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
        with _environment({"GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", _ALLOCATION), **limits}), _blank_main():
            self.process = context.Process(target=_serve, args=(theirs, list(sys.path)), daemon=True)
            self.process.start()
        theirs.close()
        self.send(("start", (config.model_dump(mode="json"), {seed: _arrays(own) for seed, own in states.items()})))

    def send(self, request: tuple[str, object]) -> None:
        try:
            self.connection.send(request)
        except OSError:
            raise self._death() from None

    def receive(self) -> object:
        try:
            kind, answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        if kind == "refused":
            raise CoplayError(answer)
        if kind == "error":
            raise CoplayError(f"a worker process failed:\n{answer}")
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _death(self) -> CoplayError:
        self.process.join(10)
        code = self.process.exitcode or 0
        reason = "it was killed, perhaps for want of memory" if code < 0 else f"exit status {code}"
        return CoplayError(
            f"a worker process died ({reason}); resume the run, and if it happens again start a new one with workers=1"
        )


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables that a process started in the block inherits: they must be set before its libraries load."""
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextlib.contextmanager
def _blank_main() -> Iterator[None]:
    """A new process would run the user's script again, to have its names; workers need none of them."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _arrays(state: Mapping[str, Tensor]) -> dict[str, npt.NDArray[np.generic]]:
    """Tensors as arrays, which pipes send as they are; torch would share them through files."""
    return {key: value.detach().cpu().numpy() for key, value in state.items()}


def _serve(connection: Connection, path: list[str]) -> None:
    """Be a worker: answer requests until the other side is gone.

    What libraries print goes to standard error; Ctrl-C is the business of the process that started it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = path
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(EOFError, OSError):  # whoever asked has been killed
        executor: InProcess | None = None
        while True:
            kind, what = connection.recv()
            try:
                if kind == "start":
                    executor = InProcess(_started(*what))
                    collect_seldom()
                    connection.send(("done", None))
                    continue
                assert executor is not None
                if kind == "trial":
                    connection.send(("done", executor.run_trial(what)))
                else:
                    connection.send(("done", {seed: _arrays(own) for seed, own in executor.state_dicts().items()}))
            except (EOFError, OSError):
                raise
            except CoplayError as error:  # meant for a person
                connection.send(("refused", str(error)))
                return
            except Exception:
                import traceback

                connection.send(("error", traceback.format_exc()))
                return


def _started(config: Mapping[str, object], states: SentStates) -> TrainingState:
    import torch

    state = build(parse_config(config))
    for seed, own in states.items():
        state.load_state_dict(seed, {key: torch.from_numpy(value) for key, value in own.items()})
    return state
