"""Table 17: a second model, aligned once to the first one, then trained from there; killed in between, it is resumed."""

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_runs import run_python

sys.path.insert(0, str(Path(__file__).parent / "models"))
from run_files import read_json
from small_models import write_checkpoint

import coplay.errors
import coplay.experiments.labels
import coplay.experiments.preparations
import coplay.experiments.request
from coplay.evaluation.claims import check_claims
from coplay.evaluation.measures import Results
from coplay.experiments.align import RECORD
from coplay.experiments.catalogue import claims_of
from coplay.experiments.initial_policies import first_policies
from coplay.experiments.preparations import check_preparation, prepared
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Reproduction, Request
from coplay.models.known import EMBEDDED
from coplay.models.loading import load_model
from coplay.recipes import make_config
from coplay.recipes.experiments import Alignment
from coplay.recipes.shapellm import settings
from coplay.report.verdict import paper_model
from coplay.runs.factory import build

torch.set_num_threads(1)

REQUEST = Request("shapellm/table17", seeds=(0,), trials=2)
SMALL: dict[str, Any] = {"rounds": 4, "episodes": 2, "games": 2, "eval_games": 2, "threads": 1, "workers": 1}

KILLED = """
import os, signal
import test_second_model as t
from pathlib import Path
import coplay.runs.train

t.make_small()
coplay.runs.train.train = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
t.reproduce(t.REQUEST, Path("out"), quiet=True)
"""


def make_small(patch: Any = setattr) -> None:
    """Small games, and an alignment of seconds."""
    make, alignment_of = make_config, coplay.experiments.preparations.alignment_of
    patch(coplay.experiments.request, "make_config", lambda *a, **k: make(*a, **k).model_copy(update=SMALL))
    patch(coplay.experiments.preparations, "alignment_of", lambda *a, **k: replace(alignment_of(*a, **k), prompts=30))
    patch(coplay.experiments.labels, "label_pairs", lambda *_: [("C", "D"), ("A", "B")])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch.setattr)


