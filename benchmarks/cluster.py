"""What a Ray cluster costs against this process: runs of a minute, and a thousand short tasks. Ratios, as Markdown.

    python benchmarks/cluster.py [--trials 60] [--tasks 1000] [--processors 2]

Both run the same tasks with one thread each, at one priority; Ray's processes have a lower one by default (``nice`` 15). ``run`` has as many runs as processors: the local executor trains one after the other, and its time is
divided by the processors. ``short`` are runs of a table of one trial; their work is the time that the local executor takes for a part of them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from coplay.recipes import make_config
from coplay.runs.config_input import with_overrides
from coplay.runs.tasks import PartTask
from coplay.tasks.executors import LOCAL, TaskExecutor

SHORT = ["trials=1", "episodes=2", "games=2", "rounds=4", "eval_games=2", "threads=1", "seeds=[0]"]
"""A run of a table that is over at once."""

SAMPLE = 50
"""Short tasks by which their work is measured."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60, help="of each long run; 0 for none")
    parser.add_argument("--tasks", type=int, default=1000, help="short tasks; 0 for none")
    parser.add_argument("--processors", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    os.environ.update(OMP_NUM_THREADS="1", RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    import ray

    from coplay.tasks.ray_cluster import RayCluster

    print("| tasks | work / processors, s | on the cluster, s | ratio |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        ray.init(num_cpus=options.processors, include_dashboard=False, log_to_driver=False, logging_level=50)
        if options.trials:
            settings = [f"trials={options.trials}", "threads=1", "seeds=[0]", "eval_games=20"]
            wanted = ("shapellm/ipd", "language_model", settings)
            count = options.processors
            work = seconds(LOCAL, tasks(Path(directory, "a"), count, *wanted)) / count
            told(f"{count} runs", work, seconds(RayCluster(), tasks(Path(directory, "b"), count, *wanted)))
        if options.tasks:
            short = ("shapellm/ipd", "tabular", SHORT)
            part = min(SAMPLE, options.tasks)
            seconds(LOCAL, tasks(Path(directory, "warm"), 1, *short))  # imports are not the tasks' work
            work = seconds(LOCAL, tasks(Path(directory, "c"), part, *short)) / part
            whole = seconds(RayCluster(), tasks(Path(directory, "d"), options.tasks, *short))
            told(f"{options.tasks} short tasks", work * options.tasks / options.processors, whole)
        ray.shutdown()
    return 0


def tasks(out: Path, count: int, recipe: str, learner: str, settings: Sequence[str]) -> list[PartTask]:
    """Runs of a recipe, each in a directory of its own."""
    config = with_overrides(make_config(recipe, learner=learner), list(settings))  # type: ignore[arg-type]
    return [PartTask(name=str(i), directory=out / str(i), config=config) for i in range(count)]


def seconds(executor: TaskExecutor, wanted: Sequence[PartTask]) -> float:
    """How long all tasks take, the checks of the cluster included."""
    wanted[0].directory.parent.mkdir(parents=True)
    started = time.monotonic()
    for _ in executor.run(wanted, resume="", quiet=True):
        pass
    return time.monotonic() - started


def told(name: str, work: float, there: float) -> None:
    """Print a row."""
    print(f"| {name} | {work:.1f} | {there:.1f} | **{there / work:.2f}** |", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
