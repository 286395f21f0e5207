"""The files of a model's directory, before any library opens them: libraries wait at a FIFO for ever, and take whatever numbers they find."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path

from coplay.errors import UsageError
from coplay.files.reading import MOST_BYTES, MOST_TENSOR_BYTES, opened, read_json

MOST_FILES = 10_000
"""In a model's directory. The largest models are stored in a few hundred."""

MOST_TEMPLATE_BYTES = 2**20
"""Of a chat template. The longest in use have some thirty thousand."""

TEMPLATES = "additional_chat_templates"
"""The one folder of a model's directory that Transformers looks into."""

SETTINGS = (
    *("*config.json", "tokenizer*.json", "special_tokens*.json", "added_tokens.json", "vocab*.json"),
    *("chat_template*.json", "*.index.json"),
)
"""JSON files that Transformers reads there; what a training left beside them is not its business."""

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def regular_files(path: Path) -> list[Path]:
    """The files of a model's directory that may be read, sorted. Links to files are followed: the Hub's library keeps models as links.

    Raises:
        UsageError: if something else than files and folders lies there, which a library might wait for.
    """
    templates = path / TEMPLATES
    return _listed(path) + (_listed(templates) if templates.is_dir() else [])


def check_files(path: Path) -> None:
    """Refuse a model's directory with something else than files, a file that is too long, or one whose numbers no float holds.

    Raises:
        UsageError: naming the file, and the key of the number.
    """
    for file in regular_files(path):
        _check_size(file)
        if file.parent == path and any(fnmatchcase(file.name, pattern) for pattern in SETTINGS):
            read_json(file)


def _listed(path: Path) -> list[Path]:
    """The files of a directory, which are all regular ones."""
    files = []
    try:
        with os.scandir(path) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_FILES:
                    raise UsageError(f"{path} has more than {MOST_FILES:,} files, so it is no model's directory")
                if _is_file(path / entry.name):
                    files.append(path / entry.name)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    return sorted(files)


def _is_file(path: Path) -> bool:
    """Whether it is a regular file, and not a folder; raises UsageError if it is neither."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError as error:
        if path.is_symlink():
            raise UsageError(f"{path} is a link that leads nowhere ({error.strerror}); remove it") from None
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise UsageError(f"{path} is {_KINDS.get(kind, 'no file')}, where a model has regular files only; remove it")
    return kind == stat.S_IFREG


def _check_size(file: Path) -> None:
    """Refuse a file that is longer than those of its kind are, or cannot be opened."""
    limits = {".safetensors": MOST_TENSOR_BYTES, ".jinja": MOST_TEMPLATE_BYTES, ".json": MOST_BYTES, ".txt": MOST_BYTES}
    limits[".model"] = MOST_BYTES
    most = limits.get(file.suffix)
    if most is None:
        return  # nothing reads it
    with opened(file) as readable:
        size = os.fstat(readable.fileno()).st_size
    if size > most:
        raise UsageError(f"{file} has {size:,} bytes; files of its kind have at most {most:,}")
