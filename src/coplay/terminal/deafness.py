"""Ends a process that no longer answers SIGTERM.

Python runs the handler of a signal between two of its own steps. A call into a library that never returns has no such moment, and may hold
the lock without which no other thread of Python runs either. So a process of its own watches: Python's signal handler in C, which runs at once
whatever the process is doing, writes the signal's number into a pipe (:func:`signal.set_wakeup_fd`), and the handler in Python says there that it
has run. Where that does not follow, the process is killed, as it could be at any time: what it has written is whole, and can be resumed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator

GRACE = 2.0
"""Seconds between a signal and its handler, after which a process is killed."""

GRACE_IN_TRIAL = 20.0
"""The same for the first signal while a run is trained, which is saved after the trial: an operation on large tensors takes long, too."""

_LOOK = 1.0
"""Seconds after which the watching process looks whether there is still something to watch."""

_HEARD, _TRIAL, _TRIAL_OVER = 0x80, 0x81, 0x82
"""What is written into the pipe besides numbers of signals, which are smaller."""

_ASKING = {int(getattr(signal, name)) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)}

_pipe: list[int] = []
"""Where a process that is watched writes."""


@contextlib.contextmanager
def ended_if_deaf() -> Iterator[None]:
    """In the block, this process is killed two seconds after a SIGTERM or SIGHUP whose handler in Python did not run.

    It forks, and so does nothing where that cannot be done or is not safe: on Windows, and where threads are running. Only the main thread of a
    process gets signals, so elsewhere it does nothing either.
    """
    if not hasattr(os, "fork") or threading.current_thread() is not threading.main_thread():
        yield
        return
    if _pipe or threading.active_count() > 1:
        yield
        return
    read, write = os.pipe()
    watched = os.getpid()
    watching = os.fork()
    if watching == 0:
        try:
            os.close(write)
            _watch(read, watched)
        finally:
            os._exit(0)
    os.close(read)
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    _pipe.append(write)
    try:
        yield
    finally:
        _pipe.clear()
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        os.close(write)
        with contextlib.suppress(OSError):
            os.waitpid(watching, 0)


def heard() -> None:
    """Called by handlers of signals: this process is not deaf."""
    _tell(_HEARD)


def trials(*, begin: bool) -> None:
    """Called where training begins and ends: in between, the first request to end may take longer to be heard."""
    _tell(_TRIAL if begin else _TRIAL_OVER)


def _tell(what: int) -> None:
    for handle in _pipe:
        with contextlib.suppress(OSError):
            os.write(handle, bytes([what]))


def _watch(pipe: int, watched: int) -> None:
    """Wait until the other process closes its end of the pipe or is gone, or no longer answers."""
    os.setsid()  # out of reach of signals that a terminal or a shell sends to a group
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1):
        os.dup2(null, handle)
    grace, deadline = GRACE, None
    while os.getppid() == watched:
        left = _LOOK if deadline is None else min(_LOOK, deadline - time.monotonic())
        ready, _, _ = select.select([pipe], [], [], max(left, 0.0))
        told = os.read(pipe, 4096) if ready else b""
        if ready and not told:
            return
        for one in told:
            if one in _ASKING:
                deadline = time.monotonic() + grace
            elif one == _HEARD:
                grace, deadline = GRACE, None  # whoever asks again does not want to wait for the trial
            elif one in (_TRIAL, _TRIAL_OVER):
                grace = GRACE_IN_TRIAL if one == _TRIAL else GRACE
        if not ready and deadline is not None and time.monotonic() >= deadline:
            with contextlib.suppress(OSError):
                os.write(2, b"coplay: killed, since it did not answer a request to end (SIGTERM)\n")
            os.kill(watched, signal.SIGKILL)
            return
