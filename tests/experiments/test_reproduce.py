"""Reproduce: every arm, the claims, the report; resumes where it stopped; never mixes two experiments."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_json, unfinished

from coplay.errors import UsageError
from coplay.evaluation.claims import check_claims
from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import all_claims, all_experiments, claims_of
from coplay.experiments.reproduce import _tell_undecidable, reproduce
from coplay.experiments.request import Request, request_of
from coplay.experiments.summary import report_on
from coplay.games import make_game
from coplay.runs import train as training

torch.set_num_threads(1)

REQUEST = Request("shapellm/table1", game="ipd", learner="tabular", seeds=(0, 1), trials=2)
ARMS = ("baseline", "shaper")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduce") / "table1"
    reproduce(REQUEST, out, quiet=True)
    return out


def test_everything_is_there(done: Path) -> None:
    for arm in ARMS:
        for name in ("config.json", "env.json", "metrics.jsonl", "episodes.jsonl", "checkpoints", "eval.json"):
            assert (done / arm / name).exists()
        config = read_json(done / arm / "config.json")
        assert (config["seeds"], config["trials"], config["learners"]["row"]["policy"]) == ([0, 1], 2, "tabular")
    page = (done / "report.html").read_text()
    assert "Table 1" in page
    assert request_of(done) == REQUEST


def test_claims_are_well_formed(done: Path) -> None:
    rows = json.loads((done / "claims.json").read_text())
    assert [row["id"] for row in rows] == [claim.id for claim in claims_of("table1/ipd") if not claim.in_text]
    for row in rows:
        assert set(row) >= {
            "id",
            "paper",
            "claim",
            "published",
            "measured",
            "ci95",
            "n_seeds",
            "model",
            "holds",
            "verdict",
        }
        assert math.isfinite(row["measured"]) and row["ci95"] >= 0
        assert row["published"] is None or math.isfinite(row["published"])
        assert row["verdict"] in ("holds", "fails", "undecided") and row["holds"] is (row["verdict"] == "holds")
        assert (row["n_seeds"], row["model"]) == (2, "tabular")
    by_id = {row["id"]: row for row in rows}
    evals = {arm: read_json(done / arm / "eval.json") for arm in ARMS}
    assert by_id["table1/ipd/shaper"]["measured"] == evals["shaper"]["seats"]["row"]["per_round"]["mean"]
    assert by_id["table1/ipd/naive"]["measured"] == evals["shaper"]["seats"]["column"]["per_round"]["mean"]
    assert by_id["table1/ipd/baseline-row"]["measured"] == evals["baseline"]["seats"]["row"]["per_round"]["mean"]


def test_the_verdict_is_told(done: Path) -> None:
    text = reproduce(REQUEST, done, quiet=True).text
    assert "paper 3.96" in text
    marks = [line[:9].strip() for line in text.splitlines()]
    assert sum(mark in ("holds", "fails", "undecided") for mark in marks) == 11


def test_running_again_keeps_what_is_finished(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("trained again")

    before = {path: path.read_bytes() for arm in ARMS for path in (done / arm).glob("*.json*")}
    monkeypatch.setattr(training, "train", never)
    monkeypatch.setattr(training, "resume", never)
    (done / "claims.json").unlink()
    assert reproduce(REQUEST, done, quiet=True).report.exists()
    assert (done / "claims.json").exists()
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow
def test_an_unfinished_arm_is_resumed(done: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(done, tmp_path / "again"))
    unfinished(out / "shaper")
    shutil.rmtree(out / "baseline")
    reproduce(REQUEST, out, quiet=True)
    for arm in ARMS:
        for name in ("eval.json", "metrics.jsonl"):
            assert (out / arm / name).read_bytes() == (done / arm / name).read_bytes()


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (Request("shapellm/table1", game="ipd", learner="tabular", seeds=(0, 1), trials=3), "trials=2"),
        (Request("shapellm/table1", game="ipd", learner="tabular", seeds=(0, 2), trials=2), "seeds=[0, 1]"),
        (Request("shapellm/table1", game="ipd", seeds=(0, 1), trials=2), "learner='tabular'"),
    ],
)
def test_another_request_is_refused_and_says_what_differs(done: Path, other: Request, difference: str) -> None:
    before = (done / "experiment.json").read_bytes()
    with pytest.raises(UsageError) as caught:
        reproduce(other, done, quiet=True)
    assert f"holds another experiment ({difference}); choose another --out" in str(caught.value)
    assert (done / "experiment.json").read_bytes() == before


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no experiment"):
        reproduce(REQUEST, tmp_path, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    "request_",
    [Request("shapellm/table9"), Request("shapellm/table1", game="go"), Request("shapellm/table1", trials=-1)],
)
def test_what_cannot_be_done_writes_nothing(tmp_path: Path, request_: Request) -> None:
    with pytest.raises(UsageError):
        reproduce(request_, tmp_path / "out", quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_report_on_the_whole_or_on_parts(done: Path, tmp_path: Path) -> None:
    assert report_on([done], done) == done / "report.html"
    page = report_on([done / arm for arm in ARMS], tmp_path)
    assert page == tmp_path / "report.html"
    assert "Runs compared" in page.read_text()


def test_an_experiments_pages_stay_with_it(done: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out --out"):
        report_on([done], tmp_path)


def test_another_model_leaves_alone_the_arms_that_are_about_a_model_of_their_own() -> None:
    request = Request("adalign/figure2", model="some/model")
    models = {arm.recipe: request.config(arm).model for arm in request.arms}
    assert {model for recipe, model in models.items() if recipe.endswith("-second")} == {"tiny-talk-second"}
    assert {model for recipe, model in models.items() if not recipe.endswith("-second")} == {"some/model"}


def test_directories_are_named_for_what_is_in_them() -> None:
    assert Request("shapellm/table1", seeds=(0, 1, 2)).slug == "reproduce-shapellm-table1-tiny-3seeds"
    assert REQUEST.slug == "reproduce-shapellm-table1-ipd-tiny-tabular-2seeds"


# --- The claims ----------------------------------------------------------------------------------------------------------------------------


def evaluation(row: list[float], column: list[float], *, illegal: float = 0.0) -> dict[str, Any]:
    return {
        "seeds": {
            str(seed): {
                "episodes": 100,
                "rounds": 20,
                "seats": {
                    "row": {"per_round": a, "illegal": illegal},
                    "column": {"per_round": b, "illegal": illegal},
                },
            }
            for seed, (a, b) in enumerate(zip(row, column, strict=True))
        }
    }


def holds(baseline: dict[str, Any], shaper: dict[str, Any]) -> dict[str, bool]:
    """Which claims about the evaluation hold."""
    results = Results({"baseline": baseline, "shaper": shaper})
    rows = check_claims([c for c in claims_of("table1/ipd") if c.published is not None], results, model="x")
    return {row.id.rpartition("/")[2]: row.holds for row in rows}


def test_the_papers_own_numbers_bear_out_every_claim() -> None:
    baseline = evaluation([1.0] * 5, [1.0] * 5)
    shaper = evaluation([3.95, 3.96, 3.97, 3.96, 3.96], [0.1, 0.12, 0.08, 0.06, 0.14], illegal=0.01)
    assert all(holds(baseline, shaper).values())


def test_mutual_defection_and_mutual_cooperation_bear_out_no_shaping() -> None:
    baseline = evaluation([1.0] * 5, [1.0] * 5)
    for shaper in (evaluation([1.0] * 5, [1.0] * 5), evaluation([3.0] * 5, [3.0] * 5, illegal=0.2)):
        found = holds(baseline, shaper)
        assert not found["shaper"] and not found["naive"] and not found["shaper-above-extortion"]
    extortioner = evaluation([3.66] * 5, [1.0] * 5)
    assert not holds(baseline, extortioner)["shaper-above-extortion"]
    assert not found["illegal"]
    assert not holds(evaluation([3.0] * 5, [3.0] * 5), shaper)["baseline-row"]


def test_one_seed_is_no_interval() -> None:
    found = holds(evaluation([1.0], [1.0]), evaluation([3.96], [0.1]))
    assert found["shaper"] and not found["shaper-above-extortion"] and not found["naive-below-defection"]


def test_every_experiments_recipes_and_claims_exist() -> None:
    for experiment in all_experiments():
        request = Request(experiment.id, game=experiment.game)
        assert {row.arm for row in experiment.table} <= {arm.name for arm in experiment.arms}
        for arm in experiment.arms:
            config = request.config(arm)
            assert config.recipe == arm.recipe
            assert config.game == experiment.game or make_game(config.game).name == f"{experiment.game}+mediator"
            assert len(config.seeds) == (10 if arm.twice_the_seeds else 5)
        assert claims_of(f"{experiment.id.partition('/')[2]}/{experiment.game}")


def test_claims_have_names_of_their_own_and_there_are_many() -> None:
    names = [claim.id for claim in all_claims()]
    assert len(names) == len(set(names)) >= 20
    known = {f"{experiment.id.partition('/')[2]}/{experiment.game}" for experiment in all_experiments()}
    assert {name.rpartition("/")[0] for name in names} <= known


def test_too_few_seeds_for_a_share_of_them_are_told_before_training(capsys: pytest.CaptureFixture[str]) -> None:
    few, enough = (Request("adalign/figure7", "ipd-ab", seeds=tuple(range(n))) for n in (12, 13))
    assert few.undecidable() == {"figure7/ipd-ab/most-seeds": 13} and enough.undecidable() == {}
    assert REQUEST.undecidable() == {}
    # ten seeds of the baseline, five of the shaper: the arm with the most seeds counts
    assert Request("shapellm/table3", "ish").undecidable() == {}
    assert Request("shapellm/table10", "icg").undecidable() == {"table10/icg/enriched-favoured": 6}
    _tell_undecidable(few)
    told = capsys.readouterr().err
    assert "figure7/ipd-ab/most-seeds takes 13." in told
    _tell_undecidable(enough)
    assert capsys.readouterr().err == ""
