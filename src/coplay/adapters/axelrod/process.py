"""Axelrod in a process of its own, started when it is first needed, once a process of coplay.

Its import takes 15 to 30 seconds and brings pandas, dask and matplotlib along; its strategies are objects with a state, of which some are slow. None of
this touches the process that trains. Hashes are fixed there, so that sets are gone through in the same order in every run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coplay.errors import CoplayError, missing_extra

_WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """The process, which lives as long as this one."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self.lock = threading.Lock()
        self.owner = os.getpid()
        environment = {**os.environ, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)],  # -P: a module beside the worker is not taken for a package
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            text=True,
            encoding="utf-8",
        )

    def ask(self, message: dict[str, object]) -> dict[str, Any]:
        """Send a message and wait for its answer; see :mod:`coplay.adapters.axelrod.worker`.

        Raises:
            CoplayError: if a strategy fails, or the process has ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        with self.lock:
            try:
                self.process.stdin.write(json.dumps(message) + "\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            except (BrokenPipeError, OSError):
                line = ""
        if not line:
            raise CoplayError(f"the process that plays Axelrod's strategies has ended: {self._last_words()}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise CoplayError(f"Axelrod's strategy failed: {found['error']}")
        return found

    def _last_words(self) -> str:
        self.process.wait()
        self.errors.seek(0)
        told = self.errors.read().decode(errors="replace").strip().splitlines()
        return told[-1] if told else f"exit status {self.process.returncode}"


_workers: list[Worker] = []


def worker() -> Worker:
    """The process, started if there is none: forked processes have their own.

    Raises:
        UsageError: if Axelrod is not installed, with the line that installs it.
    """
    if _workers and _workers[0].owner == os.getpid() and _workers[0].process.poll() is None:
        return _workers[0]
    try:
        there = find_spec("axelrod") is not None
    except ValueError:  # a module without a spec
        there = False
    if not there:
        raise missing_extra("axelrod", "axelrod")
    _workers[:] = [Worker()]
    return _workers[0]