def record(out: Path) -> Path:
    return out / "prepared" / "ipd-second-model" / RECORD


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_whole_path(tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = reproduce(REQUEST, out, quiet=True)
    assert json.loads(record(out).read_text())["settings"]["to"] == "tiny"
    start = str(record(out).parent.resolve())
    for arm, seeds in (("baseline", [0, 1]), ("shaper", [0])):
        config = read_json(out / arm / "config.json")
        assert (config["model"], config["seeds"], config["trials"]) == ("tiny-second", seeds, 2)
        assert config["adapter"]["init_adapter"] == start and config["adapter"]["reference"] == "start"
        assert (out / arm / "eval.json").exists()
    claims = json.loads((out / "claims.json").read_text())
    assert {row["model"] for row in claims} == {"tiny-second"}
    page = outcome.report.read_text()
    assert "tiny-second" in page and "Llama-3.2-1B-Instruct" in page
    before = record(out).stat().st_mtime_ns
    reproduce(replace(REQUEST, id="shapellm/figure10"), out, quiet=True)
    assert record(out).stat().st_mtime_ns == before
    models = first_policies(out)
    assert [model.title for model in models] == ["tiny", "tiny-second", "tiny-second, aligned to tiny"]
    assert models[0].illegal() < 0.01 and models[1].illegal(own=True) > 0.1
    assert models[2].illegal(own=True) < models[1].illegal(own=True)
    assert (out / "figure10" / "figures" / "figure10.png").exists()
    assert "data:" not in (out / "figure10" / "report.html").read_text()  # the page's policy admits no pictures
    assert (out / "figure12" / "report.html").exists()  # comes for free


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_killed_between_alignment_and_training_it_is_resumed(tmp_path: Path) -> None:
    code = f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n{KILLED}"
    assert run_python(code, cwd=tmp_path).returncode == -signal.SIGKILL
    out = tmp_path / "out"
    before = record(out).stat().st_mtime_ns
    assert not (out / "baseline").exists()
    reproduce(REQUEST, out, quiet=True)
    assert record(out).stat().st_mtime_ns == before
    whole = tmp_path / "whole"
    reproduce(REQUEST, whole, quiet=True)
    for arm in ("baseline", "shaper"):
        for name in ("metrics.jsonl", "eval.json"):
            assert (out / arm / name).read_bytes() == (whole / arm / name).read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_any_two_models_at_the_papers_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the paper's models cannot be had: a Llama aligned to a Gemma 2, both random."""
    monkeypatch.setitem(SMALL, "four_bit", False)
    gemma, llama = (write_checkpoint(tmp_path / name, name) for name in ("gemma2", "llama"))
    request = replace(REQUEST, scale="paper", model=str(llama), align_to=str(gemma))
    reproduce(request, tmp_path / "out", quiet=True)
    found = json.loads(record(tmp_path / "out").read_text())["settings"]
    assert (found["model"], found["to"]) == (str(llama), str(gemma))
    assert found["schedule"]["learning_rate"] == settings.ALIGNMENT_RATES["paper"]


@pytest.mark.usefixtures("small")
def test_a_model_can_be_aligned_to_its_own_policy(tmp_path: Path) -> None:
    request = replace(REQUEST, align_to="own")
    arm = request.arms[0]
    check_preparation(request, arm)
    path = prepared(arm, Reproduction(request, tmp_path, quiet=True))
    assert path == record(tmp_path).parent
    found = json.loads(record(tmp_path).read_text())
    asked, after = found["settings"], found["after"]["all"]
    assert (asked["model"], asked["to"], asked["reciprocity"]) == ("tiny-second", "own", 0.0)
    assert asked["schedule"]["among_weight"] > 1  # the arm's rate is for another model as target
    assert asked["schedule"]["learning_rate"] != settings.ALIGNMENT_RATES["tiny"]
    assert after["illegal"] < 0.1 < found["before"]["all"]["illegal"] and after["gap"] < 0.05


@pytest.mark.usefixtures("small")
def test_an_arm_may_ask_for_reciprocity(tmp_path: Path) -> None:
    wanted = Alignment("reciprocal", {"tiny": "own"}, {"tiny": 1e-2}, reciprocity=0.5, epochs=3)
    arm = replace(REQUEST.arms[0], preparation=wanted)
    check_preparation(REQUEST, arm)
    path = prepared(arm, Reproduction(REQUEST, tmp_path, quiet=True))
    assert path is not None
    found = json.loads((path / RECORD).read_text())["settings"]
    assert (found["to"], found["reciprocity"]) == ("own", 0.5)
    assert (found["schedule"]["learning_rate"], found["schedule"]["epochs"]) == (1e-2, 3)
    with pytest.raises(coplay.errors.UsageError, match="goes with the target 'own'"):
        check_preparation(replace(REQUEST, align_to="tiny"), arm)


def test_what_cannot_be_aligned_to_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(coplay.errors.UsageError, match="there is no model at"):
        reproduce(replace(REQUEST, align_to="./nowhere"), tmp_path / "out", quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_the_papers_settings() -> None:
    """Appendix A.9: Table 7 but for c_VF, Table 8 but for three columns; Llama in 4 bits."""
    shaper, baseline = (make_config(f"shapellm/ipd-second-model{end}", scale="paper") for end in ("", "-baseline"))
    assert (shaper.model, shaper.four_bit) == ("meta-llama/Llama-3.2-1B-Instruct", True)
    naive = make_config("shapellm/ipd", scale="paper").learners["column"]
    learner = shaper.learners["column"]
    assert baseline.learners["row"] == baseline.learners["column"] == learner
    assert learner == naive.model_copy(update={"ppo": naive.ppo.model_copy(update={"value_coef": 1e-2})})
    ppo = shaper.learners["row"].ppo
    assert (ppo.learning_rate, ppo.value_coef, ppo.clip) == (3.41e-7, 1e-4, 0.1)


def test_the_papers_own_numbers_bear_out_its_claims() -> None:
    def evaluation(row: float, column: float, illegal: float) -> dict[str, Any]:
        seats = {"row": {"per_round": row, "illegal": illegal}, "column": {"per_round": column, "illegal": illegal}}
        return {"seeds": {str(seed): {"episodes": 100, "rounds": 20, "seats": seats} for seed in range(5)}}

    results = Results({"baseline": evaluation(1.04, 0.99, 0.0), "shaper": evaluation(3.97, 0.10, 0.001)})
    assert all(row.holds for row in check_claims(claims_of("table17/ipd"), results, model="x"))


def test_the_second_model_is_of_another_family_and_plays_otherwise() -> None:
    assert EMBEDDED == ("tiny", "tiny-second", "tiny-talk", "tiny-talk-second", "tiny-reason")
    architectures = [load_model(name, device="cpu").model.config.model_type for name in EMBEDDED]
    assert architectures == ["llama", "gemma2", "llama", "gemma2", "llama"]
    assert build(make_config("shapellm/ipd-second-model")).config.model == "tiny-second"


def test_the_report_names_the_papers_model() -> None:
    run: Any = SimpleNamespace(config={"recipe": "shapellm/ipd-second-model-baseline"})
    assert paper_model(run) == "Llama-3.2-1B-Instruct"
