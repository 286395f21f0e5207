"""Each tracker's own files, read back with its own reader: every number once, also of a run that was killed and resumed."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import QUIET, run_python, small

from coplay.runs.directory import RunDirectory
from coplay.runs.train import resume, train
from coplay.tracking.sink import TrialRecord
from coplay.tracking.trackers import sinks_for, trackers_of

Found = dict[tuple[int, int, str], float]
"""By seed, step and metric."""


class Killed:
    """A sink that stops the run in the middle of its third trial's records."""

    name = "killed"

    def open(self, run: object) -> None: ...

    def record(self, record: TrialRecord) -> None:
        if record["step"] == 3 and record["seed"] == 0:
            raise KeyboardInterrupt

    def close(self, *, finished: bool) -> None: ...


def trained(tracker: str, path: Path) -> RunDirectory:
    """A run of two seeds that was stopped after trial 3, whose last checkpoint is of trial 2, and resumed."""
    config = small("tabular", "trials=4", "checkpoint_every=2", "seeds=[0,1]")
    with pytest.raises(KeyboardInterrupt):
        train(config, path, progress=QUIET, sinks=[*sinks_for([tracker]), Killed()])
    assert trackers_of(path) == [tracker]
    return resume(path, progress=QUIET, sinks=sinks_for(trackers_of(path)))


def expected(run: RunDirectory) -> Found:
    """What the run's own file says."""
    return {
        (line["seed"], line["step"], key): float(value)
        for line in run.metrics()
        for key, value in line.items()
        if key not in ("version", "seed", "step") and isinstance(value, int | float)
    }


def same(found: Found, run: RunDirectory, *, tolerance: float = 0.0) -> None:
    """Every number is there, once and equal."""
    wanted = expected(run)
    assert found.keys() == wanted.keys()
    assert all(math.isclose(found[key], wanted[key], rel_tol=tolerance, abs_tol=tolerance) for key in wanted)


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = trained("tensorboard", tmp_path / "run")
    found: Found = {}
    for seed in (0, 1):
        events = EventAccumulator(str(run.path / "tracking" / "tensorboard" / f"seed-{seed}"))
        events.Reload()
        for key in events.Tags()["scalars"]:
            for one in events.Scalars(key):
                assert (seed, one.step, key) not in found
                found[seed, one.step, key] = one.value
    same(found, run, tolerance=1e-6)  # of single precision


def test_trackio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trackio", reason="needs the extra trackio")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported
    here = str(Path(__file__).parent)
    folders = f"import sys; sys.path[:0] = [{here!r}, {str(Path(here).parent)!r}]"
    code = f"{folders}; from pathlib import Path; from test_trackers import trained; trained('trackio', Path('run'))"
    done = run_python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""  # what it prints is no output of ours
    run = RunDirectory.open(tmp_path / "run")
    (database,) = (tmp_path / "trackio").glob("coplay*.db")
    with sqlite3.connect(database) as base:
        rows = base.execute("SELECT run_name, step, metrics FROM metrics").fetchall()
    assert len(rows) == 8
    found = {
        (int(name[-1]), step, key): float(value)
        for name, step, metrics in rows
        for key, value in json.loads(metrics).items()
        if isinstance(value, int | float)
    }
    assert len({name[:-1] for name, _, _ in rows}) == 1 and "run-" in rows[0][0]
    same(found, run)


def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="needs the extra wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.delenv("WANDB_MODE", raising=False)
    run = trained("wandb", tmp_path / "run")
    found: Found = {}
    for file in sorted((run.path / "tracking" / "wandb").glob("offline-run-*/*.wandb")):
        seed = int(file.stem[-1])
        for data in logged(file.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for key, value in row.items():
                if not key.startswith("_") and isinstance(value, int | float):
                    assert (seed, row["_step"], key) not in found
                    found[seed, row["_step"], key] = value
    same(found, run)


def logged(data: bytes) -> Iterator[bytes]:
    """The records of W&B's offline file: LevelDB's log format, after a header of seven bytes."""
    block, header, at, record = 2**15, 7, 7, b""
    while at + header <= len(data):
        left = block - at % block
        if left < header:  # padding
            at += left
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        record += data[at + header : at + header + length]
        at += header + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield record
            record = b""
