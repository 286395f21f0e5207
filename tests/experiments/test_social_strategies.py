"""The second paper by name, in a game: runs, meetings, watched games, claims, pages, and the published copy. Too short to show anything."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small_runs import small_arms

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import publish_results
from run_files import never_written, read_json, unfinished

from coplay.evaluation.measures import Results
from coplay.experiments.catalogue import claims_of
from coplay.experiments.cross_play import Known, cross_play_file, play_cross_play
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Reproduction, Request
from coplay.experiments.summary import report_on
from coplay.files.store import Store
from coplay.recipes.adalign.claims import CLAIMS

torch.set_num_threads(1)

FIGURES = [Request(f"adalign/figure{number}", "ipd-ab", seeds=(0,), trials=1) for number in (6, 10)]
EXPERIMENTS = [experiment for figure in FIGURES for experiment in figure.experiments]

SMALL = ["rounds=4", "games=4", "group_size=4", "eval_games=4", "threads=1"]


@pytest.fixture(scope="module", autouse=True)
def small_games() -> Iterator[None]:
    """Games of seconds in every arm."""
    with small_arms(SMALL):
        yield


@pytest.fixture(scope="module")
def paper(small_games: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("adalign") / "paper"
    for figure in FIGURES:
        reproduce(figure, out, quiet=True)
    return out


def test_every_figure_has_its_page_its_meetings_and_its_claims(paper: Path) -> None:
    overview = (paper / "report.html").read_text()
    for experiment in EXPERIMENTS:
        assert f'href="{experiment.name}/report.html"' in overview
        assert (paper / experiment.name / "report.html").exists()
        assert (paper / "meetings" / f"{experiment.name}.json").exists() == bool(experiment.meets)
        assert (paper / "watched" / f"{experiment.name}.json").exists() == (experiment.watched is not None)
    rows = json.loads((paper / "claims.json").read_text())
    expected = [c.id for e in EXPERIMENTS for c in claims_of(f"{e.id.partition('/')[2]}/{e.game}")]
    assert [row["id"] for row in rows] == expected


def test_the_whole_paper_has_claims_about_every_figure() -> None:
    whole = Request("adalign").experiments
    assert {experiment.id for experiment in whole} == {f"adalign/figure{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 11)}
    known = [claims_of(f"{e.id.partition('/')[2]}/{e.game}") for e in whole]
    assert all(known) and sum(map(len, known)) == len(CLAIMS)


def test_the_exploiter_met_the_aligned_agent_of_its_own_seed(paper: Path) -> None:
    config = read_json(paper / "against-adalign" / "config.json")
    assert [Path(who) for who in config["seats"]["bob"]] == [(paper / "adalign").resolve()]


def test_watched_games_are_kept_and_can_be_stepped_through(paper: Path) -> None:
    seed = read_json(paper / "watched" / "figure10-ipd-ab.json")["seeds"]["0"]
    assert len(seed["states"]) == 4 and all(len(game) == 4 for game in seed["states"])
    assert all([state[1:] for state in game].count("D") <= 1 for game in seed["states"])
    assert seed["game"]["players"] == {"alice": "adalign", "bob": "defect_once"}
    alice, bob = seed["game"]["rounds"][0]["acts"]
    assert "<start_of_turn>" in alice["prompt"] and "prompt" not in bob
    page = (paper / "figure10-ipd-ab" / "report.html").read_text()
    assert "Advantage Alignment meets defect_once" in page
    assert '"role":"defect_once"' in page


def test_who_has_met_in_one_figure_does_not_play_again_for_another(
    paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path(shutil.copytree(paper, tmp_path / "again"))
    seventh = Request("adalign/figure7", "ipd-ab", seeds=(0,), trials=1)
    (experiment,) = seventh.experiments
    known: Known = {}
    play_cross_play(experiment, Reproduction(seventh, out, quiet=True), known)
    assert len(known) == 6  # three players, each with each and with itself
    path = out / cross_play_file(experiment)
    before = path.read_bytes()
    never_written(out, "experiment", cross_play_file(experiment))
    monkeypatch.setattr("coplay.evaluation.meetings.loop_match", None)  # nobody may play
    play_cross_play(experiment, Reproduction(seventh, out, quiet=True), known)
    assert path.read_bytes() == before
    theirs = {
        (cell["player"], cell["co_player"]): cell for cell in read_json(out / cross_play_file(EXPERIMENTS[0]))["cells"]
    }
    for cell in read_json(path)["cells"]:
        assert theirs[cell["player"], cell["co_player"]] == cell


@pytest.mark.slow
def test_it_resumes_where_it_stopped(paper: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(paper, tmp_path / "again"))
    lost = ("meetings/figure6-ipd-ab.json", "watched/figure10-ipd-ab.json")
    never_written(out, "experiment", *lost)
    unfinished(out / "against-cooperate")
    for figure in FIGURES:
        reproduce(figure, out, quiet=True)
    for name in (*lost, "against-cooperate/eval.json", "claims.json"):
        assert (out / name).read_bytes() == (paper / name).read_bytes()


def test_a_published_copy_makes_the_same_claims(paper: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert publish_results.main([str(paper), str(copy)]) == 0
    assert read_json(copy / "against-adalign" / "config.json")["seats"]["bob"] == ["adalign"]  # wherever it was made
    report_on([copy], copy)
    theirs, ours = (json.loads((place / "claims.json").read_text()) for place in (paper, copy))
    for claim, again in zip(theirs, ours, strict=True):
        assert again["holds"] == claim["holds"]
        assert again["measured"] == pytest.approx(claim["measured"], abs=1e-3)
    # watched games are compressed, and still are when what is published is published again
    games = read_json(paper / "watched" / "figure10-ipd-ab.json")
    for _ in range(2):
        assert not (copy / "watched" / "figure10-ipd-ab.json").exists()
        assert Store.open(copy, "experiment").read_object("watched/figure10-ipd-ab.json") == games
        publish_results.publish_games(Store.open(copy, "experiment"), copy, (copy / "experiment.json").read_text(), "*")


@pytest.mark.parametrize(
    ("games", "answers", "returns"),
    [
        ([["CC", "CD", "DC", "CC", "CC"]], 1.0, 1.0),  # tit for tat
        ([["CC", "CD", "DC", "DC", "DC"]], 1.0, 0.0),  # grim trigger
        ([["CC", "CD", "CC", "CC", "CC"]], 0.0, 1.0),  # takes no notice
        ([["C-", "-D", "I", "D-", "-C", "C-"]], 1.0, 1.0),  # has no choice for a while
        ([["CC", "CD"], ["CC", "CD", "DC", "CC"]], 1.0, 1.0),  # a game that ends before it can answer
    ],
)
def test_what_is_done_after_a_single_defection(games: list[list[str]], answers: float, returns: float) -> None:
    found = {
        claim.id: claim.measure(Results({}, transcripts=[games])) for claim in CLAIMS if claim.id.startswith("figure10")
    }
    assert found == {"figure10/ipd-ab/answers": [answers], "figure10/ipd-ab/returns": [returns]}
