"""The one writer of files: in one move, synced, and never through a link."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from coplay.errors import UsageError
from coplay.files.fence import check_grant
from coplay.files.kinds import newest_version

TEMPORARY = ".coplay-"
"""How the names of files begin that are being written; then come the process and its machine. After a crash they may be deleted, and are when
the directory is next used on that machine."""

_MACHINE = re.sub(r"[^\w]+", "_", platform.node())


class Taken(UsageError):
    """Something is where a new directory was to be made."""


def json_text(data: object) -> str:
    """JSON as files hold it: indented, UTF-8, finite numbers only."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_lines(name: str, records: Iterable[Mapping[str, object]]) -> str:
    """Records as lines of a ``.jsonl`` file of that name, each with the newest version of such files; without spaces, as there are many."""
    told = {"version": newest_version(name)}
    lines = [json.dumps({**told, **one}, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for one in records]
    return "".join(f"{line}\n" for line in lines)


def write_json(root: Path, name: str, data: Mapping[str, object]) -> None:
    """Replace a JSON file; see :func:`write_file`."""
    write_file(root, name, json_text(data))


def write_file(root: Path, name: str, data: bytes | str) -> None:
    """Replace a file in one move, so that neither a reader nor a crash meets half of it. It is on the disk when this returns.

    Args:
        root: the directory that is written to; it may be a link, for whoever named it meant where it leads.
        name: the file's path below it, with ``/``. Folders on the way are made; none may be a link.
        data: the content; text is written as UTF-8.

    Raises:
        UsageError: if a folder on the way is a link or a file.
        OSError: if it cannot be written.
    """
    check_grant()
    path = folder_of(root, name) / PurePosixPath(name).name
    temporary = path.with_name(_temporary("tmp"))
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    delete_abandoned(path.parent)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        check_grant()
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def folder_of(root: Path, name: str) -> Path:
    """The folder that a file lies in, made if it is missing.

    Raises:
        UsageError: if a folder between root and file is a link or no folder, or if the name leads out of the root.
    """
    refuse_outside(root, name)
    folder, inner = root, PurePosixPath(name)
    root.mkdir(parents=True, exist_ok=True)
    for part in inner.parts[:-1]:
        folder = folder / part
        if folder.is_symlink():
            raise UsageError(f"{folder} is a link, and coplay does not write through links; remove it")
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise UsageError(f"{folder} is a file where a folder is needed; remove it") from None
    return folder


def refuse_outside(root: Path, name: str) -> None:
    """Raise UsageError for a path that leads out of a directory: it may come from a file that a stranger wrote."""
    if name[:1] in ("", "/") or ".." in name.split("/"):
        raise UsageError(f"{name!r} is no path below {root}")


def append(root: Path, name: str, text: str) -> bytes:
    """Add text to a file, which is not a link; returns the bytes that were added.

    Raises:
        UsageError: if the file is a link.
        OSError: if it cannot be written.
    """
    path, data = root / name, text.encode("utf-8")
    check_grant()
    with open(open_to_write(path, os.O_APPEND), "ab") as file:
        file.write(data)
    return data


def open_to_write(path: Path, flags: int) -> int:
    """A handle on a file that is written in place, which is made if it is missing; raises UsageError if it is a link, or no regular file."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and coplay does not write through links; remove it")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a FIFO that nobody reads, or a socket
            raise UsageError(f"{path} is not a regular file; remove it") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is not a regular file; remove it")
    return handle


def sync_directory(path: Path) -> None:
    """Have the names in a directory written to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Make a directory in one move: the block fills one beside it, which then takes its place. If the block fails, nothing is left.

    Args:
        path: the directory; an empty one may be there.

    Raises:
        Taken: if something else is there by then.
    """
    check_grant()
    temporary = path.with_name(_temporary("new"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        delete_abandoned(path.parent)
        temporary.mkdir()
    except FileNotFoundError:  # not that something above it is missing, but that nothing can be made there
        raise FileNotFoundError(errno.ENOENT, "no directory can be made there", str(path)) from None
    except OSError as error:
        error.filename = str(path)  # what was asked for; nobody knows the other
        raise
    try:
        yield temporary
        sync_directory(temporary)
        check_grant()
        try:
            os.replace(temporary, path)
        except (FileExistsError, NotADirectoryError) as error:
            raise _taken(path) from error
        except OSError as error:
            raise _taken(path) if error.errno == errno.ENOTEMPTY else error from None
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Make a file in one move: the block writes one beside it, which then takes its place. If the block fails, nothing is left.

    Args:
        path: the file; nothing may be there. Folders on the way are made.

    Raises:
        Taken: if something is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    delete_abandoned(path.parent)
    temporary = path.with_name(_temporary("tmp"))
    try:
        yield temporary
        if path.exists() or path.is_symlink():
            raise _taken(path)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def _taken(path: Path) -> Taken:
    return Taken(f"{path} exists already; choose another --out")


def _temporary(ending: str) -> str:
    """The name of what this process is writing: other machines may write there too, and have processes of the same number."""
    return f"{TEMPORARY}{os.getpid()}-{_MACHINE}.{ending}"


def delete_abandoned(parent: Path) -> None:
    """Delete what a process of this machine which died was writing in a directory; what running processes or other machines write is left alone."""
    for path in parent.glob(f"{TEMPORARY}*"):
        pid, _, machine = path.stem.removeprefix(TEMPORARY).partition("-")
        if machine in ("", _MACHINE) and pid.isdecimal() and (int(pid) == os.getpid() or not _is_running(int(pid))):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
