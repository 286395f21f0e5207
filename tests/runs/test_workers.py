"""Workers: seeds shared out over processes are seeds in one process."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from run_files import latest_states, read_json, read_lines
from small_runs import QUIET, run_python, small
from small_text_runs import small_text

from coplay.errors import CoplayError
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory
from coplay.runs.executors import InProcess, LocalProcesses, executor_for, shares, worker_count
from coplay.runs.factory import build
from coplay.runs.train import resume, train
from coplay.runs.workers import SeedStates, Worker, interrupts_blocked

TESTS = Path(__file__).parents[1]


@given(seeds=st.integers(1, 9), workers=st.integers(1, 9))
def test_shares_hold_every_seed_once_and_differ_by_one_at_most(seeds: int, workers: int) -> None:
    parts = shares(range(100, 100 + seeds), min(seeds, workers))
    assert [seed for part in parts for seed in part] == list(range(100, 100 + seeds))
    sizes = [len(part) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        ("language_model", "q_learning"),  # row learns by PPO
        ("tabular", "lola"),
        *(
            pytest.param(*both, marks=pytest.mark.slow)
            for both in (
                *(("tabular", algorithm) for algorithm in ("ppo", "q_learning", "reinforce", "exact")),
                *(("language_model", algorithm) for algorithm in ("ppo", "reinforce", "exact", "lola")),
            )
        ),
    ],
)
def test_workers_end_as_one_process_does(kind: str, algorithm: str, tmp_path: Path) -> None:
    others = ["column.policy=tabular", "column.initial=null", f"column.algorithm={algorithm}"]
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
    (step, before), (other_step, after) = (latest_states(run) for run in (alone, shared))
    assert step == other_step == 4
    assert_close(before, after)


def assert_close(before: SeedStates, after: SeedStates) -> None:
    assert before.keys() == after.keys() == {0, 1, 2}
    for seed, own in before.items():
        assert own.keys() == after[seed].keys()
        for key in own:
            torch.testing.assert_close(own[key], torch.as_tensor(after[seed][key]), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_workers_of_a_text_run_with_past_selves_end_as_one_process_does() -> None:
    config = small_text(
        "ipd-ab", "seeds=[0,1,2]", "past_selves.snapshot_interval=1", "past_selves.pool_size=2", "workers=2"
    )
    state = build(config)
    together = InProcess(state)
    workers = LocalProcesses(config, together.state_dicts(), workers=2, threads=1)
    try:
        for trial in range(2):
            mine, theirs = together.run_trial(trial), workers.run_trial(trial)
            assert mine.lines == {seed: pytest.approx(line) for seed, line in theirs.lines.items()}
            assert [game["states"] for game in mine.episodes] == [game["states"] for game in theirs.episodes]
        assert_close(together.state_dicts(), workers.state_dicts())
    finally:
        workers.close()


def test_what_workers_have_learnt_is_in_the_state_afterwards() -> None:
    state = build(small("tabular", "seeds=[0,1,2]", "workers=2"))
    with executor_for(state, first_trial=0) as executor:
        assert isinstance(executor, LocalProcesses)
        before = state.state_dict(1)
        executor.run_trial(0)
        assert all(torch.equal(tensor, state.state_dict(1)[key]) for key, tensor in before.items())
        learnt = executor.state_dicts()
    assert_close({seed: state.state_dict(seed) for seed in (0, 1, 2)}, learnt)
    assert any(not torch.equal(tensor, state.state_dict(1)[key]) for key, tensor in before.items())


def test_a_run_with_nothing_left_to_train_starts_no_processes() -> None:
    state = build(small("tabular", "seeds=[0,1,2]", "workers=2"))
    with executor_for(state, first_trial=4) as executor:
        assert isinstance(executor, InProcess)


def test_a_run_with_workers_that_was_killed_ends_as_one_that_was_not(tmp_path: Path) -> None:
    config = small("tabular", "seeds=[0,1,2]", "workers=2", "trials=6")
    whole = train(config, tmp_path / "whole", progress=QUIET)
    code = """
