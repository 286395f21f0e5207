"""A whole paper: tables share their arms, every one has a page, a cut-off run is resumed, and what is published is all there is."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_runs import SMALL, files, small_arms

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import publish_results
import recheck_claims
from run_files import never_written, read_json, read_lines

from coplay.errors import UsageError
from coplay.experiments.catalogue import claims_of
from coplay.experiments.claims_file import read_claims
from coplay.experiments.reproduce import claim_directory, reproduce
from coplay.experiments.request import Request, requests_of
from coplay.experiments.summary import report_on, summarise
from coplay.runs.directory import RunDirectory

torch.set_num_threads(1)

WHOLE = Request("shapellm", game="ipd", learner="tabular", seeds=(0, 1), trials=2)


@pytest.fixture(scope="module", autouse=True)
def small_games() -> Iterator[None]:
    """Games of seconds in every arm."""
    with small_arms(SMALL):
        yield


@pytest.fixture(scope="module")
def paper(small_games: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduce") / "paper"
    reproduce(WHOLE, out, quiet=True)
    return out


def test_tables_share_their_arms(paper: Path) -> None:
    runs = sorted(path.name for path in (paper / "runs").iterdir())
    arms = {arm.recipe.partition("/")[2] for experiment in WHOLE.experiments for arm in experiment.arms}
    assert runs == sorted(arms)
    assert not any("table-format" in name for name in runs)  # tabular learners do not read
    assert {path.name for path in (paper / "runs" / "ipd").glob("eval*.json")} == {
        "eval.json",
        "eval-T50.json",
        "eval-T100.json",
    }
    assert read_json(paper / "runs" / "ipd" / "eval-T50.json")["rounds"] == 50


def test_every_table_has_a_page_and_the_overview_links_to_it(paper: Path) -> None:
    page = (paper / "report.html").read_text()
    for experiment in WHOLE.experiments:
        assert (paper / experiment.name / "report.html").exists()
        assert f'href="{experiment.name}/report.html"' in page
        assert experiment.title.split(":")[0] in page
    rows = json.loads((paper / "claims.json").read_text())
    found = [c for e in WHOLE.experiments for c in claims_of(f"{e.id.partition('/')[2]}/{e.game}")]
    expected = [claim.id for claim in found if not claim.in_text]
    assert [row["id"] for row in rows] == expected


@pytest.mark.slow
def test_a_paper_that_was_cut_off_is_resumed(paper: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(paper, tmp_path / "again"))
    shutil.rmtree(out / "runs" / "ipd-state-only")
    never_written(out / "runs" / "ipd", "run", "eval-T100.json")
    assert "Not finished yet" in summarise(out).report.read_text()
    reproduce(WHOLE, out, quiet=True)
    for name in ("ipd-state-only/eval.json", "ipd/eval-T100.json"):
        assert (out / "runs" / name).read_bytes() == (paper / "runs" / name).read_bytes()


def test_a_published_copy_has_every_number_and_makes_the_same_page(paper: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert publish_results.main([str(paper), str(copy)]) == 0
    claims = json.loads((paper / "claims.json").read_text())
    of_tables = []
    for experiment in WHOLE.experiments:
        place = copy / experiment.name
        of_tables += json.loads((place / "claims.json").read_text())
        assert (place / "command.txt").read_text() == (
            f"coplay reproduce {experiment.id} --game ipd --seeds 0,1 --learner tabular --trials 2\n"
        )
        assert {path.name for path in place.iterdir()} == {"command.txt", "claims.json"}
    assert of_tables == claims
    for run in (paper / "runs").iterdir():
        assert (copy / "runs" / run.name / "config.json").read_bytes() == (run / "config.json").read_bytes()
        theirs, ours = (RunDirectory.open(path) for path in (run, copy / "runs" / run.name))
        names = theirs.store.names("eval*.json")
        assert names
        for name in names:
            assert ours.evaluation(name) == theirs.evaluation(name)
        assert not (copy / "runs" / run.name / "metrics.jsonl").exists()
        lines, kept_lines = (read_lines(path / "metrics.jsonl") for path in (run, copy / "runs" / run.name))
        assert len(lines) == len(kept_lines)
        for line, kept in zip(lines, kept_lines, strict=True):
            assert {"step", "seed", "reward/row", "state/CC", "illegal/column"} <= set(kept) < set(line)
            assert kept == pytest.approx({key: line[key] for key in kept}, rel=1e-3)
    report_on([copy], copy)
    for claim, again in zip(claims, json.loads((copy / "claims.json").read_text()), strict=True):
        assert again["holds"] == claim["holds"]
        assert again["measured"] == pytest.approx(claim["measured"], abs=1e-3)


def test_a_single_experiment_is_published_in_one_directory(tmp_path: Path) -> None:
    alone = Request("shapellm/table16", "ipd", learner="tabular", seeds=(0,), trials=1)
    out, copy = tmp_path / "out", tmp_path / "copy"
    reproduce(alone, out, quiet=True)
    assert publish_results.main([str(out), str(copy)]) == 0
    assert (copy / "claims.json").read_bytes() == (out / "claims.json").read_bytes()
    arms = [arm.name for experiment in alone.experiments for arm in experiment.arms]
    kept = {"experiment.json", "claims.json", "command.txt", "manifest.json", *arms}
    assert {path.name for path in copy.iterdir()} == kept
    report_on([copy], copy)
    assert (copy / "report.html").exists()


def test_one_of_several_experiments_is_published_as_if_it_were_alone(tmp_path: Path) -> None:
    first = Request("shapellm/table1", "ipd", learner="tabular", seeds=(0,), trials=1)
    second = replace(first, id="shapellm/table16")
    shared, own, copy, expected = (tmp_path / name for name in ("shared", "own", "copy", "expected"))
    for request, out in ((first, shared), (second, shared), (second, own)):
        reproduce(request, out, quiet=True)
    assert publish_results.main([str(shared), str(copy), "--alone", second.id]) == 0
    assert publish_results.main([str(own), str(expected)]) == 0
    files = {path.relative_to(expected) for path in expected.rglob("*") if path.is_file()}
    assert {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()} == files
    for name in ("claims.json", "command.txt", *(path for path in files if path.name == "eval.json")):
        assert (copy / name).read_bytes() == (expected / name).read_bytes()
    report_on([copy], copy)
    with pytest.raises(SystemExit):
        publish_results.main([str(shared), str(copy), "--alone", "shapellm/table10"])


def test_tables_of_other_seeds_join_what_is_published(paper: Path, tmp_path: Path) -> None:
    """A table that was made again on other seeds replaces the published one; the others stay, and their claims follow as before."""
    copy, out = tmp_path / "copy", tmp_path / "out"
    assert publish_results.main([str(paper), str(copy)]) == 0
    again = replace(WHOLE, id="shapellm/table16", seeds=(2, 3))
    claim_directory(replace(WHOLE, seeds=again.seeds), out)
    reproduce(again, out, quiet=True)
    for _ in range(2):
        assert publish_results.main([str(out), str(copy), "--join"]) == 0
    assert [(one.id, one.seeds) for one in requests_of(copy)] == [(WHOLE.id, WHOLE.seeds), (again.id, again.seeds)]
    assert "--seeds 2,3 " in (copy / "table16-ipd" / "command.txt").read_text()
    assert "--seeds 0,1 " in (copy / "table1-ipd" / "command.txt").read_text()
    assert RunDirectory.open(copy / "runs" / "ipd-state-only").config.seeds == (2, 3)
    assert RunDirectory.open(copy / "runs" / "ipd").config.seeds == (0, 1)
    for place, claims in recheck_claims.rechecked(copy):
        assert read_claims(place / "claims.json") == claims


def test_a_table_whose_runs_others_rest_on_does_not_join_without_them(
    paper: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, out = tmp_path / "copy", tmp_path / "out"
    publish_results.main([str(paper), str(copy)])
    again = replace(WHOLE, id="shapellm/table1", seeds=(2, 3))
    claim_directory(replace(WHOLE, seeds=again.seeds), out)
    reproduce(again, out, quiet=True)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit):
        publish_results.main([str(out), str(copy), "--join"])
    assert "table15-ipd in" in (said := capsys.readouterr().err) and "rests on shapellm/ipd too" in said
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_publishing_again_makes_the_same_files(paper: Path, tmp_path: Path) -> None:
    """Compression adds neither time nor name, what an earlier form left is replaced, and a copy can be published in turn."""
    copy, again = tmp_path / "copy", tmp_path / "again"
    assert publish_results.main([str(paper), str(copy)]) == 0
    before = {path.relative_to(copy): path.read_bytes() for path in copy.glob("runs/*/*")}
    (copy / "runs" / "ipd" / "metrics.jsonl").write_text('{"step": 1, "seed": 0}\n')
    assert publish_results.main([str(paper), str(copy)]) == 0
    assert {path.relative_to(copy): path.read_bytes() for path in copy.glob("runs/*/*")} == before
    assert publish_results.main([str(copy / "runs" / "ipd"), str(again)]) == 0
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: data for path, data in before.items() if path.parent.name == "ipd"
    }


def test_one_table_of_a_published_paper_has_its_page(paper: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    publish_results.main([str(paper), str(copy)])
    table = copy / "table16-ipd"
    claims = (table / "claims.json").read_bytes()
    page = report_on([table], table)
    assert page == table / "report.html"
    assert "Table 16" in page.read_text() and "Claims" in page.read_text()
    assert (table / "figures" / "training.png").exists()
    assert (table / "claims.json").read_bytes() == claims
    (copy / "runs" / "ipd-state-only" / "eval.json").unlink()
    with pytest.raises(UsageError, match=r"ipd-state-only/eval\.json is missing"):
        report_on([table], table)
    shutil.rmtree(copy / "runs" / "ipd-state-only")
    with pytest.raises(UsageError, match=r"Table 16.* is not finished"):
        report_on([table], table)


def test_a_sweep_is_published_as_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "sweep" / "cells").mkdir(parents=True)
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    assert publish_results.main([str(tmp_path / "sweep"), str(tmp_path / "copy")]) == 0
    assert files(tmp_path / "copy") == ["manifest.json", "sweep.json"]


def test_a_directory_without_an_experiment_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        publish_results.main([str(tmp_path), str(tmp_path / "copy")])


@pytest.mark.slow
def test_every_table_of_every_game_runs_on_tables(tmp_path: Path) -> None:
    whole = Request("shapellm", learner="tabular", seeds=(0,), trials=1)
    outcome = reproduce(whole, tmp_path / "out", quiet=True)
    assert "Not finished yet" not in outcome.report.read_text()
    rows = json.loads((tmp_path / "out" / "claims.json").read_text())
    found = [c for e in whole.experiments for c in claims_of(f"{e.id.partition('/')[2]}/{e.game}")]
    expected = [claim.id for claim in found if not claim.in_text]
    assert [row["id"] for row in rows] == expected
    assert {e.game for e in whole.experiments} == {"ipd", "imp", "icg", "c-ipd", "ish"}


def test_words_are_nothing_for_tables() -> None:
    with pytest.raises(UsageError, match="about text"):
        _ = Request("shapellm/table11", learner="tabular").experiments
