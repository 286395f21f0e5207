"""What manifests and syncing cost: the share of a run's time that is spent in writing files for good, and the time to list many runs.

    python benchmarks/files.py                          # a part of the demo, and a list of a thousand runs
    python benchmarks/files.py --trials 40 --runs 200

The first figure is the time within manifests, checksums and syncs, divided by the whole time of one run. The second is the wall time of
``coplay list runs`` as a process, with starting Python.
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
from coplay.runs import checkpoints
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
    """The share of manifests, checksums and syncing in a run."""
    clock = Clock()
    os.fsync = clock.around(os.fsync)
    writing.sync_directory = clock.around(writing.sync_directory)
    store.Store.commit = clock.around(store.Store.commit)  # type: ignore[method-assign]
    store.checksum = clock.around(store.checksum)
    checkpoints.checksum = clock.around(checkpoints.checksum)
    config = with_values(make_config("shapellm/ipd"), {"trials": trials, "seeds": [0, 1], "workers": 1})
    before = time.perf_counter()
    train(config, folder / "run", progress=Progress(quiet=True))
    whole = time.perf_counter() - before
    saved = max(1, trials // config.checkpoint_every)
    print(f"{trials} trials of the demo's shaper arm, 2 seeds, {saved} checkpoints: {whole:.1f} s")
    print(f"manifests, checksums and syncing: {clock.spent:.3f} s, {clock.spent / whole:.2%} of the run")


class Clock:
    """Adds up the time within some functions; what one of them spends in another counts once."""

    def __init__(self) -> None:
        self.spent, self._depth = 0.0, 0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose time is added up."""

        def wrapper(*args: Any, **options: Any) -> Any:
            self._depth += 1
            before = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.spent += time.perf_counter() - before

        return wrapper


def listing(folder: Path, *, runs: int) -> None:
    """The time to list many runs. They are of tables: their checkpoints are small, and no list reads them."""
    config = with_values(make_config("shapellm/ipd", learner="tabular"), {"trials": 3, "games": 2, "eval_games": 2})
    one, many = train(config, folder / "one", progress=Progress(quiet=True)).path, folder / "many"
    for number in range(runs):
        shutil.copytree(one, many / f"run-{number:04d}")
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
