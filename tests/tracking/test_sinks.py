"""What sinks are told: every record of every trial in order, whoever trains; and nothing that they do ends a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from small_runs import QUIET, small

import coplay
from coplay.cli.main import main
from coplay.errors import Interrupted
from coplay.runs.directory import RunDirectory
from coplay.runs.train import resume, train
from coplay.tracking.sink import TrackedRun, TrialRecord


@dataclass
class Fake:
    """Keeps what it is told; fails where it is asked to."""

    name: str = "fake"
    fails_in: str = ""
    fails_after: int = 0
    opened: list[TrackedRun] = field(default_factory=list)
    records: list[TrialRecord] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)

    def open(self, run: TrackedRun) -> None:
        self.opened.append(run)
        self._fail("open")

    def record(self, record: TrialRecord) -> None:
        self.records.append(record)
        if len(self.records) > self.fails_after:
            self._fail("record")

    def close(self, *, finished: bool) -> None:
        self.closed.append(finished)
        self._fail("close")

    def _fail(self, where: str) -> None:
        if where == self.fails_in:
            raise OSError(f"no {where}\x1b[31m")


def lines(path: Path) -> list[dict[str, object]]:
    """The records of a run's metrics, as its file has them."""
    found = [json.loads(line) for line in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "version"} for line in found]


def as_json(records: Sequence[TrialRecord]) -> list[object]:
    return [json.loads(json.dumps(record)) for record in records]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sink_is_told_what_the_file_gets(workers: int, tmp_path: Path) -> None:
    sink = Fake()
    config = small("tabular", "seeds=[3,1]", "trials=2", f"workers={workers}")
    run = train(config, tmp_path / "run", progress=QUIET, sinks=[sink])
    assert as_json(sink.records) == lines(run.path)
    assert [(record["step"], record["seed"]) for record in sink.records] == [(1, 3), (1, 1), (2, 3), (2, 1)]
    (told,) = sink.opened
    assert (told.path, told.name, told.seeds, told.done) == (run.path, "run", (3, 1), 0)
    assert told.config == json.loads((run.path / "config.json").read_text(encoding="utf-8"))
    assert sink.closed == [True]


class Stopping(Fake):
    """Stops the run as a second Ctrl-C does, in the third trial."""

    def record(self, record: TrialRecord) -> None:
        super().record(record)
        if record["step"] == 3:
            raise KeyboardInterrupt


def test_a_resumed_run_says_where_it_goes_on(tmp_path: Path) -> None:
    config = small("tabular", "trials=4", "checkpoint_every=2")
    first, second = Stopping(), Fake()
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", progress=QUIET, sinks=[first])
    assert [one["step"] for one in first.records] == [1, 2, 3] and first.closed == [False]
    resume(tmp_path / "run", progress=QUIET, sinks=[second])
    assert [one["step"] for one in second.records] == [3, 4] and second.opened[0].done == 2
    assert as_json([*first.records[:2], *second.records]) == lines(tmp_path / "run")
    assert first.records[2] == second.records[0]


@pytest.mark.parametrize(("where", "told"), [("open", 0), ("record", 2), ("close", 4)])
def test_a_sink_that_fails_is_left_out(
    where: str, told: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = Fake("bad", fails_in=where, fails_after=1), Fake()
    run = train(small("tabular", "trials=4"), tmp_path / "run", progress=QUIET, sinks=[bad, good])
    assert len(bad.records) == told and len(good.records) == 4 and good.closed == [True]
    assert run.is_finished
    warned = capsys.readouterr().err
    assert warned.count("bad could not") == 1 and f"no {where}" in warned and "\x1b" not in warned


def test_a_function_is_told_of_trials(tmp_path: Path) -> None:
    found: list[TrialRecord] = []
    settings = {"trials": 2, "seeds": (0,), "eval_games": 2, "games": 2, "rounds": 4, "episodes": 1, "threads": 1}
    run = coplay.train("shapellm/ipd", learner="tabular", out=tmp_path / "run", on_trial=found.append, **settings)
    assert as_json(found) == lines(run.path) and "reward/row" in found[0]


def test_a_sink_cannot_change_the_record(tmp_path: Path) -> None:
    class Greedy(Fake):
        def record(self, record: TrialRecord) -> None:
            record.clear()  # type: ignore[attr-defined]

    sink = Fake()
    run = train(small("tabular", "trials=1"), tmp_path / "run", progress=QUIET, sinks=[Greedy(), sink])
    assert as_json(sink.records) == lines(run.path) and len(run.metrics()[0]) > 3


def test_an_unknown_tracker_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(coplay.UsageError, match="Did you mean 'tensorboard'"):
        coplay.train("shapellm/ipd", learner="tabular", out=tmp_path / "run", track=["tensorbord"])
    with pytest.raises(SystemExit):
        main(["train", "shapellm/ipd", "--track", "wandbb", "--out", str(tmp_path / "run")])
    assert "Did you mean 'wandb'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_missing_package_prints_its_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.tracking.trackers.find_spec", lambda name: None)
    with pytest.raises(coplay.UsageError, match=r"pip install 'coplay\[trackio\]'"):
        coplay.train("shapellm/ipd", learner="tabular", out=tmp_path / "run", track=["trackio"])
    assert not (tmp_path / "run").exists()


def test_what_trackers_write_is_no_part_of_the_run(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=1"), tmp_path / "run", progress=QUIET)
    (run.path / "tracking" / "wandb").mkdir(parents=True)
    (run.path / "tracking" / "wandb" / "config.json").write_text("{}")
    found = RunDirectory.open(run.path)
    found.store.check()
    found.store.tidy()
    assert found.is_finished and (run.path / "tracking" / "wandb" / "config.json").exists()


def test_ctrl_c_closes_sinks(tmp_path: Path) -> None:
    import signal

    class Pressing(Fake):
        def record(self, record: TrialRecord) -> None:
            super().record(record)
            if record["step"] == 1:
                signal.raise_signal(signal.SIGINT)

    sink = Pressing()
    with pytest.raises(Interrupted):
        train(small("tabular", "trials=4"), tmp_path / "run", progress=QUIET, sinks=[sink])
    assert sink.closed == [False] and len(sink.records) == 1
