"""Machines that die, hang or run broken tasks: nothing is lost but what came after the last checkpoint, and files end as if nothing had happened."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import TRIALS, Broken, Dying, carried_out, hurry, meanwhile, reference, slow_runs, steps, wait_until
from interruptions import same_ending

from coplay.errors import CoplayError, Interrupted
from coplay.tasks import ray_schedule
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.ray_attempt import read_report
from coplay.tasks.ray_cluster import RayCluster
from coplay.tasks.task import TasksFailed


def lose_both(cluster: Any, tasks: list[Any]) -> None:
    """Two of three machines die when all tasks are under way; two others come."""
    wait_until(lambda: all(steps(task.directory) > 1 for task in tasks))
    lost = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    for node in lost:
        cluster.remove_node(node, allow_graceful=False)
    hurry(tasks)
    for _ in lost:
        cluster.add_node(wait=False, num_cpus=1)


def test_machines_die_and_the_files_are_the_same(cluster: Any, executor: TaskExecutor, tmp_path: Path) -> None:
    tasks = slow_runs(tmp_path, 3)
    with meanwhile(lambda: carried_out(executor, tasks)):
        lose_both(cluster, tasks)
    whole = reference(tmp_path / "here")
    for task in tasks:
        same_ending(task.directory, whole)
    assert not (tmp_path / ".tasks").exists()


def test_a_process_that_hangs_is_replaced_and_writes_no_more(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be killed, as on a machine that nobody reaches, and wakes up in the middle of its replacement's work."""
    monkeypatch.setattr(ray_schedule, "_cancel", lambda *_, **__: None)
    (task,) = slow_runs(tmp_path, 1)
    pids = []

    def hang() -> None:
        wait_until(lambda: steps(task.directory) > 2)
        pids.append(pid_of(task.directory))
        os.kill(pids[0], signal.SIGSTOP)
        wait_until(lambda: pid_of(task.directory) != pids[0] and steps(task.directory) > 5)
        os.kill(pids[0], signal.SIGCONT)
        hurry([task])

    with meanwhile(hang):
        carried_out(RayCluster(patience=3), [task])
    same_ending(task.directory, reference(tmp_path / "here"))
    assert pids


def pid_of(directory: Path) -> int:
    """The process that works on a directory's task."""
    report = read_report(directory)
    return 0 if report is None else report["pid"]


def test_a_task_that_fails_is_told_with_its_log_and_the_others_go_on(executor: TaskExecutor, tmp_path: Path) -> None:
    (good,) = slow_runs(tmp_path, 1, trials=2)
    broken = Broken(directory=tmp_path / "broken")
    needing = Broken(directory=tmp_path / "needing", after=(broken.directory,))
    with pytest.raises(TasksFailed) as caught:
        carried_out(executor, [broken, needing, good])
    told = str(caught.value)
    assert told.startswith("2 of 3 failed; the others are done, and run it again\n")
    assert f"{broken.directory}: RuntimeError: broken for good, after 3 attempts" in told
    assert f"{needing.directory}: not begun, as it needs {broken.directory}" in told
    log = (tmp_path / ".tasks" / "broken" / "log.txt").read_text()
    assert log.count("what the task printed") == 3 and [f"--- attempt {i}" in log for i in (1, 2, 3, 4)][-2:] == [
        True,
        False,
    ]
    same_ending(good.directory, reference(tmp_path / "here", trials=2))


def test_a_task_whose_process_dies_is_not_begun_for_ever(
    executor: TaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_schedule, "LOSSES", 2)
    with pytest.raises(
        CoplayError, match=r"dying: its process died, after 2 attempts\. Its log is .*(?s:.*)about to die"
    ):
        carried_out(executor, [Dying(directory=tmp_path / "dying")])


def test_ctrl_c_saves_everywhere_and_what_is_saved_is_resumed(executor: TaskExecutor, tmp_path: Path) -> None:
    tasks = slow_runs(tmp_path, 2)

    def press() -> None:
        wait_until(lambda: all(steps(task.directory) > 1 for task in tasks))
        os.kill(os.getpid(), signal.SIGINT)

    with meanwhile(press), pytest.raises(Interrupted, match="saved; run it again"):
        carried_out(executor, tasks)
    assert all(1 < task.step() < TRIALS for task in tasks)
    hurry(tasks)
    carried_out(executor, tasks)
    whole = reference(tmp_path / "here")
    for task in tasks:
        same_ending(task.directory, whole)
