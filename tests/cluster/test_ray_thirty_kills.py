"""Thirty machines die at random moments: nothing is lost, and every task comes to the one end that it has without that."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import KINDS, Slow, carried_out, meanwhile, steps
from interruptions import same_ending

from coplay.runs.config_input import with_overrides
from coplay.tasks.executors import LOCAL, TaskExecutor

KILLS = 30
TRIALS = ["trials=24", "checkpoint_every=1"]


def batch(out: Path, *, seconds: float) -> list[Slow]:
    """A longer run of each kind."""
    configs = {kind: with_overrides(KINDS[kind](), TRIALS) for kind in ("matrix", "text", "sepo", "mediation")}
    return [Slow(name=kind, directory=out / kind, config=config, seconds=seconds) for kind, config in configs.items()]


def is_over(task: Slow) -> bool:
    return (task.directory / "eval.json").exists()


def kill_one(cluster: Any, tasks: list[Slow], rng: random.Random) -> bool:
    """Kill a machine once every task under way has another checkpoint than at the last kill; whether there was still something to disturb."""
    before = {task.name: task.step() for task in tasks}
    begun = [task for task in tasks if not is_over(task) and steps(task.directory) >= 0]
    ends = time.monotonic() + 180

    def moved(task: Slow) -> bool:
        return is_over(task) or task.step() > before[task.name]

    while not (any(map(moved, tasks)) and all(map(moved, begun))):
        assert time.monotonic() < ends, f"no progress since {before}"
        time.sleep(0.1)
    time.sleep(rng.uniform(0, 1.5))
    if all(map(is_over, tasks)):
        return False
    others = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    cluster.remove_node(rng.choice(others), allow_graceful=False)
    cluster.add_node(wait=False, num_cpus=1)
    return True


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_thirty_machines_die(cluster: Any, executor: TaskExecutor, tmp_path: Path) -> None:
    rng, kills, batches = random.Random(0), 0, 0
    wholes = batch(tmp_path / "here", seconds=0)
    carried_out(LOCAL, wholes)
    while kills < KILLS:
        batches += 1
        tasks = batch(tmp_path / f"there{batches}", seconds=0.4)
        with meanwhile(lambda tasks=tasks: carried_out(executor, tasks)):  # type: ignore[misc]
            while kills < KILLS and kill_one(cluster, tasks, rng):
                kills += 1
        for task, whole in zip(tasks, wholes, strict=True):
            same_ending(task.directory, whole.directory)
    print(f"{kills} kills over {batches} batches of {len(wholes)} runs")
    assert all(task.is_done() for task in tasks)
