"""SIGTERM ends a command in seconds, whatever library's code it hangs in, and leaves a process that answers to end as it likes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_runs import source_environment

from coplay.terminal import deafness

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")

COMMAND = """
import ctypes, os, signal, sys, time
from coplay.terminal.deafness import ended_if_deaf, heard, trials

def answer(number, frame):
    heard()
    print("heard", flush=True)

with ended_if_deaf():
    signal.signal(signal.SIGTERM, answer)
    {before}
    print("ready", flush=True)
    {hang}
print("over", flush=True)
"""

IN_C = """sum(range(10**12))  # one call of C, which holds the lock and looks at no signal"""
"""Waits for ever in C code that holds Python's lock."""

IN_PYTHON = """until = time.monotonic() + 4
    while time.monotonic() < until:
        time.sleep(0.05)"""


def started(hang: str, before: str = "pass") -> subprocess.Popen[str]:
    """A process that hangs by now."""
    code = COMMAND.format(hang=hang, before=before)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=source_environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def seconds_to_end(process: subprocess.Popen[str]) -> float:
    begun = time.monotonic()
    process.wait(60)
    return time.monotonic() - begun


def test_a_process_that_hangs_in_c_is_killed() -> None:
    process = started(IN_C)
    process.terminate()
    assert deafness.GRACE - 0.5 < seconds_to_end(process) < deafness.GRACE + 10
    out, err = process.communicate()
    assert process.returncode == -signal.SIGKILL and "heard" not in out
    assert err == "coplay: killed, since it did not answer a request to end (SIGTERM)\n"


def test_a_process_that_answers_is_left_alone() -> None:
    process = started(IN_PYTHON)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "heard\nover\n", "")


def test_without_a_signal_nothing_happens() -> None:
    process = started("ctypes.PyDLL(None).usleep(3_500_000)")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "over\n", "")


def test_in_a_trial_the_first_signal_may_take_longer() -> None:
    """It is to be saved: an operation of four seconds is waited for, and then the process goes on."""
    process = started("ctypes.PyDLL(None).usleep(4_000_000)\n    time.sleep(0.1)", before="trials(begin=True)")
    process.terminate()
    time.sleep(0.1)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "over" in out


def test_in_a_trial_the_second_signal_does_not_wait() -> None:
    process = started(f"time.sleep(1.5)\n    {IN_C}", before="trials(begin=True)")
    process.terminate()
    time.sleep(3)
    process.terminate()
    assert seconds_to_end(process) < deafness.GRACE + 10
    assert process.returncode == -signal.SIGKILL


def test_whoever_watches_ends_with_the_process() -> None:
    process = started("time.sleep(60)")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not tell a process's children")
    (watching,) = map(int, children.read_text().split())
    process.kill()
    process.communicate()
    until = time.monotonic() + 10
    while Path(f"/proc/{watching}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{watching}/cmdline").exists() or not Path(f"/proc/{watching}/cmdline").read_bytes()


def test_beside_other_threads_no_process_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    go_on = threading.Event()
    other = threading.Thread(target=go_on.wait)
    other.start()
    try:
        with deafness.ended_if_deaf():
            deafness.heard()
    finally:
        go_on.set()
        other.join()
