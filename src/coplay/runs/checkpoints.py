"""Checkpoints: what every seed has learnt after a trial, and what the run's files held then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from coplay.errors import DamagedCheckpoint, UsageError
from coplay.files.kinds import newest_version
from coplay.files.reading import as_object, parse_json
from coplay.files.store import Entry, Store, checksum, entries_from, entry_record, sealed, unsealed
from coplay.files.writing import json_text

if TYPE_CHECKING:
    from torch import Tensor

ABOUT, STATE = "checkpoint.json", "state.safetensors"
"""The files of a checkpoint."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint as it was read."""

    step: int
    """The trials that were over."""
    files: Mapping[str, Entry] | None
    """The run's files as they were then, by name; None in checkpoints of older versions."""
    tensors: Mapping[str, Tensor]
    """What was learnt."""


def checkpoint_name(step: int) -> str:
    """The folder of a checkpoint: ``checkpoints/trial-00300``."""
    return f"checkpoints/trial-{step:05d}"


def step_of(name: str) -> int | None:
    """The step of a folder or a file in it; None if its name is not that of a checkpoint."""
    parts = [part for part in PurePosixPath(name).parts if part.startswith("trial-")]
    number = parts[0].removeprefix("trial-") if parts else ""
    return int(number) if number.isdecimal() and number.isascii() else None


def checkpoint_files(
    step: int, states: Mapping[int, Mapping[str, Tensor]], files: Mapping[str, Entry]
) -> dict[str, bytes]:
    """The content of a checkpoint's files, by name.

    Args:
        step: the trials that are over.
        states: what has been learnt, by seed.
        files: the run's files as they are now.
    """
    from safetensors.torch import save

    tensors = {f"{seed}/{key}": value for seed, own in states.items() for key, value in own.items()}
    weights = save({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
    listed = {**files, STATE: Entry(len(weights), checksum(weights))}
    record = {
        "version": newest_version(ABOUT),
        "step": step,
        "files": {name: entry_record(entry) for name, entry in sorted(listed.items())},
    }
    return {STATE: weights, ABOUT: json_text(sealed(record)).encode()}


def read_checkpoint(path: Path, store: Store) -> Checkpoint:
    """Read a checkpoint of this version or an older one.

    Args:
        path: its folder.
        store: the run's files, which know the checksums of the checkpoint's.

    Raises:
        DamagedCheckpoint: if it cannot be read, or is another run's.
    """
    try:
        return _read(path, store)
    except (OSError, UsageError, KeyError, TypeError, ValueError) as error:
        raise DamagedCheckpoint(f"checkpoint {path.name} is damaged: {error}") from None


def _read(path: Path, store: Store) -> Checkpoint:
    from safetensors import SafetensorError
    from safetensors.torch import load

    folder, about_file = path.relative_to(store.root).as_posix(), path / ABOUT
    weights = store.read(f"{folder}/{STATE}")
    about = as_object(parse_json(store.read(f"{folder}/{ABOUT}"), about_file), about_file, newest=newest_version(ABOUT))
    files: dict[str, Entry] | None = None
    if about.get("version", 1) == 1:
        expected = cast("str", about["sha256"])
    else:
        files = entries_from(unsealed(about, about_file)["files"], about_file)
        expected = files.pop(STATE).sha256
    if checksum(weights) != expected:
        raise UsageError(f"{path / STATE} does not match its checksum")
    if int(about["step"]) != step_of(path.name):
        raise UsageError(f"it is of trial {about['step']}")
    try:
        return Checkpoint(int(about["step"]), files, load(weights))
    except SafetensorError as error:
        raise UsageError(str(error)) from None
