"""The machine that figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    import peft

    from coplay.runs.environment import environment

    found = {
        key: value for key, value in environment().items() if key in ("python", "platform", "packages", "device", "git")
    }
    found["packages"]["peft"] = peft.__version__
    return {"cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)), **found}


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
