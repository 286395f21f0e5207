"""Admissions, and what is kept of them: one small file each in the cache, by a checksum of all that decides the result.

That is the model's files, its precision and device, where its adapters are, the versions of the libraries, and coplay's own code for models. Without a
directory to write to, models are compared every time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coplay.errors import CoplayError
from coplay.files.reading import as_object, read_bytes, read_json
from coplay.files.writing import write_file, write_json
from coplay.models.comparison import Difference
from coplay.models.known import cache_directory
from coplay.models.scoring import Engine

if TYPE_CHECKING:
    from coplay.models.bank import AdapterBank
    from coplay.models.loading import LoadedModel

FOLDER = "admitted"
"""Of the cache."""


@dataclass(frozen=True)
class EngineTrial:
    """What an engine gave."""

    engine: Engine
    """Which one."""
    differences: tuple[Difference, ...] = ()
    """What was compared, in order; it ends with the first that does not agree."""
    failure: str = ""
    """The error with which it ended; empty if it did not."""

    @classmethod
    def of(cls, engine: Engine, found: Sequence[Difference]) -> EngineTrial:
        """A trial that ended with these differences. One that is not finite is reported as the failure, since no record holds it."""
        for place, one in enumerate(found):
            if not all(map(math.isfinite, (one.largest, one.spread, one.allowed))):
                return cls(
                    engine, tuple(found[:place]), f"{one.what} of {one.tokens} tokens are off by no finite number"
                )
        return cls(engine, tuple(found))

    @property
    def agrees(self) -> bool:
        """Whether it may be used."""
        return not self.failure and bool(self.differences) and all(one.agrees for one in self.differences)

    @property
    def worst(self) -> Difference | None:
        """The comparison that came nearest to what is allowed, or went furthest past it."""
        return max(self.differences, key=lambda one: _share(one), default=None)

    @property
    def reason(self) -> str:
        """Why it may not be used, in words; empty if it may."""
        if self.failure:
            return self.failure
        worst = self.worst
        if worst is None or worst.agrees:
            return "" if self.differences else "nothing was compared"
        return (
            f"{worst.what} of {worst.tokens} tokens are off by {worst.largest:.3g} where the spread is {worst.spread:.3g}"
            f" ({worst.allowed:.3g} is allowed)"
        )


def _share(one: Difference) -> float:
    share = one.largest / one.allowed if one.allowed > 0 else float("inf")
    return share if share == share else float("inf")  # not a number: as bad as can be


@dataclass(frozen=True)
class Admission:
    """How a model is computed, and what was compared."""

    engine: Engine
    """The engine that is used."""
    verified: int
    """Tokens of the longest rows that were compared."""
    longest: int | None = None
    """Tokens from which on rows are refused, since the model is not the same from call to call, or ends there; None if no such length was met."""
    attention: str = ""
    """Transformers' attention: its own choice, or ``eager`` where that leaves out what the plain one computes."""
    trials: tuple[EngineTrial, ...] = ()
    """The engines that were tried, in order."""
    seconds: float = 0.0
    """What the comparison took."""
    notes: tuple[str, ...] = ()
    """What was not compared, and why."""

    def keep(self, key: str) -> None:
        """Keep it in the cache, under :func:`admission_key`."""
        _keep_record(key, asdict(self))

    @staticmethod
    def kept(key: str) -> Admission | None:
        """What was kept under a key; None if nothing was."""
        found = _known_record(key)
        if found is None:
            return None
        try:
            trials = [
                EngineTrial(
                    Engine(one["engine"]), tuple(Difference(**each) for each in one["differences"]), one["failure"]
                )
                for one in found["trials"]
            ]
            changed = {"engine": Engine(found["engine"]), "trials": tuple(trials), "notes": tuple(found["notes"])}
            return Admission(**{**found, **changed})
        except (KeyError, TypeError, ValueError):
            return None  # of another version: it is measured again


def admission_key(loaded: LoadedModel, bank: AdapterBank) -> str:
    """The checksum by which the admission of a model is kept; empty if its files are not known, as those of a model that was made in memory."""
    import torch
    import transformers

    if loaded.files is None:
        return ""
    parameter = next(loaded.model.parameters())
    device = torch.cuda.get_device_name(parameter.device) if parameter.device.type == "cuda" else _processor()
    parts = {
        "files": _digest(loaded.files),
        "precision": [str(loaded.model.dtype), bool(getattr(loaded.model, "is_quantized", False))],
        "device": device,
        "adapters": sorted(bank.weights),
        "versions": [torch.__version__, transformers.__version__, _code()],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def adapter_key(key: str, directory: Path) -> str:
    """The checksum by which it is kept that an adapter is read as PEFT reads it, with a model of this key; empty without one."""
    return hashlib.sha256(f"{key} {_digest(directory)}".encode()).hexdigest() if key else ""


def was_admitted(key: str) -> bool:
    """Whether that is kept under a key of :func:`adapter_key`."""
    return _known_record(key) is not None


def keep_admitted(key: str) -> None:
    """Keep it."""
    _keep_record(key, {"agrees": True})


def _known_record(key: str) -> dict[str, Any] | None:
    """What was kept; None if nothing was, or it cannot be read."""
    if not key:
        return None
    try:
        return as_object(read_json(_path(key)), _path(key))
    except (OSError, CoplayError):
        return None  # it is measured again


def _keep_record(key: str, record: Mapping[str, object]) -> None:
    """Keep what was found, where that is possible."""
    if not key:
        return
    with contextlib.suppress(OSError, CoplayError):
        _path(key).parent.mkdir(parents=True, exist_ok=True)
        write_json(_path(key).parent, _path(key).name, record)


def _path(key: str) -> Path:
    return cache_directory() / FOLDER / f"{key}.json"


def _digest(directory: Path) -> str:
    """The checksum of a model's files. Those of weights are kept by where they lie, their size and when they were written, since reading them takes long."""
    digest = hashlib.sha256()
    for file in sorted(
        path for path in directory.iterdir() if path.suffix in (".json", ".safetensors") and path.is_file()
    ):
        digest.update(
            f"{file.name}\n{_of_weights(file) if file.suffix == '.safetensors' else _of_file(file)}\n".encode()
        )
    return digest.hexdigest()


def _of_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _of_weights(file: Path) -> str:
    stat = file.stat()
    told = f"{file.resolve()} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"
    kept = cache_directory() / FOLDER / "checksums" / hashlib.sha256(told.encode()).hexdigest()
    try:
        found = read_bytes(kept, most=64).decode("ascii")
        if len(found) == 64:
            return found
    except (OSError, CoplayError, ValueError):
        pass  # it is computed again
    computed = _of_file(file)
    with contextlib.suppress(OSError, CoplayError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_file(kept.parent, kept.name, computed)
    return computed


@lru_cache(maxsize=1)
def _code() -> str:
    """The checksum of coplay's own code for models."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _processor() -> str:
    """The processor as far as rounding depends on it."""
    import torch

    return f"cpu {torch.backends.cpu.get_cpu_capability()}"
