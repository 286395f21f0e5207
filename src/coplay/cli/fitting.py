"""``coplay fit-simulator``: players fitted to recorded games."""

from __future__ import annotations

import argparse
from pathlib import Path

from coplay.cli.options import executor_from
from coplay.cli.reading import show
from coplay.errors import UsageError


def fit_simulator(options: argparse.Namespace) -> int:
    """``coplay fit-simulator``."""
    from coplay.experiments.fit_simulator import table
    from coplay.experiments.tasks import FitTask, carry_out
    from coplay.files.naming import user_path

    if options.seed < 0:
        raise UsageError(f"--seed must be at least 0, got {options.seed}")
    out: Path = user_path(options.out)
    if out.exists():
        raise UsageError(f"{out} exists already; choose another --out")
    if out.suffix != ".json":
        raise UsageError(f"--out: a simulator is a .json file, got {out.name}")
    task = FitTask(directory=out, games=tuple(user_path(one) for one in options.games), seed=options.seed)
    task.check()
    carry_out(executor_from(options), task)
    found = task.simulator()
    if options.json:
        show(found)
    else:
        print(table(found))
        print(f"\nwrote {out}; play it as simulator:{out}@PERSONA")
    return 0
