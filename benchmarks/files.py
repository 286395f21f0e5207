"""What manifests and syncing cost: the share of a run's time that is spent in writing files for good, and the time to list many runs.

    python benchmarks/files.py                          # a part of the demo, and a list of a thousand runs
    python benchmarks/files.py --trials 40 --runs 200

The first figure is the time within checkpoints, manifests and syncs divided by the whole time of training, measured in one run. The second is
the wall time of ``coplay list runs`` as a process, with starting Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from coplay.files import store, writing
from coplay.recipes import make_config
from coplay.runs.config_input import with_values
from coplay.runs.train import train
from coplay.terminal.progress import Progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40, help="trials of the demo's shaper arm")
    parser.add_argument("--runs", type=int, default=1000, help="runs to list")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        share(Path(folder), trials=options.trials)
        listing(Path(folder), runs=options.runs)
    return 0


def share(folder: Path, *, trials: int) -> None:
    """The share of manifests and syncing in a run."""
    spent = {"syncing": 0.0, "manifests": 0.0}
    os.fsync = timed(os.fsync, "syncing", spent)
    store.Store.commit = timed(store.Store.commit, "manifests", spent)  # type: ignore[method-assign]
    writing.sync_directory = timed(writing.sync_directory, "syncing", spent)
    config = with_values(make_config("shapellm/ipd"), {"trials": trials, "seeds": [0, 1], "workers": 1})
    before = time.perf_counter()
    run = train(config, folder / "run", progress=Progress(quiet=True))
    whole = time.perf_counter() - before
    checkpoints = max(1, trials // config.checkpoint_every)
    cost = max(spent.values())
    print(f"{trials} trials, {checkpoints} checkpoints: {whole:.1f} s")
    print(
        f"syncing {spent['syncing']:.3f} s, manifests with their syncing {spent['manifests']:.3f} s: at most {cost / whole:.2%} of the run"
    )
    (folder / "one").mkdir()
    shutil.copytree(run.path, folder / "one" / "run")


def timed(function: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    """The same function, whose time is added up."""

    def wrapper(*args: Any, **options: Any) -> Any:
        before = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            spent[name] += time.perf_counter() - before

    return wrapper


def listing(folder: Path, *, runs: int) -> None:
    """The time to list many runs."""
    many = folder / "many"
    for number in range(runs):
        shutil.copytree(folder / "one" / "run", many / f"run-{number:04d}")
    command = [sys.executable, "-m", "coplay", "list", "runs", "--runs-in", str(many)]
    times = []
    for _ in range(5):
        before = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - before)
    finished = sum("finished" in line for line in done.stdout.splitlines())
    print(
        f"list of {runs} runs ({finished} finished): {min(times):.2f} s at best, {sorted(times)[2]:.2f} s in the middle"
    )


if __name__ == "__main__":
    raise SystemExit(main())
