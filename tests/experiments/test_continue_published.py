"""An experiment of which some arms are published is continued: these count as finished."""

import sys
from pathlib import Path

import pytest

from coplay.cli.main import main
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request, request_of
from coplay.files.store import Store
from coplay.models.known import MODELS
from coplay.runs.directory import is_finished

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import continue_published  # noqa: E402
import publish_results  # noqa: E402

MODEL = MODELS["smollm2"]
PUBLISHED = ROOT / "results" / "smollm2"
WORDS = ["shapellm/smollm2-controls", "--game", "ipd", "--seeds", "200,201,202,203,204", "--out"]


@pytest.mark.skipif(not MODEL.installed, reason=f"smollm2 is not installed: {MODEL.command}")
def test_published_runs_are_finished_arms(tmp_path: Path) -> None:
    out = tmp_path / "controls"
    assert continue_published.main([*WORDS, str(out), str(PUBLISHED / "ipd" / "reciprocal-75")]) == 0
    request = request_of(out)
    assert request.id == "shapellm/smollm2-controls" and request.seeds == (200, 201, 202, 203, 204)
    finished = {arm.name for arm in request.arms if is_finished(out / arm.name)}
    assert finished == {"reciprocal-75"} and len(request.arms) == 4


def test_what_is_no_arm_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        continue_published.main([*WORDS, str(tmp_path / "out"), str(PUBLISHED / "ipd" / "shaper")])
    assert "is no finished run of an arm" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_players_that_have_to_meet_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["adalign/smollm2", *WORDS[1:]]
    words[2] = "ipd-ab"
    with pytest.raises(SystemExit):
        continue_published.main([*words, str(tmp_path / "out"), str(PUBLISHED / "ipd-ab" / "adalign")])
    assert "(adalign) have no adapters to play with" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_run_with_other_settings_than_its_arm_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained, copy, out = tmp_path / "trained", tmp_path / "published", tmp_path / "continued"
    overrides = ["trials=1", "games=8", "learner.temperature=0.5", "eval_games=2"]
    assert main(["train", "adalign/ipd-ab", "--seeds", "0,1", "--quiet", "--out", str(trained), *overrides]) == 0
    assert publish_results.main([str(trained), str(copy / "adalign"), "--adapters"]) == 0
    words = ["adalign/figure3", "--game", "ipd-ab", "--seeds", "0,1", "--trials", "1", "--out", str(out)]
    with pytest.raises(SystemExit):
        continue_published.main([*words, str(copy / "adalign")])
    told = capsys.readouterr().err
    assert "was trained with other settings than the arm's (" in told and "learners.learner.temperature" in told
    assert not out.exists()


def test_players_that_were_published_with_adapters_meet_later(tmp_path: Path) -> None:
    request = Request("adalign/figure3", "ipd-ab", seeds=(0, 1), trials=1)
    trained, copy, out = tmp_path / "trained", tmp_path / "published", tmp_path / "continued"
    reproduce(request, trained, quiet=True)
    assert publish_results.main([str(trained / "adalign"), str(copy / "adalign"), "--adapters"]) == 0
    words = ["adalign/figure3", "--game", "ipd-ab", "--seeds", "0,1", "--trials", "1", "--out", str(out)]
    assert continue_published.main([*words, str(copy / "adalign")]) == 0
    reproduce(request, out, quiet=True)
    meetings = "meetings/figure3-ipd-ab.json"
    assert (out / meetings).read_bytes() == (trained / meetings).read_bytes()


def test_a_target_that_is_joined_keeps_its_meetings(tmp_path: Path) -> None:
    target = tmp_path / "target"
    kept = Store(target, "experiment")
    kept.write("experiment.json", "{}")
    kept.write("meetings/figure3-ipd-ab.json", "[3]")
    kept.write("meetings/figure7-ipd-ab.json", "[7]")
    kept.commit()
    made = Store(tmp_path / "made", "experiment")
    made.write("meetings/figure7-ipd-ab.json", "[8]")
    made.commit()
    publish_results.publish_games(made, target, "{}", "*", kept=Store.open(target, "experiment"))
    found = Store.open(target, "experiment")
    assert [found.read(f"meetings/figure{n}-ipd-ab.json") for n in (3, 7)] == [b"[3]", b"[8]"]
