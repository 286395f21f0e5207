"""Ways to damage a file: pure functions of its bytes, and what else may stand in its place."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

BytesWay = Callable[[bytes, random.Random], bytes]
"""Other bytes for a file; None where it does not apply."""


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _zeroed(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice([1, 16, 512, 4096]))
    return data[:start] + bytes(end - start) + data[end:]


def _line_lost(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def _future(data: bytes, rng: random.Random) -> bytes:
    """The same, said to be of a later version: a JSON document, or each line of several."""
    try:
        return json.dumps({**json.loads(data), "version": 99}).encode()
    except (ValueError, TypeError):
        pass
    try:
        lines = [json.dumps({**json.loads(line), "version": 99}) for line in data.splitlines()]
        return "".join(f"{line}\n" for line in lines).encode()
    except (ValueError, TypeError):
        return data + b"\n\nversion 99"


def _number_changed(data: bytes, rng: random.Random) -> bytes:
    """One digit of the text is another."""
    places = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return data + b"1"
    changed = bytearray(data)
    at = rng.choice(places)
    changed[at] = ord(str((changed[at] - ord("0") + rng.randrange(1, 10)) % 10))
    return bytes(changed)


def _key_lost(data: bytes, rng: random.Random) -> bytes:
    """A JSON object without one of its keys, at some depth."""
    try:
        whole = json.loads(data)
    except ValueError:
        return _line_lost(data, rng)
    place = whole
    while isinstance(place, dict) and place:
        key = rng.choice(sorted(place))
        if not isinstance(place[key], dict) or not place[key] or rng.random() < 0.4:
            del place[key]
            break
        place = place[key]
    return json.dumps(whole).encode()


BYTES: dict[str, BytesWay] = {
    "halved": lambda data, rng: data[: len(data) // 2],
    "emptied": lambda data, rng: b"",
    "doubled": lambda data, rng: data + data,
    "one bit flipped": _flipped,
    "a range zeroed": _zeroed,
    "a line lost": _line_lost,
    "a digit changed": _number_changed,
    "a key lost": _key_lost,
    "of a future version": _future,
    "deep JSON": lambda data, rng: b"[" * 100_000,
    "deep JSON, closed": lambda data, rng: b'{"a":' * 400 + b"1" + b"}" * 400,
    "{}": lambda data, rng: b"{}",
    "[]": lambda data, rng: b"[]",
    "5": lambda data, rng: b"5",
    "[{}]": lambda data, rng: b"[{}]",
    "NaN": lambda data, rng: b"NaN",
    "not UTF-8": lambda data, rng: b'{"a": "\xff\xfe"}',
    "random bytes": lambda data, rng: rng.randbytes(max(8, len(data))),
}
"""By name, what becomes of the bytes."""


def _fifo(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path, outside: Path) -> None:
    path.unlink()
    here = os.open(path.parent, os.O_DIRECTORY)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def _linked_fifo(path: Path, outside: Path) -> None:
    fifo = outside.parent.parent / "fifo"
    os.mkfifo(fifo)
    _linked(path, fifo)


def _directory(path: Path, outside: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("x")


def _link(path: Path, outside: Path) -> None:
    """A link to the very same bytes elsewhere: nothing that is read differs, and nothing may be written through it."""
    target = outside.parent.parent / "elsewhere"
    target.mkdir(exist_ok=True)
    shutil.move(path, target / path.name)
    path.symlink_to(target / path.name)


def _linked(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def _unreadable(path: Path, outside: Path) -> None:
    path.chmod(0)


PLACES: dict[str, Callable[[Path, Path], object]] = {
    "deleted": lambda path, outside: path.unlink(),
    "a FIFO": _fifo,
    "a socket": _socket,
    "a link to a FIFO": _linked_fifo,
    "a link to a device": lambda path, outside: _linked(path, Path("/dev/zero")),
    "a link to a terminal": lambda path, outside: _linked(path, Path("/dev/tty")),
    "a directory": _directory,
    "a link to itself elsewhere": _link,
    "a link to somebody's file": _linked,
    "a link to nowhere": lambda path, outside: _linked(path, outside.with_name("new")),
    "a link to itself": lambda path, outside: _linked(path, Path(path.name)),
    "unreadable": _unreadable,
}
"""By name, what is put in a file's place; given the file, and a file outside that must not change."""

ALL = (*BYTES, *PLACES)
"""All ways."""


def damage(path: Path, way: str, rng: random.Random, outside: Path) -> None:
    """Do it."""
    if way in BYTES:
        path.write_bytes(BYTES[way](path.read_bytes(), rng))
    else:
        PLACES[way](path, outside)
