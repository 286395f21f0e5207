"""What a directory holds, to compare it with what it should hold."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

VARYING = ("env.json", "recording.json", ".lock")
"""Files that differ between two equal runs: they hold the time."""

LISTING = ("manifest.json", "checkpoint.json")
"""Files that hold the checksums of others, which may be varying, hold a place or be lists themselves."""

_TIME = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[+:\d]*")
"""When something was done, as pages say it."""

Snapshot = Mapping[str, str]
"""A digest for each path."""


def snapshot(directory: Path, *, pages: bool = True) -> Snapshot:
    """All files below a directory but the varying ones.

    Args:
        directory: where.
        pages: whether reports and figures count.
    """
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        page = path.name == "report.html" or "figures" in path.relative_to(directory).parts
        if path.name in VARYING or (page and not pages) or (path.is_dir() and not path.is_symlink()):
            continue
        found[name] = digest(path, here=directory)
    return found


def digest(path: Path, *, here: Path | None = None) -> str:
    """What is at a path: the bytes of a file, where a link leads, or what else it is.

    Args:
        path: the path.
        here: a directory whose own name does not count where it stands in a file.
    """
    about = os.lstat(path)
    if stat.S_ISLNK(about.st_mode):
        return f"link to {os.readlink(path)}"
    if not stat.S_ISREG(about.st_mode):
        return f"mode {about.st_mode:o}"
    data = path.read_bytes()
    if here is not None:
        data = data.replace(bytes(here.resolve()), b"HERE")
    if path.name in LISTING:
        data = _without_varying(data)
    return hashlib.sha256(_TIME.sub(b"", data) if path.suffix == ".html" else data).hexdigest()


def _without_varying(data: bytes) -> bytes:
    """A list of files without the checksums that differ between two equal runs, and so without its own."""
    try:
        found = json.loads(data)
        kept = {}
        for name, about in found["files"].items():
            own = name.rpartition("/")[2]
            kept[name] = None if own in (*VARYING, *LISTING, "config.json", "report.html") else about
        return json.dumps({**found, "files": kept, "seal": None}).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return data


def differences(found: Snapshot, wanted: Snapshot, *, without: tuple[str, ...] = ()) -> list[str]:
    """What differs, in words: missing, other and additional paths.

    Args:
        found: what is there.
        wanted: what should be.
        without: paths that do not count.
    """
    words = []
    for name in sorted({*found, *wanted} - set(without)):
        if name not in found:
            words.append(f"{name} is missing")
        elif name not in wanted:
            words.append(f"{name} is left over")
        elif found[name] != wanted[name]:
            words.append(f"{name} differs")
    return words
