"""Reproductions and sweeps with seeds that diverge: everything else is done, every page and the terminal say so, and the status is 1."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from diverging import diverging
from run_files import read_json, read_lines
from small_runs import SMALL, small_arms

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import publish_results

from coplay.cli.main import main
from coplay.errors import AllDiverged
from coplay.experiments import reproduce as reproducing
from coplay.experiments.request import Request
from coplay.runs.state import TrainingState

torch.set_num_threads(1)

REASON = "row: a reply's log-probability is not finite, in episode 1"
TABLE = ["reproduce", "shapellm/table16", "--game", "ipd", "--learner", "tabular", "--seeds", "0,1"]
SWEEP = ["sweep", "shapellm/ipd", "--learner", "tabular", "--seeds", "0,1", "--over", "row.ppo.clip=0.1,0.2"]


@pytest.fixture(autouse=True)
def small_games() -> Iterator[None]:
    """Games of seconds in every arm."""
    with small_arms(SMALL):
        yield


def told(capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """What was printed, and the errors among it."""
    printed = capsys.readouterr()
    return printed.out, [line for line in printed.err.splitlines() if line.startswith("coplay: ")]


def diverging_by_clip(seeds: Mapping[float, Sequence[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have these seeds of runs with this clip diverge."""
    whole, spoilt = TrainingState.run_trial, {}
    for clip, own in seeds.items():
        with monkeypatch.context() as patch:
            diverging(patch, *own)
            spoilt[clip] = TrainingState.run_trial

    def chosen(self: TrainingState, trial: int) -> Any:
        return spoilt.get(self.config.learners["row"].ppo.clip, whole)(self, trial)

    monkeypatch.setattr(TrainingState, "run_trial", chosen)


@pytest.mark.slow
def test_a_reproduction_is_done_and_says_what_diverged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy"
    diverging(monkeypatch, 1)
    assert main([*TABLE, "--out", str(out), "--quiet"]) == 1
    text, errors = told(capsys)
    arms = [arm.name for arm in Request("shapellm/table16", "ipd", learner="tabular").arms]
    assert errors == [f"coplay: {out / arm}: seed 1 diverged in trial 2: {REASON}" for arm in arms]
    page = (out / "report.html").read_text()
    assert page.count("seed 1 diverged in trial 2") >= len(arms)
    claims = read_json(out / "claims.json")
    assert {claim["verdict"] for claim in claims} == {"undecided"}
    assert main([*TABLE, "--out", str(out), "--quiet"]) == 1
    assert told(capsys) == (text, errors)
    assert (out / "report.html").read_text() == page
    assert publish_results.main([str(out), str(copy)]) == 0
    for arm in arms:
        assert list(read_json(copy / arm / "eval.json")["diverged"]) == ["1"]
        assert [line["diverged"] for line in read_lines(copy / arm / "metrics.jsonl") if "diverged" in line] == [REASON]
    assert read_json(copy / "claims.json") == claims
    assert main(["report", str(copy)]) == 0
    assert "seed 1 diverged in trial 2" in (copy / "report.html").read_text()


def test_a_reproduction_of_which_every_seed_diverges_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        diverging(patch, 0, 1)
        assert main([*TABLE, "--out", str(out), "--quiet"]) == 1
    first = told(capsys)
    arms = [arm.name for arm in Request("shapellm/table16", "ipd", learner="tabular").arms]
    for arm, line in zip(arms, first[1], strict=False):
        assert line.startswith(f"coplay: {out / arm}: every seed has diverged")
        assert all(f"seed {seed} diverged in trial 2: {REASON}" in line for seed in (0, 1))
    assert main([*TABLE, "--out", str(out), "--quiet"]) == 1
    assert told(capsys) == first
    capsys.readouterr()
    assert publish_results.main([str(out), str(tmp_path / "copy")]) == 0
    left = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in left] == [
        f"left out, as it is not finished: {path}" for path in sorted(out / arm for arm in arms)
    ]
    assert all(f"seed 0 diverged in trial 2: {REASON}" in line for line in left)
    other = ["shapellm/table1" if word == "shapellm/table16" else word for word in TABLE]
    assert main([*other, "--out", str(out), "--quiet"]) == 0  # another table in the same directory
    overview = (out / "report.html").read_text()
    assert "Not finished yet: ShapeLLM, Table 16" in overview and "(every seed has diverged: Shaper" in overview


def test_an_arm_against_one_that_diverged_is_not_trained_and_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request("adalign/figure6", "ipd-ab", seeds=(0,), trials=1)
    (last,) = [arm for arm in request.arms if arm.against is not None]
    trained = []

    def train(config: Any, path: Path, **_: Any) -> list[str]:
        trained.append(config.recipe)
        return [f"{path}: seed 0 diverged"] if config.recipe == last.against else []

    monkeypatch.setattr(reproducing, "check_all", lambda _: None)  # takes seconds, and has its own tests
    monkeypatch.setattr("coplay.runs.tasks.train_or_resume", train)
    out = tmp_path / "out"
    with pytest.raises(
        AllDiverged, match=f"{out / last.name}: not trained, as it needs every seed of {out / 'adalign'}"
    ):
        reproducing.reproduce(request, out, quiet=True)
    assert trained == [arm.recipe for arm in request.arms if arm is not last]


def test_a_sweep_trains_its_other_cells_and_says_what_diverged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy"
    diverging_by_clip({0.1: (0, 1), 0.2: (1,)}, monkeypatch)
    words = [*SWEEP, *SMALL, "--out", str(out), "--quiet"]
    assert main(words) == 1
    first = told(capsys)
    none, one = read_json(out / "sweep.json")["cells"]
    of_none, of_one = first[1]
    assert of_none.startswith(f"coplay: {out / none['path']}: every seed has diverged")
    assert all(f"seed {seed} diverged in trial 2: {REASON}" in of_none for seed in (0, 1))
    assert of_one == f"coplay: {out / one['path']}: seed 1 diverged in trial 2: {REASON}"
    about = {"step": 2, "reason": REASON}
    assert (none["finished"], none["diverged"]) == (False, {"0": about, "1": about})
    assert (one["finished"], one["diverged"], one["seats"]["row"]["n"]) == (True, {"1": about}, 1)
    assert first[0].count("every seed has diverged") == 1
    page = (out / "report.html").read_text()
    assert page.count("seed 0 diverged in trial 2") == 1 and page.count("seed 1 diverged in trial 2") == 2
    assert "not finished" not in page
    assert main(words) == 1
    assert told(capsys) == first
    assert (out / "report.html").read_text() == page
    assert publish_results.main([str(out), str(copy)]) == 0
    assert (copy / "sweep.json").read_bytes() == (out / "sweep.json").read_bytes()
    assert main(["report", str(out / none["path"])]) == 0
    own = (out / none["path"] / "report.html").read_text()
    assert all(f"seed {seed} diverged in trial 2" in own for seed in (0, 1))


def test_a_sweep_of_which_every_cell_diverges_has_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    diverging(monkeypatch, 0, 1)
    assert main([*SWEEP, *SMALL, "--out", str(out), "--quiet"]) == 1
    assert len(told(capsys)[1]) == 2
    assert (out / "report.html").read_text().count("seed 0 diverged in trial 2") == 2