import os, signal
from pathlib import Path
from small_runs import small
from coplay.runs.directory import RunDirectory
from coplay.runs.train import train
append = RunDirectory.append
def dying(self, name, records):
    append(self, name, records)
    if records and records[0]["step"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
RunDirectory.append = dying
train(small("tabular", "seeds=[0,1,2]", "workers=2", "trials=6"), Path("killed"))
"""
    done = run_python(f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{code}", cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    killed = resume(tmp_path / "killed", progress=QUIET)
    for name in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (whole.path / name).read_text() == (killed.path / name).read_text()
    (_, mine), (_, theirs) = (latest_states(run) for run in (whole, killed))
    assert mine.keys() == theirs.keys() == {0, 1, 2}
    assert all(torch.equal(value, theirs[seed][key]) for seed, own in mine.items() for key, value in own.items())


def test_a_worker_that_dies_ends_the_run_in_a_state_that_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small("tabular", "seeds=[0,1]", "workers=2")
    run_trial = LocalProcesses.run_trial

    def dying(self: LocalProcesses, trial: int) -> object:
        if trial == 2:
            self.workers[1].process.kill()
        return run_trial(self, trial)

    monkeypatch.setattr(LocalProcesses, "run_trial", dying)
    with pytest.raises(CoplayError, match=r"a worker process died .*killed.*workers=1"):
        train(config, tmp_path / "run", progress=QUIET)
    monkeypatch.undo()
    assert RunDirectory.open(tmp_path / "run").checkpoints()[-1].name == "trial-00002"
    resume(tmp_path / "run", progress=QUIET)
    assert read_lines(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 4


def two_workers(config: Config) -> LocalProcesses:
    return LocalProcesses(config, InProcess(build(config)).state_dicts(), workers=2, threads=1)


def test_what_goes_wrong_in_a_worker_is_told() -> None:
    workers = two_workers(small("tabular", "seeds=[0,1]"))
    try:
        with pytest.raises(CoplayError, match=r"(?s)a worker process failed \(seeds 0, request .*\):.*Traceback"):
            workers.run_trial(trial="not a number")  # type: ignore[arg-type]
    finally:
        workers.close()


def test_ctrl_c_is_the_business_of_the_process_that_started_them() -> None:
    """It reaches the whole group; the run finishes its trial and saves first."""
    workers = two_workers(small("tabular", "seeds=[0,1]"))
    try:
        for worker in workers.workers:
            assert worker.process.pid is not None
            os.kill(worker.process.pid, signal.SIGINT)
        assert set(workers.run_trial(0).lines) == {0, 1}
    finally:
        workers.close()
    assert all(worker.process.exitcode is not None for worker in workers.workers)


def test_ctrl_c_does_not_reach_a_worker_that_has_just_started(tmp_path: Path) -> None:
    """From its first instruction on, long before Python could ignore it; of the first worker too."""
    code = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import os, signal, time
from small_runs import small
from coplay.runs.executors import InProcess
from coplay.runs.factory import build
from coplay.runs.workers import Worker
config = small("tabular", "seeds=[0]")
worker = Worker(config, InProcess(build(config)).state_dicts(), threads=1)
for _ in range(20):
    os.kill(worker.process.pid, signal.SIGINT)
    time.sleep(0.01)
worker.receive()
worker.close()
print("well")
"""
    done = run_python(code, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("well\n", "")


def test_ctrl_c_while_workers_start_is_not_lost() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with interrupts_blocked():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # to this thread: torch's others do not block it
            assert heard == []
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        pytest.param(signal.SIGKILL, "want of memory", marks=pytest.mark.slow),  # as in the run above
        (signal.SIGUSR1, "signal SIGUSR1"),  # interrupts are ignored
    ],
)
def test_a_worker_that_is_killed_is_named_by_its_seeds_and_the_signal(number: int, told: str) -> None:
    config = small("tabular", "seeds=[0]")
    worker = Worker(config, InProcess(build(config)).state_dicts(), threads=1)
    try:
        worker.receive()
        assert worker.process.pid is not None
        os.kill(worker.process.pid, number)
        worker.process.join(10)
        worker.connection.close()
        with pytest.raises(CoplayError, match=rf"a worker process died \(.*{told}.*; seeds 0\)"):
            worker.send(("trial", 0))
    finally:
        worker.close()


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import os, signal
from small_runs import small
from coplay.runs.executors import InProcess, LocalProcesses
from coplay.runs.factory import build
config = small("tabular", "seeds=[0,1]")
workers = LocalProcesses(config, InProcess(build(config)).state_dicts(), workers=2, threads=1)
print(*(worker.process.pid for worker in workers.workers), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_python(code, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    waiting = [int(pid) for pid in done.stdout.split()]
    assert len(waiting) == 2
    deadline = time.monotonic() + 60
    while waiting and time.monotonic() < deadline:
        waiting = [pid for pid in waiting if is_alive(pid)]
        time.sleep(0.05)
    assert waiting == []


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"  # dead, and nobody has asked how
    return False


def test_how_many_workers_a_run_is_worth() -> None:
    def count(threads: int, *overrides: str) -> int:
        return worker_count(build(small("tabular", *overrides)), threads)

    assert count(2, "seeds=[0,1,2]", "trials=100") == 2
    assert count(8, "seeds=[0,1,2]", "trials=100") == 3
    assert count(2, "seeds=[0]", "trials=100") == 1
    assert count(2, "seeds=[0,1]", "trials=2") == 1
    assert count(2, "seeds=[0,1]", "trials=2", "workers=5") == 2
    assert count(2, "seeds=[0,1]", "trials=100", "seats.row=tit_for_tat", "seats.column=tit_for_tat") == 1
