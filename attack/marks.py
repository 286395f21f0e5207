"""Marked places: every call that changes a file, counted, so that a process can die or fail at each of them."""

from __future__ import annotations

import builtins
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attack.place import Place

CALLS = ("replace", "rename", "fsync", "unlink", "remove", "rmdir", "mkdir", "open", "symlink", "link", "truncate")
"""Functions of ``os`` that change files or make their changes last; ``open`` counts where it writes, by whatever name."""


@dataclass(frozen=True)
class At:
    """What happens at which call."""

    number: int
    """The call, from 0."""
    act: str
    """``before`` or ``after``: the process dies there. Else ``error``: from then on nothing can be written."""
    errno: int = 0
    """Of the error."""


def count(place: Place, *argv: str) -> list[str]:
    """The calls that a command makes below its directory, by name and path, in order."""
    log = place.root / "calls"
    done = place.coplay(*argv, prepare=partial(mark, place.work, None, log), limit=300)
    if done.status != 0:
        raise RuntimeError(f"{argv} ended with {done.status}: {done.err}")
    return log.read_text().splitlines() if log.exists() else []


def mark(root: Path, at: At | None, log: Path | None = None) -> None:
    """Count the calls below a directory in this process, and do what is asked at one of them.

    Args:
        root: the directory.
        at: the call, and what happens there.
        log: a file outside to which the calls are written.
    """
    seen = 0

    def wrapped(name: str, whole: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **more: Any) -> Any:
            nonlocal seen
            path = _target(name, words, more, root)
            if path is None:
                return whole(*words, **more)
            number, seen = seen, seen + 1
            if log is not None:
                with raw_open(log, "a") as file:
                    file.write(f"{name} {path}\n")
            if at is not None and at.act == "error" and number >= at.number and name not in ("unlink", "rmdir"):
                raise OSError(at.errno, os.strerror(at.errno), path)
            if at is not None and at.act == "before" and number == at.number:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return whole(*words, **more)
            finally:
                if at is not None and at.act == "after" and number == at.number:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    raw_open = io.open
    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    io.open = builtins.open = wrapped("open", raw_open)


def _target(name: str, words: tuple[Any, ...], more: dict[str, Any], root: Path) -> str | None:
    """The path that a call changes, if it is below the directory; None for any other call."""
    if not words or (name == "open" and not _writes(words, more)):
        return None
    first = words[0]
    if isinstance(first, int):
        first = os.readlink(f"/proc/self/fd/{first}")
    elif more.get("dir_fd") is not None:
        first = os.path.join(os.readlink(f"/proc/self/fd/{more['dir_fd']}"), os.fsdecode(first))
    path = os.path.abspath(os.fsdecode(first))
    return os.path.relpath(path, root) if path.startswith(f"{root}{os.sep}") else None


def _writes(words: tuple[Any, ...], more: dict[str, Any]) -> bool:
    how = words[1] if len(words) > 1 else more.get("mode", more.get("flags", "r"))
    if isinstance(how, int):
        return bool(how & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return any(letter in how for letter in "wax+")
