"""Runs as tasks, without a cluster: what they need and read, how far they are, and in which order they are carried out."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from diverging import diverging
from small_runs import QUIET, small

import coplay
from coplay.errors import UsageError
from coplay.experiments.reproduce import arm_tasks, claim_directory
from coplay.experiments.request import Reproduction, Request
from coplay.runs.config_input import with_overrides
from coplay.runs.tasks import COPIES, PROCESS, PartTask, RunTask, needs_of, parameters, train_by
from coplay.tasks.display import Display
from coplay.tasks.executors import LOCAL
from coplay.tasks.named import executor_of
from coplay.tasks.task import Needs
from coplay.terminal.streams import Watched

TABLE, MODEL = small("tabular", "seeds=[0,1,2]"), small("language_model", "seeds=[0,1,2]")
TINY = 116_416


@pytest.mark.parametrize(
    ("config", "cpus", "gpus", "needs"),
    [
        (TABLE, 1, 0.0, Needs(1, 0.0, PROCESS)),
        (TABLE, 1, 1.0, Needs(1, 0.0, PROCESS)),  # a table has no use for one
        (with_overrides(TABLE, ["threads=null"]), 2, 0.0, Needs(2, 0.0, 2 * PROCESS)),
        (with_overrides(TABLE, ["threads=3"]), 1, 0.0, Needs(3, 0.0, 3 * PROCESS)),
        (MODEL, 8, 0.0, Needs(1, 0.0, PROCESS + COPIES * TINY)),
        (with_overrides(MODEL, ["threads=null"]), 8, 0.0, Needs(8, 0.0, 3 * (PROCESS + COPIES * TINY))),
        (with_overrides(MODEL, ["threads=null"]), 8, 0.5, Needs(8, 0.5, PROCESS + COPIES * TINY)),
        (with_overrides(MODEL, ["threads=2", "workers=1"]), 1, 0.0, Needs(2, 0.0, PROCESS + COPIES * TINY)),
    ],
)
def test_what_a_run_needs(config: coplay.Config, cpus: int, gpus: float, needs: Needs) -> None:
    assert needs_of(config, cpus, gpus) == needs


def test_a_large_model_is_held_by_one_process(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with open(tmp_path / "model.safetensors", "wb") as file:
        file.truncate(2 * 7 * 10**9)  # 16 bits a parameter; nothing is written
    assert parameters(str(tmp_path)) == 7 * 10**9
    config = with_overrides(MODEL, [f"model={tmp_path}", "threads=null"])
    assert needs_of(config, 8, 0.0) == Needs(8, 0.0, PROCESS + COPIES * 7 * 10**9)
    assert str(tmp_path) in RunTask(directory=tmp_path / "run", config=config).inputs()


def test_four_bits_need_a_gpu() -> None:
    config = MODEL.model_copy(update={"four_bit": True})
    assert needs_of(config, 1, 1.0).gpus == 1.0
    with pytest.raises(UsageError, match="four_bit=true needs a GPU; ask for one with --gpus 1"):
        needs_of(config, 1, 0.0)


def test_an_embedded_model_is_no_file_that_machines_must_have() -> None:
    assert RunTask(directory=Path("run"), config=MODEL).inputs() == ()


def test_how_far_a_run_is(finished: dict[str, Path], tmp_path: Path) -> None:
    task = RunTask(directory=finished["tabular"], config=small("tabular"))
    assert task.step() == 4 and task.is_done()
    other = replace(task, directory=tmp_path / "run")
    assert other.step() == 0 and not other.is_done()


def test_an_attempt_that_follows_another_resumes_and_the_first_refuses(finished: dict[str, Path]) -> None:
    task = RunTask(directory=finished["tabular"], config=small("tabular"))
    with pytest.raises(UsageError, match="exists already"):
        task.run(QUIET)
    assert task.run(QUIET, again=True) == []


def test_a_taken_directory_is_numbered(tmp_path: Path) -> None:
    config = small("tabular", "trials=1")
    names = [train_by(LOCAL, config, tmp_path / "run", numbered=True, quiet=True).path.name for _ in range(3)]
    assert names == ["run", "run-2", "run-3"]
    with pytest.raises(UsageError, match="exists already; resume it"):
        train_by(LOCAL, config, tmp_path / "run", quiet=True)


def test_a_number_that_another_command_takes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small("tabular", "trials=1")
    train_by(LOCAL, config, tmp_path / "run", quiet=True)
    monkeypatch.setattr("coplay.runs.tasks.is_taken", lambda path: False)  # as it was a moment ago
    assert train_by(LOCAL, config, tmp_path / "run", numbered=True, quiet=True).path.name == "run-2"


def test_whoever_meets_a_run_of_which_a_seed_has_diverged_is_not_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    against = PartTask(directory=tmp_path / "against", config=small("tabular", "seeds=[0,1]"))
    diverging(monkeypatch, 1)
    assert "seed 1" in against.run(QUIET)[0]
    task = PartTask(directory=tmp_path / "run", config=small("tabular"), against=against.directory)
    (line,) = task.run(QUIET)
    assert (
        line
        == f"{task.directory}: not trained, as it needs every seed of {against.directory}, of which one has diverged"
    )
    assert not task.directory.exists()


def test_arms_come_after_what_they_start_from_and_whom_they_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coplay.experiments.reproduce._check_arms", lambda request: None)
    for id in ("shapellm/table17", "sepo"):
        request, out = Request(id, seeds=(0,)), tmp_path / id.replace("/", "-")
        claim_directory(request, out)
        tasks = arm_tasks(Reproduction(request, out), {})
        before: set[Path] = set()
        for task in tasks:
            assert set(task.after) <= before
            before.add(task.directory)
        assert any(task.after for task in tasks) and len(before) == len(tasks)


def test_executors_by_name() -> None:
    assert executor_of("local") is LOCAL and executor_of(LOCAL) is LOCAL
    assert executor_of("ray", address="10.0.0.1:6379").option == " --executor ray --address 10.0.0.1:6379"
    with pytest.raises(UsageError, match="unknown executor 'slurm'"):
        executor_of("slurm")


def shown(titles: list[str]) -> tuple[Display, io.StringIO]:
    display, out = Display(titles, quiet=False), io.StringIO()
    display._progress.out = Watched(out)
    return display, out


def test_one_task_shows_its_steps() -> None:
    display, out = shown(["run"])
    with display:
        for step in (0, 0, 1, 40, 41, 100):
            display.show("run", step, 100, f"reward {step}")
        display.over("run")
    lines = [f"run: {step}/100  reward {step}" for step in (0, 40, 100)]
    assert out.getvalue().splitlines() == lines


def test_several_tasks_show_how_many_are_over() -> None:
    display, out = shown(["a", "b"])
    with display:
        display.show("a", 0, 0, "")  # it has not begun to count
        display.show("a", 1, 2, "")
        display.show("b", 1, 2, "")
        display.over("a")
        display.over("b")
    assert out.getvalue().splitlines() == ["a: 1/2", "b: 1/2", "a: done (1 of 2)", "b: done (2 of 2)"]
