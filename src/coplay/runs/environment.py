"""Where and with what a run is made: the content of ``env.json``."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from coplay.files.kinds import newest_version


def environment() -> dict[str, object]:
    """Where and with what a run is made."""
    import torch

    return {
        "version": newest_version("env.json"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": dict(_packages()),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "git": _git_state(),
    }


@lru_cache(1)  # what this process has imported stays as it is, whatever is installed later
def _packages() -> dict[str, str]:
    """The installed versions of the packages that results depend on."""
    found = {}
    for package in ("coplay", "torch", "transformers", "tokenizers", "numpy", "safetensors", "bitsandbytes"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


@lru_cache(1)  # the same holds for the package's own code
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
