"""Fences: on a cluster, one attempt at a task writes its files, and one that was given up for dead writes no more.

A lock keeps processes of one machine apart. A process on another machine that hung and was replaced may wake up while its lock is lost, or may
hold a lock that nobody can take from it. So each attempt is granted a token, which lies in a file beside the directory, and looks before each
write whether it is still there. Whoever grants another token, or locks the directory without one, has shut it out.

The file is written in place: other machines of a network file system may see an older file for a while after it was replaced, but not when
what they open is the same file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from coplay.errors import CoplayError
from coplay.files.reading import read_bytes

FOLDER = ".tasks"
"""Beside the directories that tasks make: a folder each, with the grant, how far the task is, and its log."""

GRANT = "grant"
"""The file in it that has the token of the attempt that may write."""

_REVOKED = "revoked"


class Superseded(CoplayError):
    """Another attempt, or another command, has taken over the directory that this one was writing."""


_held: list[tuple[Path, str]] = []
"""The grant that this process has: the directory and the token. A process works on one task at a time."""


def task_folder(directory: Path) -> Path:
    """Where the grant and the log of a directory's task are."""
    return directory.parent / FOLDER / directory.name


def grant(directory: Path, token: str) -> None:
    """Let whoever has this token write into a directory, and nobody else whom a token was granted."""
    folder = task_folder(directory)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GRANT).write_text(token, encoding="ascii")


def revoke(directory: Path) -> None:
    """Let nobody write whom a token was granted."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), open(task_folder(directory) / GRANT, "r+") as file:
        file.truncate()
        file.write(_REVOKED)


@contextlib.contextmanager
def granted(directory: Path, token: str) -> Iterator[None]:
    """In the block, this process writes files only while its token is the directory's."""
    _held.append((directory.absolute(), token))
    try:
        yield
    finally:
        _held.pop()


def has_grant(directory: Path) -> bool:
    """Whether this process was granted a token for a directory."""
    return any(directory.absolute() == one for one, _ in _held)


def is_granted(directory: Path, token: str) -> bool:
    """Whether a token is the one that counts for a directory."""
    try:
        return read_bytes(task_folder(directory) / GRANT).decode("ascii", "replace") == token
    except FileNotFoundError:
        return False


def check_grant() -> None:
    """Called before each write; raises Superseded if this process was granted a token that counts no more."""
    for directory, token in _held:
        if not is_granted(directory, token):
            raise Superseded(f"{directory} belongs to another process by now; nothing more is written there")
