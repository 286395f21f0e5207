"""The one reader of files: regular files only, of bounded size and depth, with errors that name the file and the line."""

from __future__ import annotations

import contextlib
import os
import stat
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from coplay.errors import UsageError
from coplay.files.kinds import newest_version
from coplay.files.numbers import UnheldError, loads_finite, long_number, refuse_unheld

MOST_BYTES = 256 * 2**20
"""Of a JSON or JSON-lines file, decompressed."""

MOST_TENSOR_BYTES = 2**36
"""Of a safetensors file."""

MOST_TOML_BYTES = 2**20
"""Of a file that a person writes."""

MOST_DEPTH = 64
"""Lists and objects within each other. The deepest file of coplay has a dozen."""


def read_bytes(path: Path, *, most: int = MOST_BYTES, follow: bool = True) -> bytes:
    """Read a regular file whole.

    Args:
        path: the file.
        most: how many bytes it may have.
        follow: whether a link is followed. Files that a person names may be links; those of a run directory may not.

    Raises:
        FileNotFoundError: if there is none.
        UsageError: if it is something else than a regular file, is larger, or cannot be read.
    """
    with opened(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise UsageError(f"{path} has {size:,} bytes; files of its kind have at most {most:,}")
        return _read(file, size, path)


def read_end(path: Path, *, most: int) -> bytes:
    """The last lines of a regular file that grows, of at most so many bytes, without the rest of it. Links are not followed.

    Raises:
        FileNotFoundError: if there is none.
        UsageError: if it is something else than a regular file, or cannot be read.
    """
    with opened(path, follow=False) as file:
        size = os.fstat(file.fileno()).st_size
        start = max(size - most, 0)
        file.seek(start)
        found = _read(file, size - start, path)
        return found.partition(b"\n")[2] if start else found


def opened(path: Path, *, follow: bool = True) -> BinaryIO:
    """A regular file, open for reading; raises as :func:`read_bytes` does.

    Nothing else is waited for: a FIFO would have no end, and a device may have none. What a file system does with a regular file is its own affair.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if not follow and path.is_symlink():
            raise UsageError(f"{path} is a link, which a file of a run never is; put the file itself there") from None
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is not a regular file")
    return open(handle, "rb")


def _read(file: BinaryIO, size: int, path: Path) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def decompressed(data: bytes, path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The content of a gzip file, of at most so many bytes; raises UsageError for a damaged one."""
    found = b""
    try:
        while data:
            stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            found += stream.decompress(data, most + 1 - len(found))
            if len(found) > most:
                raise UsageError(f"{path} has more than {most:,} bytes when it is decompressed")
            if not stream.eof:
                raise UsageError(f"{path} is damaged: it ends early. Restore it, for example with `git checkout`.")
            data = stream.unused_data
    except zlib.error as error:
        raise UsageError(f"{path} is damaged ({error}). Restore it, for example with `git checkout`.") from None
    return found


def parse_json(data: bytes | str, where: object) -> object:
    """Parse JSON: UTF-8, numbers that floats hold, at most ``MOST_DEPTH`` deep.

    Args:
        data: the text.
        where: what it is, for errors: a path, or a path and a line.

    Raises:
        UsageError: if it is something else.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = loads_finite(text)
    except RecursionError:
        raise UsageError(f"{where} is damaged: it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{where} is damaged: it is not JSON ({error})") from None
    if text.count("[") + text.count("{") > MOST_DEPTH and _deeper(found, MOST_DEPTH):
        raise UsageError(f"{where} is damaged: it is nested more than {MOST_DEPTH} levels deep")
    return found


def read_json(path: Path, *, follow: bool = True) -> object:
    """Read a JSON file of any shape; raises as :func:`read_bytes` and :func:`parse_json` do."""
    return parse_json(read_bytes(path, follow=follow), path)


def as_object(data: object, where: object, *, newest: int | None = None) -> dict[str, Any]:
    """A JSON value that must be an object, of a version that is known.

    Args:
        data: the value.
        where: what it is, for errors.
        newest: the newest version that is read; None for what has no version.

    Raises:
        UsageError: if it is no object, or of a later version.
    """
    if not isinstance(data, dict):
        raise UsageError(f"{where} is damaged: it should hold a JSON object, but holds a {type(data).__name__}")
    if newest is not None:
        version = data.get("version", 1)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise UsageError(f"{where} is damaged: its version is {version!r}, not a number from 1")
        if version > newest:
            raise UsageError(f"{where} has version {version}; this coplay reads up to {newest}. Upgrade coplay.")
    return data


def plain(data: bytes, path: Path) -> bytes:
    """A file's content, decompressed if its name ends in ``.gz``; raises UsageError for a damaged one."""
    return decompressed(data, path) if path.suffix == ".gz" else data


def parse_lines(data: bytes, path: Path) -> list[dict[str, Any]]:
    """The objects of a ``.jsonl`` file, plain or compressed. A last line that is not complete was cut off in writing and is passed over.

    Args:
        data: the file's content.
        path: the file, for errors; compressed if its name ends in ``.gz``.

    Raises:
        UsageError: if a line or the compressed file is damaged, or a line is of a later version.
    """
    text, newest = plain(data, path), newest_version(path.name)
    # Not splitlines(): a reply may hold characters that it takes for line ends.
    *lines, last = text.split(b"\n")
    if last.strip():
        try:
            parse_json(last, path)
            lines.append(last)
        except UsageError:
            pass
    found = []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        found.append(as_object(parse_json(line, where), where, newest=newest))
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file that a person wrote.

    Raises:
        UsageError: if there is none, or it is too large, no UTF-8, or no TOML.
    """
    try:
        text = read_bytes(path, most=MOST_TOML_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}") from None
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {long_number(text) or error}") from None
    if _deeper(found, MOST_DEPTH):
        raise UsageError(f"{path} is nested more than {MOST_DEPTH} levels deep")
    try:
        refuse_unheld(found)
    except UnheldError as error:
        raise UsageError(f"{path}: {error}") from None
    return found


def _deeper(value: object, levels: int) -> bool:
    """Whether lists and objects lie within each other more than so many levels deep."""
    inner = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    while inner and levels:
        levels -= 1
        inner = [
            deeper
            for one in inner
            if isinstance(one, dict | list)
            for deeper in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(inner)


@contextlib.contextmanager
def expected_shape(where: object) -> Iterator[None]:
    """In the block, a value of another shape than expected is an error of the file that it is from; raises UsageError."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} is damaged: its content has another form than expected ({told})") from None
