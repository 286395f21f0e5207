"""Runs ``python -m coplay`` in processes of its own: each in a new Python, or in one that has torch and transformers loaded already.

Loading them is most of a small run's time. A warm process has imported the libraries, but nothing of coplay, and splits itself for each command:
so every command imports the checkout's code anew, as it is then.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

LIBRARIES = (
    "torch",
    "torch._dynamo",
    "transformers",
    "transformers.generation",
    "transformers.models.llama.modeling_llama",
    "transformers.models.gemma2.modeling_gemma2",
    "safetensors.torch",
    "pydantic",
    "httpx2",
)
"""What commands import that is not coplay's."""


class Coplay(Protocol):
    """A checkout's command line."""

    def run(self, arguments: Sequence[str], *, cwd: Path, out: Path, error: Path) -> int:
        """Run ``coplay`` with these arguments; returns its exit status.

        Args:
            arguments: the words after ``coplay``.
            cwd: where.
            out: file that standard output goes to.
            error: file that standard error goes to.
        """
        ...


@dataclass(frozen=True)
class Cold:
    """A new Python each time."""

    environment: Mapping[str, str]
    """What it runs in."""

    def run(self, arguments: Sequence[str], *, cwd: Path, out: Path, error: Path) -> int:
        """See :class:`Coplay`."""
        command = [sys.executable, "-m", "coplay", *arguments]
        with out.open("w") as stdout, error.open("w") as stderr:
            return subprocess.call(command, cwd=cwd, env=self.environment, stdout=stdout, stderr=stderr)


class Warm:
    """One Python that has the libraries loaded, from the first command on, and splits itself.

    Args:
        environment: what it runs in.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], *, cwd: Path, out: Path, error: Path) -> int:
        """See :class:`Coplay`."""
        if self._process is None:
            command, pipe = [sys.executable, str(Path(__file__).resolve())], subprocess.PIPE
            self._process = subprocess.Popen(command, env=self.environment, stdin=pipe, stdout=pipe, text=True)
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None and answers is not None
        request = {"arguments": list(arguments), "cwd": str(cwd), "out": str(out), "error": str(error)}
        print(json.dumps(request), file=told, flush=True)
        return int(answers.readline())

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            with self._process as process:
                assert process.stdin is not None
                process.stdin.close()


def main() -> None:
    """Split off a process for every line of standard input; its exit status is a line of standard output."""
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):  # an extra that is not installed, or another version's layout
            importlib.import_module(library)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(**json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _become(arguments: list[str], cwd: str, out: str, error: str) -> None:
    """Be ``python -m coplay`` from here on, and end."""
    status = 1
    try:
        for path, stream in ((os.devnull, 0), (out, 1), (error, 2)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), stream)
        os.chdir(cwd)
        sys.argv = ["coplay", *arguments]
        runpy.run_module("coplay", run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
