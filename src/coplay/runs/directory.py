"""Run directories: everything a reader needs, safe against being killed at any moment.

``config.json``, ``env.json``, ``metrics.jsonl``, ``episodes.jsonl``, ``checkpoints/``, ``eval.json``. What is replaced is written beside
its place and renamed; what grows is cut back to the checkpoint on resume. So a run that was killed and resumed ends with the same
files as one that was not.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coplay.errors import DamagedCheckpoint, UsageError
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config
from coplay.runs.version_1_checkpoints import is_version_1, translated_checkpoint

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.evaluation.summary import Aggregate

VERSION = 1
"""Of the files of a run directory."""

CHECKPOINTS_KEPT = 3
"""How many of the latest checkpoints are kept."""


def write_json(path: Path, data: Mapping[str, object]) -> None:
    """Replace a JSON file in one move."""
    replace_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Replace a text file in one move, so that a reader or a crash never meets half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        UsageError: if there is no such file or it holds something else.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path.parent} is not a run directory: it has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} does not hold a JSON object")
    return data


def read_evaluation(path: Path) -> Aggregate:
    """Read an evaluation over seeds, such as a run's ``eval.json``; raises UsageError as :func:`read_json` does."""
    return cast("Aggregate", read_json(path))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a ``.jsonl`` file, plain or compressed: if ``metrics.jsonl`` is missing, ``metrics.jsonl.gz`` is read.

    Without either file the list is empty. A last line that is not JSON was cut off in writing and is passed over.

    Raises:
        UsageError: if a line or the compressed file is damaged.
    """
    file = path if path.exists() else path.with_name(f"{path.name}.gz")
    # Not splitlines(): a reply may hold characters that it takes for line ends.
    lines = _content(file).split(b"\n")
    filled = [i for i, line in enumerate(lines) if line.strip()]
    records = []
    for i in filled:
        try:
            record = json.loads(lines[i])
        except ValueError:
            if i == filled[-1]:
                break
            record = None
        if not isinstance(record, dict):
            raise UsageError(
                f"{file}, line {i + 1} is damaged: it is not a JSON object. Delete the line to continue without it."
            )
        records.append(record)
    return records


def _content(file: Path) -> bytes:
    """The bytes of a file, decompressed if its name ends in ``.gz``; empty if there is no such file."""
    if not file.exists():
        return b""
    data = file.read_bytes()
    if file.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{file} is damaged ({error}). Restore it, for example with `git checkout {file}`.") from None


def is_taken(path: Path) -> bool:
    """Whether something is there that must not be overwritten; an empty directory is nothing."""
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def refuse_existing(path: Path) -> None:
    """A run directory is never overwritten; raises UsageError."""
    if is_taken(path):
        raise UsageError(f"{path} exists already; resume it with --resume {path}, or choose another --out")


class RunDirectory:
    """One run's files.

    Args:
        path: the directory, which exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: Config) -> RunDirectory:
        """Make a new run directory; nothing is left behind if that fails.

        Raises:
            UsageError: if something is there already.
        """
        refuse_existing(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            (temporary / "checkpoints").mkdir(parents=True)
            write_json(temporary / "config.json", config.model_dump(mode="json"))
            write_json(temporary / "env.json", environment())
            os.replace(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run directory; raises UsageError if it is none."""
        if not path.is_dir():
            raise UsageError(f"there is no run directory {path}")
        read_json(path / "config.json")
        return cls(path)

    @property
    def config(self) -> Config:
        """The resolved config."""
        return parse_config(read_json(self.path / "config.json"))

    def append(self, name: str, records: Sequence[Mapping[str, object]]) -> None:
        """Add lines to ``metrics.jsonl`` or ``episodes.jsonl``, complete lines only."""
        text = "".join(
            json.dumps({"version": VERSION, **record}, ensure_ascii=False, allow_nan=False) + "\n" for record in records
        )
        with open(self.path / name, "a", encoding="utf-8") as file:
            file.write(text)
            file.flush()

    def cut_back(self, step: int) -> None:
        """Drop whatever is of later steps, and a torn last line: the state of the files when step ``step`` was over."""
        later = [path for path in self.checkpoints() if path.name > f"trial-{step:05d}"]
        for path in later:
            shutil.rmtree(path)
        if later:
            for evaluation in self.path.glob("eval*.json"):
                evaluation.unlink()
        for name in ("metrics.jsonl", "episodes.jsonl"):
            path = self.path / name
            if path.exists():
                kept = [record for record in read_lines(path) if record["step"] <= step]
                replace_text(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in kept))

    # ------------------------------------------------------------------ checkpoints

    def save_checkpoint(self, step: int, states: Mapping[int, Mapping[str, Tensor]]) -> Path:
        """Write ``checkpoints/trial-STEP`` in one move and drop all but the latest few."""
        from safetensors.torch import save

        final = self.path / "checkpoints" / f"trial-{step:05d}"
        temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
        try:
            temporary.mkdir(parents=True)
            weights = temporary / "state.safetensors"
            # Not save_file(): its errors do not say whether it was the disk that was full.
            tensors = {f"{seed}/{key}": value for seed, own in states.items() for key, value in own.items()}
            weights.write_bytes(save({key: value.detach().cpu().contiguous() for key, value in tensors.items()}))
            write_json(temporary / "checkpoint.json", {"version": VERSION, "step": step, "sha256": _sha256(weights)})
            if final.exists():
                shutil.rmtree(final)
            os.replace(temporary, final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        for old in self.checkpoints()[:-CHECKPOINTS_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        return final

    def checkpoints(self) -> list[Path]:
        """Complete checkpoints, oldest first."""
        return sorted((self.path / "checkpoints").glob("trial-*"))

    def load_checkpoint(self, name: str | None = None) -> tuple[int, dict[int, dict[str, Tensor]]] | None:
        """Read the latest checkpoint, or the one of that name; None if there is none yet.

        Raises:
            DamagedCheckpoint: if it does not match its checksum, naming the latest good one.
            UsageError: if there is none of that name.
        """
        found = self.checkpoints()
        if name is not None:
            chosen = [path for path in found if path.name == name]
            if not chosen:
                raise UsageError(f"{self.path} has no checkpoint {name!r}. It has: {', '.join(p.name for p in found)}.")
            return self._read(chosen[0])
        if not found:
            return None
        try:
            return self._read(found[-1])
        except DamagedCheckpoint as damage:
            for path in reversed(found[:-1]):
                try:
                    self._read(path)
                except DamagedCheckpoint:
                    continue
                raise DamagedCheckpoint(
                    f"{damage} The last good one is {path.name}: coplay train --resume {self.path} --from {path.name}"
                ) from None
            raise DamagedCheckpoint(f"{damage} There is no earlier good one; start the run anew.") from None

    def _read(self, path: Path) -> tuple[int, dict[int, dict[str, Tensor]]]:
        step, tensors = _read_checkpoint(path)
        if is_version_1(tensors):
            return step, translated_checkpoint(tensors, self.config)
        states: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            seed, _, key = name.partition("/")
            states.setdefault(int(seed), {})[key] = value
        return step, states


def _read_checkpoint(path: Path) -> tuple[int, dict[str, Tensor]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        about = json.loads((path / "checkpoint.json").read_text(encoding="utf-8"))
        weights = path / "state.safetensors"
        if _sha256(weights) != about["sha256"]:
            raise DamagedCheckpoint(f"checkpoint {path.name} is damaged: its weights do not match their checksum.")
        return int(about["step"]), load_file(str(weights))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise DamagedCheckpoint(f"checkpoint {path.name} is damaged: {error}.") from None


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def environment() -> dict[str, object]:
    """Where and with what a run is made."""
    import torch

    packages = {}
    for package in ("coplay", "torch", "transformers", "tokenizers", "numpy", "safetensors", "bitsandbytes"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[package] = importlib.metadata.version(package)
    return {
        "version": VERSION,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "git": _git_state(),
    }


def _git_state() -> dict[str, str | bool] | None:
    """Commit and cleanliness of the checkout the package runs from; None outside one."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        if "src/coplay" not in git("ls-files", "--full-name", "__init__.py"):
            return None
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a run directory for this process. The system lets go of it when the process ends, however it ends.

    Raises:
        UsageError: if another process has it, or if its lock is a link, which may lead to anybody's file.
    """
    file = path / ".lock"
    if file.is_symlink():
        raise UsageError(f"{file} is a link, which a run's lock never is; remove it")
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(f"{path} is in use by another coplay process") from None
    try:
        yield
    finally:
        lock.release()
