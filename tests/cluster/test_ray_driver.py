"""The command that hands out tasks is killed, and given again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from cluster_runs import TRIALS, carried_out, hurry, reference, slow_runs, steps, wait_until
from interruptions import same_ending

from coplay.tasks.executors import TaskExecutor

DRIVER = """
import sys
from pathlib import Path
from cluster_runs import carried_out, slow_runs
from coplay.tasks.ray_cluster import RayCluster
carried_out(RayCluster(sys.argv[1]), slow_runs(Path(sys.argv[2]), 2))
"""


def test_a_command_that_is_killed_and_given_again_finds_everything(
    cluster: Any, executor: TaskExecutor, tmp_path: Path
) -> None:
    tasks = slow_runs(tmp_path, 2)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, str(tmp_path)])
    try:
        wait_until(lambda: all(steps(task.directory) > 2 for task in tasks))
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert all(0 < task.step() < TRIALS for task in tasks)
    hurry(tasks)
    carried_out(executor, tasks)
    whole = reference(tmp_path / "here")
    for task in tasks:
        same_ending(task.directory, whole)
    assert not (tmp_path / ".tasks").exists()
