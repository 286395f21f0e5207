"""What a Ray cluster costs against this process: runs of a minute, and a thousand short tasks. Ratios, as Markdown.

    python benchmarks/cluster.py [--trials 60] [--tasks 1000] [--processors 2] [--repeats 3]

Both run the same tasks with one thread each, at one priority; Ray's processes have a lower one by default (``nice`` 15). Their work is the time that they take in as many plain processes as there are processors, which share
the tasks out: of the long runs one each, in a fresh process as a command has, of the short ones, which are runs of a table of one trial, a part, in processes that have imported all that they need. On the cluster both begin
with fresh processes. Work and cluster take turns, as a machine's speed changes; each row is the turn with the median ratio, and tells the lowest and the highest.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from coplay.recipes import make_config
from coplay.runs.config_input import with_overrides
from coplay.runs.tasks import PartTask
from coplay.tasks.executors import LOCAL, TaskExecutor

SHORT = ["trials=1", "episodes=2", "games=2", "rounds=4", "eval_games=2", "threads=1", "seeds=[0]"]
"""A run of a table that is over at once."""

SAMPLE = 100
"""Short tasks by which their work is measured."""


@dataclass(frozen=True)
class Runs:
    """Runs of one kind."""

    name: str
    learner: str
    settings: list[str]
    number: int
    sample: int
    """How many of them tell what the work is."""
    warm: bool
    """Whether imports are not counted as work."""

    def tasks(self, out: Path, number: int) -> list[PartTask]:
        """So many of them, each in a directory of its own."""
        config = with_overrides(make_config("shapellm/ipd", learner=self.learner), self.settings)  # type: ignore[arg-type]
        return [PartTask(name=str(i), directory=out / str(i), config=config) for i in range(number)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60, help="of each long run; 0 for none")
    parser.add_argument("--tasks", type=int, default=1000, help="short tasks; 0 for none")
    parser.add_argument("--processors", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    os.environ.update(OMP_NUM_THREADS="1", RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    count = options.processors
    long = [f"trials={options.trials}", "threads=1", "seeds=[0]", "eval_games=20"]
    kinds = []
    if options.trials:
        kinds.append(Runs(f"{count} runs of {options.trials} trials", "language_model", long, count, count, warm=False))
    if options.tasks:
        kinds.append(
            Runs(f"{options.tasks} short tasks", "tabular", SHORT, options.tasks, min(SAMPLE, options.tasks), warm=True)
        )
    print("| tasks | work, s | on the cluster, s | ratio | of all turns |")
    print("| --- | --- | --- | --- | --- |")
    for runs in kinds:
        turns = sorted((turn(runs, count) for _ in range(options.repeats)), key=lambda found: found[1] / found[0])
        ratios = [there / work for work, there in turns]
        work, there = turns[len(turns) // 2]
        print(
            f"| {runs.name} | {work:.1f} | {there:.1f} | **{there / work:.2f}** | {ratios[0]:.2f} to {ratios[-1]:.2f} |",
            flush=True,
        )
    return 0


def turn(runs: Runs, processors: int) -> tuple[float, float]:
    """Seconds of the work, and on a cluster of this machine, the checks of the machine included."""
    import ray

    from coplay.tasks.ray_cluster import RayCluster

    with tempfile.TemporaryDirectory() as directory:
        work = at_once(runs, Path(directory), processors) * runs.number / runs.sample
        ray.init(num_cpus=processors, include_dashboard=False, log_to_driver=False, logging_level=50)
        there = seconds(RayCluster(), runs.tasks(Path(directory, "there"), runs.number))
        ray.shutdown()
    return work, there


def at_once(runs: Runs, directory: Path, processors: int) -> float:
    """Seconds that plain processes take for the sample."""
    tasks = runs.tasks(directory / "here", runs.sample)
    shares = [tasks[i::processors] for i in range(processors)]
    with ProcessPoolExecutor(processors, mp_context=multiprocessing.get_context("spawn")) as pool:
        if runs.warm:
            for one in [pool.submit(seconds, LOCAL, [task]) for task in runs.tasks(directory / "warm", processors)]:
                one.result()
        started = time.monotonic()
        for one in [pool.submit(seconds, LOCAL, share) for share in shares]:
            one.result()
        return time.monotonic() - started


def seconds(executor: TaskExecutor, wanted: Sequence[PartTask]) -> float:
    """How long all tasks take."""
    wanted[0].directory.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    for _ in executor.run(wanted, resume="", quiet=True):
        pass
    return time.monotonic() - started


if __name__ == "__main__":
    raise SystemExit(main())
