"""Runs on a cluster end with the files of runs in one process."""

from __future__ import annotations

from pathlib import Path

from cluster_runs import KINDS, carried_out, parts
from interruptions import same_ending
from small_runs import files

from coplay.tasks.executors import LOCAL, TaskExecutor


def test_runs_of_every_kind_end_as_in_one_process(executor: TaskExecutor, tmp_path: Path) -> None:
    there, here = parts(tmp_path / "there", *KINDS), parts(tmp_path / "here", *KINDS)
    assert carried_out(executor, there) == carried_out(LOCAL, here) == {kind: [] for kind in KINDS}
    for kind in KINDS:
        same_ending(tmp_path / "there" / kind, tmp_path / "here" / kind)
    assert [name for name in files(tmp_path / "there") if ".lock" not in name] == [
        name for name in files(tmp_path / "here") if ".lock" not in name
    ]
