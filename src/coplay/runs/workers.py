"""Worker processes: one that trains a part of a run's seeds, seen from outside and from within.

A worker answers requests, one after the other, until whoever started it is gone. It never hears of Ctrl-C.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import TYPE_CHECKING, cast

from coplay.errors import CoplayError, Unmoved
from coplay.play.collecting import SELDOM
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

INTERRUPTS = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
"""What asks a run to end. Workers ignore it, for the process that started them saves the run and ends them."""

_ALLOCATION = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("hugetlb", 1), ("mmap_threshold", 2**25), ("trim_threshold", 2**29), ("top_pad", 2**24))
)
"""Asks glibc's allocator to keep what is freed, in large pages: a tenth of a trial's time went into fetching and returning the same
memory over and over. Other systems ignore it."""


_REFUSALS: Mapping[str, type[CoplayError]] = {"refused": CoplayError, "unmoved": Unmoved}
"""Errors meant for a person, by the kind of the answer that says so."""


class Worker:
    """A worker, seen from outside.

    Args:
        config: the run, with the worker's seeds alone.
        states: what they have learnt so far.
        threads: CPU threads that it may use.
    """

    def __init__(self, config: Config, states: SeedStates, *, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        limits = {"OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
        self.seeds = ", ".join(map(str, config.seeds))
        variables = {"GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", _ALLOCATION), **limits}
        with _environment(variables), _blank_main(), interrupts_blocked():
            self.process = context.Process(target=_serve, args=(theirs, list(sys.path)), daemon=True)
            self.process.start()
        theirs.close()
        self.send(("start", (config.model_dump(mode="json"), {seed: _arrays(own) for seed, own in states.items()})))

    def send(self, request: tuple[str, object]) -> None:
        """Ask for something; :meth:`receive` gets the answer. Raises CoplayError if the worker has died."""
        try:
            self.connection.send(request)
        except OSError:
            raise self._death() from None

    def receive(self) -> object:
        """Wait for the answer. Raises CoplayError, naming the worker's seeds and the trial, if it failed or has died."""
        try:
            kind, answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        if kind in _REFUSALS:
            raise _REFUSALS[kind](answer)
        if kind == "error":
            when, error = cast("tuple[str, str]", answer)
            raise CoplayError(f"a worker process failed (seeds {self.seeds}, {when}):\n{error}")
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _death(self) -> CoplayError:
        self.process.join(10)
        code = self.process.exitcode
        if code is None:
            reason = "it no longer answers"
        elif code == -signal.SIGKILL:
            reason = "it was killed, perhaps for want of memory"
        else:
            reason = f"signal {_signal_name(-code)}" if code < 0 else f"exit status {code}"
        return CoplayError(
            f"a worker process died ({reason}; seeds {self.seeds}); resume the run, and if it happens again start a new one with workers=1"
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


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """A process started in the block gets no Ctrl-C, from its first instruction on; one that comes meanwhile still reaches this process."""
    if not hasattr(signal, "pthread_sigmask"):  # where Ctrl-C is no signal
        yield
        return
    # multiprocessing's own helper would be started with the first process, and unblocks the signal
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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

    What libraries print goes to standard error; interrupts are the business of the process that started it, which has blocked them here.
    """
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    sys.path[:] = path
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(EOFError, OSError):  # whoever asked has been killed
        state: TrainingState | None = None
        while True:
            kind, what = connection.recv()
            try:
                if kind == "start":
                    state = _started(*what)
                    collect_seldom()
                    connection.send(("done", None))
                    continue
                assert state is not None
                if kind == "trial":
                    connection.send(("done", state.run_trial(what)))
                else:
                    connection.send(("done", {seed: _arrays(state.state_dict(seed)) for seed in state.config.seeds}))
            except (EOFError, OSError):
                raise
            except CoplayError as error:  # meant for a person
                kind = "unmoved" if isinstance(error, Unmoved) else "refused"
                connection.send((kind, str(error)))
                return
            except Exception:
                import traceback

                when = f"trial {what + 1}" if kind == "trial" and isinstance(what, int) else f"request {kind!r}"
                connection.send(("error", (when, traceback.format_exc())))
                return


def _started(config: Mapping[str, object], states: SentStates) -> TrainingState:
    import torch

    state = build(parse_config(config))
    for seed, own in states.items():
        state.load_state_dict(seed, {key: torch.from_numpy(value) for key, value in own.items()})
    return state


def collect_seldom() -> None:
    """Have the garbage collector ignore what exists now, and run seldom."""
    gc.freeze()
    gc.set_threshold(*SELDOM)
