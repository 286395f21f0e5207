"""What is published stays small, holds data alone, can be read as any run, and is where the documentation says."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from run_files import write_json

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import recheck_claims

from coplay.experiments.claims_file import read_claims
from coplay.experiments.request import Request, arm_directory, requests_of
from coplay.experiments.summary import report_on
from coplay.report.data import load_run

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "results"

MOST_BYTES = 12_000_000
"""As much as `results/` may take."""

MADE_ON_DEMAND = {".html", ".png", ".pdf", ".svg"}
"""What `coplay report` makes of the data."""

UNCOMPRESSED = {".jsonl"}
"""What is published compressed."""

SAME = ("id", "paper", "claim", "rule", "published", "n_seeds", "model", "holds", "verdict")
"""What a claim that is checked again has in common with the published one to the letter; its numbers come from rounded curves."""

REMEDY = "publish with scripts/publish_results.py; `coplay report DIR` makes pages and pictures, and those the docs show are in docs/images"


@cache
def published() -> tuple[Path, ...]:
    """Every file in `results/` that is or would be committed: not the pages that somebody made there and git ignores."""
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "results"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
        files = [REPOSITORY / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):  # not a checkout
        files = list(RESULTS.rglob("*"))
    return tuple(sorted({file for file in files if file.is_file()}))


def runs() -> list[Path]:
    return [file.parent for file in published() if file.name == "config.json"]


def test_results_are_small() -> None:
    taken = sum(file.stat().st_size for file in published())
    assert 0 < taken <= MOST_BYTES, f"results/ takes {taken:,} bytes, more than {MOST_BYTES:,}: {REMEDY}"


def test_results_are_data_alone() -> None:
    refused = [
        str(file.relative_to(REPOSITORY)) for file in published() if file.suffix in MADE_ON_DEMAND | UNCOMPRESSED
    ]
    assert not refused, f"{', '.join(refused)}: {REMEDY}"


def test_every_published_run_can_be_read() -> None:
    assert len(runs()) > 100
    for path in runs():
        run = load_run(path)
        assert run.eval is not None
        assert run.last_step == run.planned_steps, f"{path} has no whole curve"
        assert {line["seed"] for line in run.metrics} == (set(run.seeds) if run.planned_steps else set()), path


def test_nothing_published_names_a_place_on_the_machine_that_made_it() -> None:
    for file in published():
        if file.name in ("config.json", "env.json"):
            found = re.findall(r'"(/[\w.-]+/[^"]*)"', file.read_text(encoding="utf-8"))
            assert not found, f"{file}: {found[0]}; {REMEDY}"


def test_what_a_papers_claims_are_computed_from_is_published() -> None:
    for paper in ("shapellm", "adalign", "sepo"):
        places = {path.parent.name for path in published() if path.name == "claims.json" and paper in path.parts}
        first, *_ = requests_of(RESULTS / paper)
        for request in requests_of(RESULTS / paper):
            assert {experiment.name for experiment in request.experiments} <= places
            for arm in request.arms:
                assert (arm_directory(first, RESULTS / paper, arm) / "metrics.jsonl.gz").exists()


@pytest.mark.parametrize(
    "request_",
    [
        Request("shapellm/table16", "ipd", seeds=(50, 51, 52, 53, 54)),
        Request("sepo/table5", "kuhn", seeds=(30, 31, 32, 33, 34)),
    ],
    ids=lambda request: request.id,
)
def test_claims_follow_from_what_is_published(request_: Request, tmp_path: Path) -> None:
    """Tables with claims about curves and about safety.json, recomputed from compressed runs."""
    about = {"version": 1, "id": request_.id, "game": request_.game, "seeds": list(request_.seeds)}
    write_json(tmp_path / "experiment.json", about)
    paper, _, table = request_.id.partition("/")
    for arm in request_.arms:
        (tmp_path / arm.name).symlink_to(RESULTS / paper / "runs" / arm.recipe.partition("/")[2])
    report_on([tmp_path], tmp_path)
    published_place = RESULTS / paper / f"{table}-{request_.game}"
    ours, theirs = (json.loads((place / "claims.json").read_text()) for place in (tmp_path, published_place))
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs, strict=True):
        assert {key: mine[key] for key in SAME} == {key: other[key] for key in SAME}
        assert mine["measured"] == pytest.approx(other["measured"], abs=1e-3)


def test_every_published_claim_follows_from_the_published_data() -> None:
    assert recheck_claims.main([]) == 0, "run scripts/recheck_claims.py --write, then scripts/results_table.py --write"


def test_a_claim_that_was_changed_by_hand_is_found() -> None:
    claims = read_claims(RESULTS / "shapellm" / "table1-imp" / "claims.json")
    first, second, *others = claims
    changed = [replace(first, verdict="holds"), replace(second, measured=0.99), *others]
    told = list(recheck_claims.differences(changed, claims))
    assert [line.partition(":")[0] for line in told] == [first.id, second.id]
    assert list(recheck_claims.differences(claims, claims)) == []
    assert list(recheck_claims.differences(claims, claims[1:])) == [f"{first.id}: gone (was {first.verdict})"]


# --- Links and paths --------------------------------------------------------------------------------------------------------------------


def pages() -> list[Path]:
    """Every page a reader may meet a link in."""
    return [
        *REPOSITORY.glob("*.md"),
        *sorted((REPOSITORY / "docs").rglob("*.md")),
        *(file for file in published() if file.suffix == ".md" or file.name == "command.txt"),
    ]


def links(page: Path) -> Iterator[Path]:
    """Where a page's relative links lead."""
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            yield (page.parent / target).resolve()


