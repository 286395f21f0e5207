"""Workers: seeds shared out over processes are seeds in one process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from coplay.runs.directory.directory import RunDirectory, read_json, read_lines
from coplay.runs.directory.executors import Workers, merge, shares, split, worker_count
from coplay.runs.directory.state import build
from coplay.runs.directory.train import resume, train
from hypothesis import given
from hypothesis import strategies as st
from small_runs import run_python, small

from coplay.errors import CoplayError
from coplay.progress import Progress

QUIET = Progress(quiet=True)
KINDS = ["tabular", "language_model"]


@given(seeds=st.integers(1, 9), workers=st.integers(1, 9))
def test_shares_hold_every_seed_once_and_differ_by_one_at_most(seeds: int, workers: int) -> None:
    parts = shares(range(100, 100 + seeds), min(seeds, workers))
    assert [seed for part in parts for seed in part] == list(range(100, 100 + seeds))
    sizes = [len(part) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4), learners=st.integers(1, 2), fixed=st.integers(0, 1))
def test_split_parts_hold_what_their_seeds_own(sizes: list[int], learners: int, fixed: int) -> None:
    total = sum(sizes)
    kept = [[-1, -1]] * fixed
    slots = torch.tensor([*([learner, seed] for learner in range(learners) for seed in range(total)), *kept])
    parts = split({"bank": slots, "heads": torch.arange(total)}, sizes, fixed=fixed)
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        own = range(start, start + size)
        assert part["heads"].tolist() == list(own)
        assert part["bank"].tolist() == [*([learner, seed] for learner in range(learners) for seed in own), *kept]
        start += size
    merged = merge(parts, sizes, fixed=fixed)
    assert torch.equal(merged["bank"], slots)
    assert merged["heads"].tolist() == list(range(total))


@pytest.mark.parametrize("algorithm", ["ppo", "q_learning", "reinforce", "exact", "lola"])
@pytest.mark.parametrize("kind", KINDS)
def test_workers_end_as_one_process_does(kind: str, algorithm: str, tmp_path: Path) -> None:
    others = ["column.learner=tabular", "column.initial=null", f"column.algorithm={algorithm}"]
    changes = ["seeds=[0,1,2]", "threads=2", *(others if algorithm != "ppo" else [])]
    alone, shared = (
        train(small(kind, *changes, f"workers={workers}"), tmp_path / str(workers), progress=QUIET)
        for workers in (1, 2)
    )
    games, theirs = (read_lines(run.path / "episodes.jsonl") for run in (alone, shared))
    keys = ("step", "seed", "game", "episode", "states")
    assert [[game[key] for key in keys] for game in games] == [[game[key] for key in keys] for game in theirs]
    for mine, other in zip(*(read_lines(run.path / "metrics.jsonl") for run in (alone, shared)), strict=True):
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-5)
    assert read_json(alone.path / "eval.json") == read_json(shared.path / "eval.json")
    (step, before), (other_step, after) = (run.load_checkpoint() or (0, {}) for run in (alone, shared))
    assert step == other_step == 4
    for key in before:
        torch.testing.assert_close(before[key], after[key], rtol=1e-4, atol=1e-5)


def test_a_run_with_workers_that_was_killed_ends_as_one_that_was_not(tmp_path: Path) -> None:
    config = small("tabular", "seeds=[0,1,2]", "workers=2", "trials=6")
    whole = train(config, tmp_path / "whole", progress=QUIET)
    code = """
import os, signal
from pathlib import Path
from small_runs import small
from coplay import runs
from coplay.runs.directory.train import train
append = runs.RunDirectory.append
def dying(self, name, records):
    append(self, name, records)
    if records and records[0]["step"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
runs.RunDirectory.append = dying
train(small("tabular", "seeds=[0,1,2]", "workers=2", "trials=6"), Path("killed"))
"""
    done = run_python(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}", cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    killed = resume(tmp_path / "killed", progress=QUIET)
    for name in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (whole.path / name).read_text() == (killed.path / name).read_text()
    (_, mine), (_, theirs) = (run.load_checkpoint() or (0, {}) for run in (whole, killed))
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)


def test_a_worker_that_dies_ends_the_run_in_a_state_that_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small("tabular", "seeds=[0,1]", "workers=2")
    run_trial = Workers.run_trial

    def dying(self: Workers, trial: int) -> object:
        if trial == 2:
            self.processes[1].process.kill()
        return run_trial(self, trial)

    monkeypatch.setattr(Workers, "run_trial", dying)
    with pytest.raises(CoplayError, match=r"a worker process died .*killed.*workers=1"):
        train(config, tmp_path / "run", progress=QUIET)
    monkeypatch.undo()
    assert RunDirectory(tmp_path / "run").checkpoints()[-1].name == "trial-00002"
    resume(tmp_path / "run", progress=QUIET)
    assert read_lines(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 4


def test_what_goes_wrong_in_a_worker_is_told() -> None:
    config = small("tabular", "seeds=[0,1]")
    workers = Workers(config, build(config).tensors(), workers=2, threads=1)
    try:
        with pytest.raises(CoplayError, match=r"(?s)a worker process failed.*Traceback"):
            workers.run_trial(trial="not a number")  # type: ignore[arg-type]
    finally:
        workers.close()


def test_workers_end_with_the_process_that_started_them() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "coplay.runs.directory.executors"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    os.kill(process.pid, signal.SIGINT)  # Ctrl-C reaches the whole group; the run saves first
    process.stdin.close()
    started = time.monotonic()
    assert process.wait(timeout=60) in (0, -signal.SIGINT)  # the signal may come before Python has started
    assert time.monotonic() - started < 60


def test_how_many_workers_a_run_is_worth() -> None:
    def count(threads: int, *overrides: str) -> int:
        return worker_count(build(small("tabular", *overrides)), threads)

    assert count(2, "seeds=[0,1,2]", "trials=100") == 2
    assert count(8, "seeds=[0,1,2]", "trials=100") == 3
    assert count(2, "seeds=[0]", "trials=100") == 1
    assert count(2, "seeds=[0,1]", "trials=2") == 1
    assert count(2, "seeds=[0,1]", "trials=2", "workers=5") == 2
    assert count(2, "seeds=[0,1]", "trials=100", "row.player=tit_for_tat", "column.player=tit_for_tat") == 1
