"""Runs that are stopped in the middle, and whether they end as if they had not been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import QUIET, files

from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory
from coplay.runs.executors import LocalProcesses
from coplay.runs.state import TrainingState
from coplay.runs.train import train


class Died(BaseException):
    """Stands in for a process's death."""


def die() -> None:
    raise Died


def stopped_at(trial: int, monkeypatch: pytest.MonkeyPatch, stop: Callable[[], None]) -> None:
    """Have something happen when a trial (from 0) begins."""
    for kind in (TrainingState, LocalProcesses):
        whole = kind.run_trial

        def wrapped(self: Any, number: int, whole: Any = whole) -> Any:
            if number == trial:
                stop()
            return whole(self, number)

        monkeypatch.setattr(kind, "run_trial", wrapped)


def died_at(trial: int, path: Path, monkeypatch: pytest.MonkeyPatch, config: Config) -> Path:
    """A run that died at the beginning of a trial (from 0)."""
    stopped_at(trial, monkeypatch, die)
    with pytest.raises(Died):
        train(config, path, progress=QUIET)
    monkeypatch.undo()
    return path


def same_ending(run: Path, reference: Path) -> None:
    """The files that say what was done and learnt are equal, byte by byte; so are the tensors."""
    for name in ("metrics.jsonl", "episodes.jsonl", "eval.json", "config.json"):
        assert (run / name).read_bytes() == (reference / name).read_bytes(), name
    assert [p.name for p in RunDirectory.open(run).checkpoints()] == [
        p.name for p in RunDirectory.open(reference).checkpoints()
    ]
    last = RunDirectory.open(reference).checkpoints()[-1].name
    mine, theirs = (load_file(str(path / "checkpoints" / last / "state.safetensors")) for path in (run, reference))
    assert set(mine) == set(theirs)
    assert all(torch.equal(mine[key], theirs[key]) for key in theirs)
    adapters = [name for name in files(reference) if name.startswith("adapters/") and name.endswith("safetensors")]
    assert adapters == [name for name in files(run) if name.startswith("adapters/") and name.endswith("safetensors")]
    for name in adapters:
        assert (run / name).read_bytes() == (reference / name).read_bytes()
    assert [name for name in files(run) if "tmp" in name or ".new" in name] == []