def named(page: Path) -> Iterator[Path]:
    """Paths below `results/` that a page's text names, such as those in commands; placeholders in capitals are passed over."""
    for path in re.findall(r"(?<![\w/.-])results/[\w./-]+", page.read_text(encoding="utf-8")):
        if not re.search(r"[A-Z]{3}|\bN\b", path):
            yield REPOSITORY / path.rstrip(".")


def test_links_into_results_and_out_of_them_lead_somewhere() -> None:
    known = {parent for file in published() for parent in (file, *file.parents)}
    met = 0
    for page in pages():
        for target in (*links(page), *named(page)):
            if RESULTS in (target, *target.parents):
                met += 1
                assert target in known, (
                    f"{page.relative_to(REPOSITORY)} names {target.relative_to(REPOSITORY)}, which is not published"
                )
            elif RESULTS in page.parents:
                assert target.exists(), f"{page.relative_to(REPOSITORY)} links {target}, which does not exist"
    assert met > 20


def test_docs_show_no_picture_that_is_made_on_demand() -> None:
    for page in pages():
        for target in links(page):
            if target.suffix in MADE_ON_DEMAND:
                assert RESULTS not in target.parents and target.exists(), (
                    f"{page.relative_to(REPOSITORY)} shows {target}"
                )


def test_a_share_of_seeds_has_its_exact_interval_on_the_page_of_all_tables(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "adalign" / "more-seeds", tmp_path / "copy")
    report_on([tmp_path / "copy"], tmp_path / "copy")
    page = re.sub(r"<[^>]+>", "", (tmp_path / "copy" / "report.html").read_text(encoding="utf-8"))
    assert "1.00 [0.75, 1.00]" in page and "1.92 ± 0.69" in page and "0.85 ± 0.30" not in page


def test_a_report_in_results_is_ignored_by_git() -> None:
    made = [
        "shapellm/table1-ipd/report.html",
        "shapellm/table1-ipd/figures/training.png",
        "shapellm/figure2/report.html",
        "shapellm/claims.json",
        "adalign/runs/ipd-ab/figures/training.pdf",
    ]
    command = ["git", "-C", str(REPOSITORY), "check-ignore", *(f"results/{name}" for name in made)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        pytest.skip("git is not installed")
    if told.returncode == 128:
        pytest.skip("not a git checkout")
    assert told.stdout.split() == [f"results/{name}" for name in made]
