"""The heat maps of first policies."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from coplay.experiments.label_plot import CELLS, density, label_figure
from coplay.experiments.labels import LabelPolicy
from coplay.report.canvas import FORMATS, save_as

PROMPTS = ["start", "after CC", "after CD", "after DC", "after DD"]


def make_policy(labels, first, illegal=0.01):
    return LabelPolicy(labels, tuple((math.log(p - illegal / 2), math.log(1 - p - illegal / 2)) for p in first))


POLICIES = [make_policy(("H", "K"), (0.6, 0.9, 0.9, 0.7, 0.7)), make_policy(("I", "X"), (0.1, 0.2, 0.75, 0.3, 0.2))]


def draw(*, title="tiny, ipd", actions=("cooperate", "defect"), target=0.75):
    return label_figure(POLICIES, title=title, actions=actions, prompts=PROMPTS, target=target)


def test_density_counts_pairs_where_they_are():
    counts = density([*POLICIES, POLICIES[0]], 0)
    assert counts.sum() == 3
    assert counts[int(0.595 * CELLS), int(0.395 * CELLS)] == 2
    assert counts[int(0.095 * CELLS), int(0.895 * CELLS)] == 1


def test_density_keeps_policies_on_the_edge_and_those_rounded_beyond_it():
    certain = LabelPolicy(("A", "B"), ((1e-7, -700.0), (-700.0, 0.0)) * 2 + ((0.0, -700.0),))
    assert [np.argwhere(density([certain], i)).tolist() for i in (0, 1)] == [[[CELLS - 1, 0]], [[0, CELLS - 1]]]


@pytest.mark.parametrize("ending", [*FORMATS, ".PNG"])
def test_files(tmp_path, ending):
    path = tmp_path / f"labels{ending}"
    save_as(path, draw())
    first = path.read_bytes()
    assert first[:4] in (b"\x89PNG", b"%PDF", b"<?xm")
    save_as(path, draw())
    assert path.read_bytes() == first
    assert "matplotlib.pyplot" not in sys.modules


def test_what_is_written_on_it(tmp_path):
    save_as(tmp_path / "labels.svg", draw())
    text = (tmp_path / "labels.svg").read_text()
    for words in (*PROMPTS, "P(cooperate)", "P(defect)", "wanted: P(cooperate) = 0.75", "nearest pair: H/K"):
        assert words in text


def test_actions_that_look_like_markup(tmp_path):
    save_as(tmp_path / "labels.svg", draw(actions=(r"$\frac{$", "_<b>$2$")))
    text = (tmp_path / "labels.svg").read_text()
    assert r"P($\frac{$) = 0.75" in text
    assert "P(_&lt;b&gt;$2$)" in text


def test_no_target_and_a_title_that_is_long_or_looks_like_markup(tmp_path):
    save_as(tmp_path / "labels.svg", draw(title=r"$\frac{1}{ " + "x" * 300, target=None))
    text = (tmp_path / "labels.svg").read_text()
    assert "wanted" not in text
    assert "x" * 100 not in text
