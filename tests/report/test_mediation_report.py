"""A run of a mediated game as a page, and the figures of mediation."""

import html
import json
import math
import re
from pathlib import Path

import fake_run
import pytest

from coplay.report import Arm, load_run
from coplay.report.areas_plot import Areas, areas_figure, mediation_areas, mediation_svg
from coplay.report.canvas import drawn
from coplay.report.checkpoint_plot import Checkpoint, CheckpointPanel, checkpoint_figure
from coplay.report.frontier_plot import Point, frontier_figure
from coplay.report.page import render
from coplay.report.replay import replay_data

HOSTILE = "</script><img src=x onerror=alert(1)>"


def mediated(path: Path) -> Arm:
    """A run of which the second seat is taken for a mediator that wrote to the first in the first round of each game."""
    fake_run.write_run(path, seeds=2, trials=6, episodes=1, rounds=3)
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    shares = [{"notice/none": 0.5 + 0.1 * line["seed"], "notice/mild": 0.5 - 0.1 * line["seed"]} for line in lines]
    text = "".join(json.dumps(line | more) + "\n" for line, more in zip(lines, shares, strict=True))
    (path / "metrics.jsonl").write_text(text, encoding="utf-8")
    games = [json.loads(line) for line in (path / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    for game in games:
        for number, one in enumerate(game["rounds"]):
            one["acts"][1]["readers"] = {} if number else {"row": HOSTILE}
    (path / "episodes.jsonl").write_text("".join(json.dumps(game) + "\n" for game in games), encoding="utf-8")
    return Arm("a", "Arm", load_run(path))


def test_a_page_shows_what_the_mediator_did(tmp_path: Path) -> None:
    arm = mediated(tmp_path / "run")
    page = render([arm], title="t")
    assert "The mediator</h3>" in page and "What the mediator did over trials" in page
    assert HOSTILE not in page
    assert "The mediator</h3>" not in render([Arm("b", "b", load_run(fake_run.write_run(tmp_path / "b")))], title="t")


def test_the_replay_holds_who_read_what(tmp_path: Path) -> None:
    (game, *_) = replay_data([mediated(tmp_path / "run")])["arms"][0]["games"]
    row, column = game["seats"]
    assert [turn["to"] for turn in column] == [[["row", HOSTILE]], [], []]
    assert row[0]["told"] == HOSTILE and "told" not in row[1] and "to" not in row[0]


def test_areas_are_the_means_over_seeds(tmp_path: Path) -> None:
    arm = mediated(tmp_path / "run")
    found = mediation_areas(arm.run)
    assert found is not None and list(found.steps) == [1, 2, 3, 4, 5, 6]
    assert found.shares["none"] == pytest.approx([0.55] * 6) and found.shares["mild"] == pytest.approx([0.45] * 6)
    assert mediation_svg(Arm("b", "b", load_run(fake_run.write_run(tmp_path / "b"))), prefix="m") is None


def words(content: bytes) -> list[str]:
    """Everything that stands between tags."""
    return [html.unescape(text).strip() for text in re.findall(r">([^<>]+)<", content.decode()) if text.strip()]


def test_a_grid_of_areas() -> None:
    shares = {"none": [0.2, 0.6], "mild": [0.5, 0.3], "strong": [0.3, 0.1]}
    found = words(
        drawn(areas_figure([[Areas("PPO", [1, 2], shares, marked=1), Areas("_$x$", [1], {"none": [1.0]})]]), ".svg")
    )
    assert all(text in found for text in ("none", "mild", "strong", "PPO", "_$x$", "trial"))


def test_unknown_shares_leave_a_gap() -> None:
    figure = areas_figure([[Areas("", [1, 2, 3], {"none": [1.0, math.nan, 1.0]})]])
    assert drawn(figure, ".png")


def test_checkpoints_and_reference_lines() -> None:
    marks = [Checkpoint(25, 0.3, 0.02), Checkpoint(50, 0.28)]
    panel = CheckpointPanel("PC", {"PPO": marks, "bandit": marks[:1]}, {"never": 0.42}, {"PPO": [(1, 0.1), (50, 0.4)]})
    figure = checkpoint_figure([[panel, CheckpointPanel("P0", {})]], of="profit gain", reward="proximity")
    low, high = figure.axes[0].get_ylim()
    assert low < 0.28 and high > 0.42
    found = words(drawn(figure, ".svg"))
    assert all(text in found for text in ("PC", "P0", "PPO", "bandit", "never", "profit gain", "proximity"))


def test_a_frontier_joins_checkpoints_in_order() -> None:
    points = [Point(0.4, 0.1, 0.01, 0.02), Point(0.3, 0.05), Point(0.2, 0.2)]
    fixed = {"always mild": Point(0.27, 0.05, 0.01, 0.01), "never": Point(0.24, 0.01)}
    figure = frontier_figure(
        {"PPO": points}, fixed, x_label="profit gain", y_label="surplus", reference="always mild", x_line=("Nash", 0.0)
    )
    (axes,) = figure.axes
    joined = next(line for line in axes.lines if len(line.get_xdata()) == 3)
    assert list(joined.get_xdata()) == [0.4, 0.3, 0.2]
    areas = [float(one.get_sizes()[0]) for one in axes.collections[:3]]
    assert areas == sorted(areas) and areas[0] < areas[2]
    assert all(text in words(drawn(figure, ".svg")) for text in ("always mild", "never", "PPO", "Nash"))


def test_a_reference_is_one_of_the_fixed_ones() -> None:
    with pytest.raises(ValueError, match="reference must be one of never"):
        frontier_figure({}, {"never": Point(0, 0)}, x_label="", y_label="", reference="always")
