"""What must be the same on every machine that works on one thing."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import platform
from functools import lru_cache
from pathlib import Path

PACKAGES = ("torch", "numpy", "transformers", "tokenizers", "safetensors", "ray")
"""The packages whose versions results may depend on, and the one that carries the tasks."""


@lru_cache(1)
def versions() -> dict[str, str]:
    """The versions here, by name: Python's, the packages', and coplay's with a checksum of its code."""
    found = {"python": platform.python_version()}
    for package in ("coplay", *PACKAGES):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return {**found, "coplay": f"{found.get('coplay', 'unknown')} (code {_digest()})"}


def _digest() -> str:
    """The beginning of a checksum of all modules of this package."""
    root, whole = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:8]
