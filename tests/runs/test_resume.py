"""A run that was killed, interrupted, damaged or out of disk goes on, and ends as one that was not."""

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from interruptions import Died, die, died_at, same_ending, stopped_at
from run_files import read_lines
from small_runs import KINDS, QUIET, files, run_python, small

from coplay.errors import DamagedCheckpoint, Interrupted, UsageError
from coplay.runs.directory import RunDirectory
from coplay.runs.restore import restored
from coplay.runs.train import resume, train

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    """Building a state sets torch's threads; results are compared for one count."""
    yield
    torch.set_num_threads(1)


# --- Killed and resumed -----------------------------------------------------------------------------------------------------------------

KILL = """
import os, signal
from pathlib import Path
from small_runs import QUIET, small
from coplay.play.loop import StreamNames
from coplay.runs import state
from coplay.runs.train import train

whole = state.play_episode
def killing(game, tables, *, streams, **rest):
    games = whole(game, tables, streams=streams, **rest)
    if streams == StreamNames(("train", {trial}), 0):
        os.kill(os.getpid(), signal.SIGKILL)
    return games
state.play_episode = killing
train(small({kind!r}), Path("run"), progress=QUIET)
"""

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_killed_in_the_middle_of_a_trial_ends_as_if_it_had_not_been(
    finished: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    """SIGKILL in the fourth trial; the last checkpoint is of the second. The third was played for nothing."""
    code = f"import sys; sys.path.insert(0, {str(TESTS)!r})" + KILL.format(trial=3, kind=kind)
    died = run_python(code, cwd=tmp_path)
    assert died.returncode == -signal.SIGKILL, died.stderr
    run = tmp_path / "run"
    assert len(read_lines(run / "metrics.jsonl")) == 3
    assert [path.name for path in RunDirectory.open(run).checkpoints()] == ["trial-00002"]
    resume(run, progress=QUIET)
    same_ending(run, finished[kind])


@pytest.mark.parametrize("trial", [0, 1, 2, 3])
def test_whenever_a_run_died_it_ends_the_same(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: int
) -> None:
    run = died_at(trial, tmp_path / "run", monkeypatch, small("tabular"))
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])


def test_a_run_may_die_again_and_again(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = died_at(1, tmp_path / "run", monkeypatch, small("tabular"))
    for trial in (1, 2, 3, 3):
        stopped_at(trial, monkeypatch, die)
        with pytest.raises(Died):
            resume(run, progress=QUIET)
        monkeypatch.undo()
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])


def test_a_finished_run_resumes_to_itself(finished: dict[str, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])


def test_a_run_that_died_before_its_evaluation_gets_it(finished: dict[str, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished["language_model"], tmp_path / "run"))
    unfinished, checkpoint = RunDirectory.at_checkpoint(run, "trial-00004")
    unfinished.return_to(checkpoint)
    assert not (run / "eval.json").exists() and not (run / "adapters").exists()
    resume(run, progress=QUIET)
    same_ending(run, finished["language_model"])


@pytest.mark.parametrize(
    "torn", [b'{"version": 1, "step": 3, "se', b'{"version": 1, "step": 3, "reply": "\xe2\x98', b"{"]
)
def test_a_torn_last_line_is_repaired(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bytes
) -> None:
    run = died_at(3, tmp_path / "run", monkeypatch, small("tabular"))
    for name in ("metrics.jsonl", "episodes.jsonl"):
        with open(run / name, "ab") as file:
            file.write(torn)
    assert len(read_lines(run / "metrics.jsonl")) == 3
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])


def test_a_damaged_line_in_the_middle_is_not_passed_over(finished: dict[str, Path], tmp_path: Path) -> None:
    """The length of a file tells in a finished run, its checksum in one that goes on."""
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    metrics = run / "metrics.jsonl"
    whole, lines = metrics.read_text(), metrics.read_text().split("\n")
    metrics.write_text("\n".join([lines[0], lines[1][:30], *lines[2:]]))
    with pytest.raises(UsageError, match=r"metrics\.jsonl is damaged: it has .* bytes instead of .*--from trial-00004"):
        resume(run, progress=QUIET)
    metrics.write_text(whole)
    unfinished, checkpoint = RunDirectory.at_checkpoint(run, "trial-00004")
    unfinished.return_to(checkpoint)
    metrics.write_text("\n".join([lines[0], lines[1][:-1] + " ", *lines[2:]]))
    with pytest.raises(UsageError, match=r"metrics\.jsonl is damaged or another file.*--from trial-00004"):
        resume(run, progress=QUIET)


