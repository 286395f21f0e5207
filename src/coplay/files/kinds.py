"""Every kind of file that coplay writes: where it lies, its form and its newest version. A new kind is declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

Form = Literal["object", "list", "lines", "tensors", "page", "picture", "text"]
"""``object`` and ``list`` are JSON documents, ``lines`` have one JSON object each, ``tensors`` are safetensors."""

Owner = Literal[
    "run", "alignment", "demonstrations", "sft", "experiment", "sweep", "recording", "probe", "audit", "page"
]
"""What kind of directory a file belongs to; ``page`` is anywhere a report is written."""


@dataclass(frozen=True)
class FileKind:
    """One kind of file."""

    owner: Owner
    """The kind of directory it is written to."""
    pattern: str
    """Its path in that directory, with ``*`` where names vary."""
    form: Form
    """What it holds."""
    version: int | None = None
    """The newest version that is read; None for forms that have none."""
    grows: bool = False
    """Whether it is appended to."""


KINDS: tuple[FileKind, ...] = (
    FileKind("run", "manifest.json", "object", 1),
    FileKind("run", "config.json", "object", 2),
    FileKind("run", "env.json", "object", 2),
    FileKind("run", "metrics.jsonl", "lines", 1, grows=True),
    FileKind("run", "metrics.jsonl.gz", "lines", 1),
    FileKind("run", "episodes.jsonl", "lines", 2, grows=True),
    FileKind("run", "episodes.jsonl.gz", "lines", 2),
    FileKind("run", "eval.json", "object", 1),
    FileKind("run", "eval-*.json", "object", 1),
    FileKind("run", "eval-*.json.gz", "object", 1),
    FileKind("run", "safety.json", "object", 1),
    FileKind("run", "checkpoints/trial-*/checkpoint.json", "object", 2),
    FileKind("run", "checkpoints/trial-*/state.safetensors", "tensors"),
    FileKind("run", "adapters/*/adapter_config.json", "object"),
    FileKind("run", "adapters/*/adapter_model.safetensors", "tensors"),
    FileKind("alignment", "manifest.json", "object", 1),
    FileKind("alignment", "adapter_config.json", "object"),
    FileKind("alignment", "adapter_model.safetensors", "tensors"),
    FileKind("alignment", "alignment.json", "object", 2),
    FileKind("demonstrations", "manifest.json", "object", 1),
    FileKind("demonstrations", "train.jsonl", "lines", 1),
    FileKind("demonstrations", "valid.jsonl", "lines", 1),
    FileKind("demonstrations", "card.json", "object", 1),
    FileKind("sft", "manifest.json", "object", 1),
    FileKind("sft", "adapter_config.json", "object"),
    FileKind("sft", "adapter_model.safetensors", "tensors"),
    FileKind("sft", "sft.json", "object", 1),
    FileKind("experiment", "manifest.json", "object", 1),
    FileKind("experiment", "experiment.json", "object", 2),
    FileKind("experiment", "meetings/*.json", "object", 1),
    FileKind("experiment", "watched/*.json", "object", 2),
    FileKind("experiment", "watched/*.json.gz", "object", 2),
    FileKind("experiment", "first-policies.json", "object", 1),
    FileKind("experiment", "claims.json", "list"),
    FileKind("sweep", "manifest.json", "object", 1),
    FileKind("sweep", "sweep.json", "object", 2),
    FileKind("recording", "manifest.json", "object", 1),
    FileKind("recording", "recording.json", "object", 1),
    FileKind("recording", "games.jsonl", "lines", 2, grows=True),
    FileKind("recording", "games.jsonl.gz", "lines", 2),
    FileKind("probe", "manifest.json", "object", 1),
    FileKind("probe", "probe.json", "object", 1),
    FileKind("probe", "probe.json.gz", "object", 1),
    FileKind("audit", "manifest.json", "object", 1),
    FileKind("audit", "audit.json", "object", 1),
    FileKind("audit", "junit.xml", "text"),
    FileKind("page", "simulator*.json", "object", 1),
    FileKind("page", "result.json", "object", 1),
    FileKind("page", "report.html", "page"),
    FileKind("page", "figures/*", "picture"),
)
"""All of them."""


MARKERS: dict[Owner, tuple[str, int]] = {
    "run": ("env.json", 2),
    "alignment": ("alignment.json", 2),
    "demonstrations": ("card.json", 1),
    "sft": ("sft.json", 1),
    "experiment": ("experiment.json", 2),
    "sweep": ("sweep.json", 2),
    "recording": ("recording.json", 1),
    "probe": ("probe.json", 1),
    "audit": ("audit.json", 1),
}
"""For each kind of directory a file that it always has, and from which version of that file on it has a manifest as well."""


def marker_of(owner: Owner) -> tuple[str, int]:
    """The file and the version that say that a directory must have a manifest."""
    return MARKERS[owner]


@lru_cache(4096)
def kind_of(owner: Owner, name: str) -> FileKind | None:
    """The kind of a file by its path in a directory; None if coplay writes no such file there."""
    return next((kind for kind in KINDS if kind.owner == owner and fnmatchcase(name, kind.pattern)), None)


@lru_cache(4096)
def newest_version(name: str) -> int | None:
    """The newest version of files of this name, whatever directory they are in; None if the name is of none that has versions.

    Args:
        name: the file's path in its directory, or the last part of it.
    """
    kinds = [kind for kind in KINDS if fnmatchcase(name, kind.pattern)]
    kinds += [kind for kind in KINDS if fnmatchcase(name, kind.pattern.rpartition("/")[2])]
    return next((kind.version for kind in kinds if kind.version is not None), None)
