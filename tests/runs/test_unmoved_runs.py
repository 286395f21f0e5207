"""Runs with a learner that does not move end with an error, and their directories say so."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import QUIET, small

from coplay.cli.main import main
from coplay.errors import Unmoved
from coplay.models.bank import RoutedLinear
from coplay.models.optimiser import SlotAdam
from coplay.runs.directory import RunDirectory
from coplay.runs.train import resume, train

torch.set_num_threads(1)


OF = RoutedLinear._of


def still(self: Any, slots: Any, grad: Any, scale: float) -> None:
    """An optimiser's step that is not taken."""


@pytest.mark.parametrize("learner", ["tabular", "language_model"])
def test_a_run_is_not_finished_and_says_why(
    learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, config = tmp_path / "run", small(learner)
    with monkeypatch.context() as patch:
        patch.setattr(SlotAdam, "_step", still)
        with pytest.raises(Unmoved, match=r"^learner '\w+' \(seed 0\) has not moved.*not finished$"):
            train(config, out, progress=QUIET)
    run = RunDirectory.open(out)
    assert not run.is_finished and not run.store.has("eval.json")
    assert run.store.failed is not None and "has not moved" in run.store.failed
    assert main(["list", "runs", "--runs-in", str(tmp_path)]) == 0
    assert "failed: learner" in capsys.readouterr().out
    again = resume(out, progress=QUIET)
    assert again.is_finished and RunDirectory.open(out).store.failed is None
    train(config, tmp_path / "whole", progress=QUIET)
    assert (out / "metrics.jsonl").read_bytes() == (tmp_path / "whole" / "metrics.jsonl").read_bytes()


def test_the_command_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(RoutedLinear, "_of", lambda self, route: [one.detach() for one in OF(self, route)])
    words = ["train", "shapellm/ipd", "--out", str(tmp_path / "run"), "--seeds", "0", "trials=1", "rounds=3", "games=2"]
    assert main(words) == 1
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "learner 'column' (seed 0) cannot move" in told and "is not finished" in told
