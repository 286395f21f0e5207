"""Commands in processes of their own: forks of this one, in which everything is imported already, or new interpreters."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from attack.outcome import Finished

NOBODY = {"RAY_ADDRESS": "127.0.0.1:9"}
"""Where ``--executor ray`` finds no cluster: it would start one on this machine, outside of what an attack can clean up."""

LIMIT = 40.0
"""Seconds that a command may take if nothing else is said."""

ENDS = 8.0
"""Seconds in which SIGTERM ends a command; a machine with much to do takes longer than coplay's own two."""

MORE_MEMORY = 4 * 2**30
"""Bytes of address space that a fork may take beyond what it begins with, so that an attack does not take the machine down."""

HOLD = 150
"""Exit status of a process whose own preparation failed: a fault of the attack."""


class Child:
    """A ``coplay`` command that runs beside this process.

    Args:
        argv: the words after ``coplay``.
        cwd: where it runs.
        prepare: what is done in the fork before the command, such as to patch a function.
        env: further environment variables.
        real: whether to start a new interpreter instead of a fork: seconds slower, and all that a shell's user has.
        stdin: what it may read.
        encoding: of its output in a fork; a new interpreter goes by ``PYTHONIOENCODING``.
        out: a handle for its standard output; None for a file that is read when it is over.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        *,
        prepare: Callable[[], None] | None = None,
        env: Mapping[str, str] | None = None,
        real: bool = False,
        stdin: bytes = b"",
        out: int | None = None,
    ) -> None:
        self.argv = tuple(argv)
        self._out, self._err, self._in = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        self._in.write(stdin)
        self._in.seek(0)
        self.began = time.monotonic()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            handles = (self._in.fileno(), self._out.fileno() if out is None else out, self._err.fileno())
            _be_child(argv, cwd, handles, prepare, dict(env or {}), real)

    def send(self, number: int, *, alone: bool = False) -> None:
        """Send a signal to the process and to all that it has started, or to it alone."""
        with contextlib.suppress(ProcessLookupError):
            (os.kill if alone else os.killpg)(self.pid, number)

    def wait(self, limit: float = LIMIT) -> Finished:
        """Wait until it is over, and no longer than so many seconds; then it is asked to end, twice as a training may go on once, and killed."""
        watch = select.poll()
        handle = os.pidfd_open(self.pid)
        watch.register(handle, select.POLLIN)
        over = ended = bool(watch.poll(max(0.0, limit - (time.monotonic() - self.began)) * 1000))
        for _ in range(2):
            if not ended:
                self.send(signal.SIGTERM, alone=True)
                ended = bool(watch.poll(ENDS * 1000))
        os.close(handle)
        if not ended:
            self.send(signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        seconds = time.monotonic() - self.began
        self.send(signal.SIGKILL)  # whoever it left behind
        code = os.waitstatus_to_exitcode(status)
        out, err = (_text(file) for file in (self._out, self._err))
        self._in.close()
        return Finished(self.argv, code, out, err, seconds, used.ru_maxrss * 1024, timed_out=not over, deaf=not ended)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    with file:
        return file.read(2**22).decode("utf-8", "backslashreplace")


def _be_child(
    argv: Sequence[str],
    cwd: Path,
    handles: Sequence[int],
    prepare: Callable[[], None] | None,
    env: Mapping[str, str],
    real: bool,
) -> None:
    """Be the command; never returns."""
    status = HOLD
    try:
        os.setsid()
        os.chdir(cwd)
        os.environ.update({**NOBODY, **env})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever this process ignores, as under nohup
        take_streams(handles)
        if real:
            os.closerange(3, 256)
            os.execv(sys.executable, [sys.executable, "-m", "coplay", *argv])
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * resource.getpagesize() + MORE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        sys.argv = ["coplay", *argv]
        sys.path[:] = [path for path in sys.path if path]
        if prepare is not None:
            prepare()
        status = status_of(argv)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def take_streams(handles: Sequence[int]) -> None:
    """Make these the standard input, output and error of this process."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def status_of(argv: Sequence[str]) -> int:
    """Run the command as ``python -m coplay`` does, to the last flush."""
    from coplay.cli.main import main
    from coplay.terminal.deafness import ended_if_deaf

    try:
        with ended_if_deaf():
            status = main(list(argv))
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:  # as the entry point does
        print("\ninterrupted", file=sys.stderr)
        status = 130
    except BaseException:
        traceback.print_exc()
        status = 1
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        print(f"Exception ignored while flushing sys.stdout: {error}", file=sys.stderr)
        status = 120
    return status & 0xFF