# --- Checkpoints ------------------------------------------------------------------------------------------------------------------------


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


def test_a_damaged_checkpoint_is_refused_and_the_last_good_one_named(finished: dict[str, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    flip_a_byte(run / "checkpoints" / "trial-00004" / "state.safetensors")
    for read in (lambda: resume(run, progress=QUIET), lambda: restored(run)):
        with pytest.raises(DamagedCheckpoint) as caught:
            read()
        assert "trial-00004 is damaged" in str(caught.value)
        assert f"coplay train --resume {run} --from trial-00002" in str(caught.value)
    before = files(run)
    assert before == files(run)
    resume(run, checkpoint="trial-00002", progress=QUIET)
    same_ending(run, finished["tabular"])


@pytest.mark.parametrize("damage", ["truncate", "about", "missing"])
def test_other_kinds_of_damage(finished: dict[str, Path], tmp_path: Path, damage: str) -> None:
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    checkpoint = run / "checkpoints" / "trial-00004"
    if damage == "truncate":
        weights = checkpoint / "state.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "about":
        (checkpoint / "checkpoint.json").write_text("[]")
    else:
        (checkpoint / "checkpoint.json").unlink()
    with pytest.raises(DamagedCheckpoint, match="trial-00002"):
        resume(run, progress=QUIET)


def test_nothing_good_left(finished: dict[str, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    for checkpoint in RunDirectory.open(run).checkpoints():
        flip_a_byte(checkpoint / "state.safetensors")
    with pytest.raises(DamagedCheckpoint, match="no earlier good one; start the run anew"):
        resume(run, progress=QUIET)


def test_going_back_to_an_earlier_checkpoint_forgets_the_later_ones(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a second resume would start from the future and leave a hole in the metrics."""
    run = Path(shutil.copytree(finished["tabular"], tmp_path / "run"))
    stopped_at(3, monkeypatch, die)
    with pytest.raises(Died):
        resume(run, checkpoint="trial-00002", progress=QUIET)
    monkeypatch.undo()
    assert [path.name for path in RunDirectory.open(run).checkpoints()] == ["trial-00002"]
    assert not (run / "eval.json").exists()
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])


def test_an_unknown_checkpoint_is_named_with_those_there_are(finished: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"no checkpoint 'trial-7'\. It has: trial-00002, trial-00004"):
        resume(finished["tabular"], checkpoint="trial-7", progress=QUIET)


def test_only_the_latest_checkpoints_are_kept(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=6", "checkpoint_every=1"), tmp_path / "run", progress=QUIET)
    assert [path.name for path in run.checkpoints()] == ["trial-00004", "trial-00005", "trial-00006"]


# --- Ctrl-C and full disks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", [2, small("tabular").trials - 1])
def test_ctrl_c_finishes_the_trial_saves_and_says_how_to_go_on(
    trial: int, finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, handler = tmp_path / "run", signal.getsignal(signal.SIGINT)
    stopped_at(trial, monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(
        Interrupted, match=f"saved after trial {trial + 1}; resume it with: coplay train --resume {run}"
    ):
        train(small("tabular"), run, progress=QUIET)
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is handler
    assert RunDirectory.open(run).checkpoints()[-1].name == f"trial-{trial + 1:05d}"
    assert not (run / "eval.json").exists()
    resume(run, progress=QUIET)
    for name in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (run / name).read_bytes() == (finished["tabular"] / name).read_bytes()


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    stopped_at(2, monkeypatch, twice)
    with pytest.raises(KeyboardInterrupt):
        train(small("tabular"), tmp_path / "run", progress=QUIET)
    assert len(read_lines(tmp_path / "run" / "metrics.jsonl")) == 2


def test_no_half_run_directory_is_left_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for broken in ("os.replace", "os.fsync"):
        monkeypatch.setattr(broken, full)
        with pytest.raises(OSError, match="No space left"):
            train(small("tabular"), tmp_path / "run", progress=QUIET)
        monkeypatch.undo()
        assert files(tmp_path) == []


def test_a_checkpoint_is_written_whole_or_not_at_all(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if "trial-00004" in str(target):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        train(small("tabular"), run, progress=QUIET)
    monkeypatch.undo()
    assert [path.name for path in RunDirectory.open(run).checkpoints()] == ["trial-00002"]
    resume(run, progress=QUIET)
    same_ending(run, finished["tabular"])
