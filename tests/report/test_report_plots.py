"""Figures are written, and survive odd data."""

from __future__ import annotations

import itertools
import json
import sys

import fake_run
import pytest

from coplay.report import Arm, load_run
from coplay.report.evaluation_plot import evaluation_svg
from coplay.report.page import save_figures
from coplay.report.training_plot import reward_svg, spread, state_svg, training_figure


def make_arm(path, **options):
    options = {"seeds": 2, "trials": 8, "episodes": 1, "rounds": 4} | options
    return Arm("a", "Arm", load_run(fake_run.write_run(path, **options)))


def test_files(tmp_path):
    arms = [make_arm(tmp_path / "0", arm="baseline"), make_arm(tmp_path / "1")]
    paths = save_figures(tmp_path, arms, {("a", "row"): (3.96, 0.01)})
    assert sorted(p.name for p in paths) == ["evaluation.pdf", "evaluation.png", "training.pdf", "training.png"]
    for path in paths:
        assert path.read_bytes()[:4] in (b"\x89PNG", b"%PDF")
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize("trials", [1, 2])
def test_one_seed_and_hardly_any_trials(tmp_path, trials):
    arm = make_arm(tmp_path / "run", seeds=1, trials=trials)
    assert "<svg" in reward_svg(arm, [arm], prefix="r")


@pytest.mark.parametrize(("seeds", "bands"), [(1, 0), (2, 0), (3, 2)])
def test_bands_need_three_seeds(tmp_path, seeds, bands):
    arm = make_arm(tmp_path / "run", seeds=seeds)
    reward, *_ = training_figure([arm]).axes
    assert len(reward.collections) == bands


def test_nothing_to_draw(tmp_path):
    arm = make_arm(tmp_path / "run", evaluate=False)
    empty = Arm("e", "Empty", load_run(arm.run.path))
    empty.run.metrics.clear()
    assert "no trials yet" in reward_svg(empty, [empty], prefix="r")
    assert "no reward recorded" in evaluation_svg([empty], prefix="e")


def test_svg_follows_the_page_and_reaches_nowhere(tmp_path):
    arm = make_arm(tmp_path / "run")
    svg = state_svg(arm, [arm], prefix="s0")
    assert "var(--state-0)" in svg
    assert "var(--state-x)" in svg
    assert "http" not in svg
    assert "<style" not in svg
    assert 'id="s0-' in svg


def test_names_that_look_like_markup(tmp_path):
    arm = make_arm(tmp_path / "run")
    hostile = r"$\frac{1}{ <b> _x"
    for name in ("metrics.jsonl", "eval.json"):
        path = arm.run.path / name
        path.write_text(path.read_text().replace("state/DD", "state/" + json.dumps(hostile)[1:-1]))
    config = json.loads((arm.run.path / "config.json").read_text())
    config["learners"]["row"]["role"] = hostile + "\u2028\udc80"
    (arm.run.path / "config.json").write_text(json.dumps(config))
    arm = Arm("a", hostile, load_run(arm.run.path))
    save_figures(tmp_path, [arm])
    assert "<b>" not in state_svg(arm, [arm], prefix="s")


def test_spread_keeps_order_distance_and_bounds():
    moved = spread([0.0, 0.01, 0.5, 0.0, 1.0], gap=0.1)
    ordered = sorted(moved)
    assert all(b - a >= 0.1 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert min(moved) >= 0.02
    assert max(moved) <= 0.98
    assert moved[2] == 0.5
