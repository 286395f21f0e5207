"""The section about safety: what safety.json says, and curves of the held-out games."""

import json
from pathlib import Path

import fake_run
import pytest
from test_report_page import HOSTILE, Page, poison

from coplay.report import Arm, load_run
from coplay.report.data import Series
from coplay.report.page import render
from coplay.report.safety import safety_sections
from coplay.report.safety_plot import held_out_svgs


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Arm:
    path = fake_run.write_run(tmp_path_factory.mktemp("run"), seeds=2, trials=9, rounds=3, held_out=True)
    return Arm("sepo", "Safe", load_run(path))


def test_measures_are_means_over_seeds_of_the_last_and_the_selected_policy(arm: Arm) -> None:
    (found,) = safety_sections([arm])
    assert found.policies == ("last policy", "selected policy")
    assert found.chosen == "trial 3 (seed 0), trial 4 (seed 1)"
    cells = dict(found.measures)
    last, selected = cells["exploit over agent"]
    assert last is not None and last.mean == pytest.approx((1 / 9 + 1 / 9 + 0.1) / 2)
    assert selected is not None and selected.mean == pytest.approx((1 / 3 + 1 / 3 + 0.1) / 2)
    assert last.half_width == pytest.approx(12.706 * 0.05, rel=1e-3)  # t of one degree of freedom, times 0.1 / 2
    assert "collusion" not in cells, "nothing is known of it"
    assert found.against[0].payoffs[1].mean == 2.75
    assert [(one.pool, one.name) for one in found.against] == [("train", "tit_for_tat"), ("exploit", "always_defect")]


def test_the_page_shows_the_tables_and_the_curves(arm: Arm) -> None:
    page = Page(render([arm], title="t"))
    assert page.open == []
    assert len(page.values("id")) == len(set(page.values("id")))
    assert page.headings.index("Safety") == page.headings.index("Setup") - 1
    assert "#safety" in page.values("href")
    for words in (
        "20 games against each co-player, 2 seeds",
        "exploit 2.4, collusion 1.0",
        "over agent",
        "always_defect",
    ):
        assert words in " ".join(page.text.split()), words
    curves = [label for label in page.values("aria-label") if label.startswith("Held-out")]
    assert curves[0] == "Held-out games over trials, Safe: exploit over agent and a best response gets"
    assert len(curves) == 4


def test_a_metric_that_is_measured_now_and_then_is_one_line(arm: Arm) -> None:
    series: Series = arm.run.series("held_out/pay").measured
    assert series.steps.tolist() == [3, 6, 9]
    assert series.values.tolist() == [[2.03, 2.06, 2.09]] * 2


def test_the_curve_is_of_the_exploit_that_the_objective_measures(arm: Arm) -> None:
    learner = dict(arm.run.config["learners"]["row"]) | {"group": {"safety": {"measure": "over_fair"}}}
    run = load_run(arm.run.path)
    run.config = dict(run.config) | {"learners": {"row": learner}}
    assert "exploit over fair" in held_out_svgs(Arm("a", "A", run), prefix="h")[0]


def test_a_run_without_held_out_games_has_no_such_section(tmp_path: Path) -> None:
    run = load_run(fake_run.write_run(tmp_path / "run", seeds=1, trials=3, rounds=3))
    text = render([Arm("a", "A", run)], title="t")
    assert 'id="safety"' not in text and 'href="#safety"' not in text


def test_hostile_text_in_it_is_inert(tmp_path: Path) -> None:
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=3, rounds=3, held_out=True)
    record = poison(json.loads((path / "safety.json").read_text()))
    record["weights"] = {HOSTILE: HOSTILE}
    record["seeds"]["0"]["selected_step"] = HOSTILE
    (path / "safety.json").write_text(json.dumps(record))
    page = Page(render([Arm("a", HOSTILE, load_run(path))], title="t"))
    assert page.open == []
    assert page.tags["img"] == 0
    assert page.tags["script"] == 2


@pytest.mark.parametrize(
    "damage", [{"seeds": {"0": {"last": {"pay": "x", "against": [1, {}]}}}}, {"seeds": {"0": 3}}, {"seeds": []}]
)
def test_a_file_of_another_shape_is_shown_as_far_as_it_goes(damage: dict[str, object], tmp_path: Path) -> None:
    path = fake_run.write_run(tmp_path / "run", seeds=1, trials=3, rounds=3, held_out=True)
    record = json.loads((path / "safety.json").read_text()) | damage
    (path / "safety.json").write_text(json.dumps(record))
    assert "Held-out games" in render([Arm("a", "A", load_run(path))], title="t")
