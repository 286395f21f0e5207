"""From command-line options to a config, shared by the verbs that take a recipe."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from coplay.errors import UsageError
from coplay.recipes import LearnerKind, make_config
from coplay.runs.config import Adapter, Config
from coplay.runs.config_input import parse_value, with_overrides
from coplay.runs.limits import MOST_SEEDS
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.named import executor_of
from coplay.terminal.printable import printable


def config_from(options: argparse.Namespace) -> Config:
    """The recipe's config with ``--seeds``, ``--model`` and the overrides applied."""
    learner: LearnerKind = options.learner or "language_model"
    overrides = list(options.overrides)
    config = make_config(
        options.recipe, scale=options.scale or "tiny", learner=learner, game=_game_of(options.game, overrides)
    )
    seeds = seeds_from(options)
    if seeds is not None:
        overrides.append(f"seeds={json.dumps(seeds)}")
    if options.model is not None:
        refuse_model_of_tables(learner)
        overrides.append(f"model={json.dumps(options.model)}")
    return with_overrides(config, overrides)


def _game_of(name: str | None, overrides: Sequence[str]) -> str | dict[str, object] | None:
    """The game of ``--game`` with the settings that overrides give it (``game.n=4``): they may change its seats, and so the recipe."""
    parts = [override.partition("=") for override in overrides]
    settings = {key.removeprefix("game."): parse_value(text) for key, _, text in parts if key.startswith("game.")}
    return {"name": name, **settings} if name is not None and settings else name


def refuse_model_of_tables(learner: str) -> None:
    """Tabular learners have no model that ``--model`` could name."""
    if learner == "tabular":
        raise UsageError("--model: tabular learners have none; leave out --model or --learner tabular")


def seeds_from(options: argparse.Namespace) -> list[int] | None:
    """The seeds of ``--seeds LIST`` or ``--n-seeds N``; None without either. Raises UsageError."""
    if options.n_seeds is not None:
        if options.n_seeds < 1:
            raise UsageError(f"--n-seeds must be at least 1, got {options.n_seeds}")
        if options.n_seeds > MOST_SEEDS:
            raise UsageError(f"--n-seeds must be at most {MOST_SEEDS:,}, got {options.n_seeds:,}")
        return list(range(options.n_seeds))
    if options.seeds is None:
        return None
    seeds = seed_list(options.seeds)
    if len(seeds) == 1 and 1 < seeds[0] <= MOST_LIKELY_MEANT and not getattr(options, "quiet", False):
        told = f"--seeds {seeds[0]} is one seed, {seeds[0]}; for {seeds[0]} seeds: --n-seeds {seeds[0]}"
        print(f"coplay: {told}", file=sys.stderr)
    return seeds


MOST_LIKELY_MEANT = 20
"""A single seed up to this may be meant as the number of seeds."""


def seed_list(text: str) -> list[int]:
    """``"0,1,2"`` as numbers; raises UsageError."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds takes whole numbers separated by commas, e.g. 0,1,2; got {text!r}") from None


def executor_from(options: argparse.Namespace) -> TaskExecutor:
    """The executor of ``--executor``, ``--address``, ``--cpus`` and ``--gpus``; raises UsageError."""
    return executor_of(options.executor, address=options.address, cpus=options.cpus, gpus=options.gpus)


def check_plot(file: str) -> None:
    """Refuse a figure's file that cannot be written, before anything is computed; raises UsageError."""
    from coplay.report.canvas import FORMATS

    path = Path(file)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--plot writes .png, .pdf or .svg files; got {file}")
    if not path.parent.is_dir():
        raise UsageError(f"--plot: there is no directory {path.parent}")


def told_of_divergence(lines: Sequence[str]) -> int:
    """Print what has diverged, and return the exit status: 1 if anything has."""
    for line in lines:
        print(f"coplay: {printable(line)}", file=sys.stderr)
    return 1 if lines else 0


def as_start(adapter: Adapter, out: Path, *, unless: Adapter | None = None) -> str:
    """The settings with which a run starts from an adapter.

    Args:
        adapter: its shape.
        out: its directory.
        unless: a shape that needs not be said; None to say the whole shape.

    Example:
        >>> as_start(Adapter(top_layers=10), Path("runs/start"), unless=Adapter())
        'adapter.init_adapter=runs/start adapter.top_layers=10'
    """
    known = {} if unless is None else dict(unless.form)
    settings = [f"adapter.init_adapter={shlex.quote(str(out))}"]
    for key, value in adapter.form.items():
        if value is not None and value != known.get(key):
            shown = f"{value:g}" if isinstance(value, float) else ",".join(value) if isinstance(value, tuple) else value
            settings.append(f"adapter.{key}={shown}")
    return " ".join(settings)
