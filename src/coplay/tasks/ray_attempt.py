"""One attempt at a task, in a process of a Ray cluster: where it runs, who may write, its log, how far it is."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from coplay.errors import CoplayError, Interrupted
from coplay.files.fence import Superseded, granted, is_granted, task_folder
from coplay.files.reading import read_json
from coplay.tasks.task import Task
from coplay.tasks.versions import versions
from coplay.terminal.progress import Progress

LOG, PROGRESS = "log.txt", "progress.json"
"""The files of a task's folder beside its grant: what it printed, and how far it is."""

BEAT = 1.0
"""Seconds between two signs of life."""


class Outcome(TypedDict, total=False):
    """How an attempt ended: one of these."""

    done: list[str]
    """The task's lines."""
    interrupted: str
    """It was asked to stop, and has saved."""
    superseded: str
    """Another process has its directory."""
    refused: tuple[str, str]
    """An error meant for a person: its kind and its text."""
    failed: str
    """An error that nobody foresaw; the log has where."""


class Report(TypedDict):
    """How far an attempt is."""

    token: str
    """Of which attempt."""
    beat: int
    """Signs of life so far."""
    machine: str
    """Where it runs."""
    pid: int
    """The process there."""
    step: int
    """Steps that are over."""
    steps: int
    """Steps in all; 0 until they are known."""
    numbers: str
    """What to show beside them."""


def read_report(directory: Path) -> Report | None:
    """How far the task of a directory is; None if nothing has been told, or it is just being told."""
    try:
        return cast("Report", read_json(task_folder(directory) / PROGRESS))
    except (OSError, CoplayError):
        return None


@dataclass(frozen=True)
class Sent:
    """What is sent to a process of the cluster."""

    task: Task
    """What to do."""
    token: str
    """The grant."""
    number: int
    """Of the attempt, from 1."""
    cpus: int
    """Threads."""
    versions: dict[str, str]
    """What the machine must have: it may have joined after all others were asked."""
    argv: list[str] = field(default_factory=lambda: list(sys.argv))
    """The command that asked for it, which the run's record of its environment tells."""
    cwd: str = field(default_factory=os.getcwd)
    """Where that command was given."""
    path: list[str] = field(default_factory=lambda: list(sys.path))
    """Where Python looks for modules there."""


def attempt(sent: Sent) -> Outcome:
    """Carry out a task until its end, an error or an interrupt. What an earlier attempt saved is not done again."""
    task, folder = sent.task, task_folder(sent.task.directory)
    with _at_home(sent), _log(folder / LOG):  # paths may begin where the command was given
        print(
            f"--- attempt {sent.number} on {platform.node()}, {time.strftime('%Y-%m-%d %H:%M:%S %z')} ---", flush=True
        )
        if wrong := _misfit(sent):
            return {"failed": wrong}
        try:
            with granted(task.directory, sent.token), _Beating(folder / PROGRESS, sent.token) as progress:
                return {"done": task.run(progress, again=sent.number > 1)}
        except (Interrupted, KeyboardInterrupt) as error:
            return {"interrupted": str(error)}
        except Superseded as error:
            return {"superseded": str(error)}
        except CoplayError as error:
            print(error, flush=True)
            return {"refused": (type(error).__name__, str(error))}
        except Exception as error:
            traceback.print_exc()
            return {"failed": traceback.format_exception_only(error)[-1].strip()}


def _misfit(sent: Sent) -> str:
    """What keeps this machine from the task; empty if nothing does."""
    here = versions()
    differing = [name for name, version in sent.versions.items() if here.get(name) != version]
    if differing:
        name = differing[0]
        return f"{platform.node()} has {name} {here.get(name, 'missing')} instead of {sent.versions[name]}"
    if not is_granted(sent.task.directory, sent.token):
        return f"{platform.node()} does not see what was just written beside {sent.task.directory}; is its storage the same?"
    return ""


@contextlib.contextmanager
def _at_home(sent: Sent) -> Iterator[None]:
    """In the block, this process looks for files and modules where the command was given, and takes the threads that the task has."""
    argv, path, cwd = sys.argv, list(sys.path), os.getcwd()
    threads = {"OMP_NUM_THREADS": str(sent.cpus), "RAYON_NUM_THREADS": str(sent.cpus)}
    before = {key: os.environ.get(key) for key in threads}
    os.environ.update(threads)
    sys.argv = sent.argv
    sys.path += [one for one in sent.path if one not in path]
    with contextlib.suppress(OSError):
        os.chdir(sent.cwd)
    try:
        yield
    finally:
        os.chdir(cwd)
        sys.argv, sys.path[:] = argv, path
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextlib.contextmanager
def _log(file: Path) -> Iterator[None]:
    """In the block, what is printed goes to a file, also what libraries print that are not Python."""
    with open(file, "a", encoding="utf-8", errors="backslashreplace") as log:
        before = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
            with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                yield
        finally:
            for number, kept in zip((1, 2), before, strict=True):
                os.dup2(kept, number)
                os.close(kept)


class _Beating(Progress):
    """Progress that is written to a file, every second, changed or not: whoever reads it sees that this process lives.

    It is written in place, so that other machines see the newest; a reader may meet half of it and reads again.
    """

    def __init__(self, file: Path, token: str) -> None:
        super().__init__()
        self._file = file
        self._report: Report = {
            "token": token,
            "beat": 0,
            "machine": platform.node(),
            "pid": os.getpid(),
            "step": 0,
            "steps": 0,
            "numbers": "",
        }
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> _Beating:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(BEAT)
        self._write()

    @contextlib.contextmanager
    def running(self, steps: int, *, done: int = 0) -> Iterator[None]:
        """See :meth:`Progress.running`."""
        self.started, self.done_before = time.monotonic(), done
        self._tell(done, steps, "")
        with self.showing(self._Shown(self)):
            yield

    def _tell(self, step: int, steps: int, numbers: str) -> None:
        self._report = {**self._report, "step": step, "steps": steps, "numbers": numbers}

    def _beat(self) -> None:
        while True:
            self._report["beat"] += 1
            self._write()
            if self._over.wait(BEAT):
                return

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            self._file.write_text(json.dumps(self._report), encoding="utf-8")

    class _Shown:
        def __init__(self, whole: _Beating) -> None:
            self.whole = whole

        def advance(self, step: int, steps: int, *, numbers: str, left: float) -> None:
            self.whole._tell(step, steps, numbers)
