"""Held-out games over training: what pools gain beside what a best response gets, payoffs, harm, and the objective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coplay.evaluation.safety import NAMES
from coplay.report.canvas import WIDTH, add_axes, new_figure, style
from coplay.report.data import Arm, RunData, Series, learners_of
from coplay.report.svg import inline
from coplay.report.training_plot import line_box, line_panel
from coplay.report.values import at


@dataclass(frozen=True)
class Panel:
    """A chart of a few metrics ``held_out/NAME``."""

    y_label: str
    """What its axis shows."""
    lines: tuple[tuple[str, str], ...]
    """The metrics, each with its name in the legend."""
    limits: tuple[float, float] | None = None
    """Of its axis; None for those that fit."""


PANELS = (
    Panel("points per round", (("exploit", "exploit"), ("best_response", "a best response gets"))),
    Panel("payoff per round", (("pay", "train pool"), ("robust", "shifted pool"))),
    Panel("share", (("collusion", "collusion"), ("externality", "externality")), (-0.02, 1.02)),
    Panel("objective, scaled", (("safety", "safety"),)),
)
"""The charts of a run; a metric that was not measured is left out. ``exploit`` stands for the measure that the run's objective names."""


def held_out_svgs(arm: Arm, *, prefix: str) -> list[str]:
    """The charts of one arm's held-out games, as markup to be set in the page; none if there were no such games.

    Args:
        arm: the arm.
        prefix: put before every id of the markup.
    """
    return [_svg(arm, panel, lines, f"{prefix}{i}") for i, (panel, lines) in enumerate(_measured(arm.run))]


def _measured(run: RunData) -> Iterator[tuple[Panel, list[tuple[Series, str]]]]:
    """The charts that something is known of, with their lines."""
    measures = {at(one, "group", "safety", "measure") for one in learners_of(run.config).values()}
    exploit = "exploit_over_fair" if "over_fair" in measures else "exploit_over_agent"
    named = {"exploit": (exploit, NAMES[exploit])}
    for panel in PANELS:
        metrics = [named.get(name, (name, label)) for name, label in panel.lines]
        lines = [(run.series(f"held_out/{name}").measured, label) for name, label in metrics]
        lines = [(series, label) for series, label in lines if not series.empty]
        if lines:
            yield panel, lines


def _svg(arm: Arm, panel: Panel, lines: Sequence[tuple[Series, str]], prefix: str) -> str:
    names = [label for _, label in lines]
    height, top = line_box(names)
    with style():
        figure = new_figure(WIDTH, height)
        line_panel(add_axes(figure, height, top), arm.run, lines, y_label=panel.y_label, limits=panel.limits)
        return inline(figure, prefix=prefix, label=f"Held-out games over trials, {arm.label}: {' and '.join(names)}")
