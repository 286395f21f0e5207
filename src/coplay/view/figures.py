"""Curves as inline SVG: of one run, and of several over one another. They are drawn one at a time, since matplotlib's settings are global."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coplay.report.canvas import WIDTH, add_axes, new_figure, style
from coplay.report.data import Arm, RunData
from coplay.report.palette import state_colour
from coplay.report.svg import inline
from coplay.report.training_plot import line_box, line_panel, reward_svg, state_svg
from coplay.view.reading import Kept

MOST_METRICS = 8
"""Rewards that are compared: one a seat, or one a learner."""

PATIENCE = 10.0
"""A figure of a run that is training is drawn again after so many times as long as it took to draw it."""


@dataclass(frozen=True)
class Drawn:
    """What was drawn, and when."""

    svgs: tuple[Markup, ...]
    """The figures."""
    state: Hashable
    """The state of the files that they show."""
    stale: float
    """The time from which they may be drawn again."""


class Figures:
    """Figures that were drawn, and the lock for drawing."""

    def __init__(self) -> None:
        self._drawing = threading.Lock()
        self._kept: Kept[Drawn] = Kept(32)

    def get(self, key: Hashable, state: Hashable, draw: Callable[[], Sequence[str]]) -> tuple[Markup, ...]:
        """The figures of a key, drawn again if the state of the files is another and the last time is not too near.

        Args:
            key: what they show.
            state: the state of the files.
            draw: returns them as SVG.
        """
        with self._drawing:
            known = self._kept.get(key, None, lambda: Drawn((), None, 0.0))
            now = time.monotonic()
            if known.state == state or now < known.stale:
                return known.svgs
            svgs = tuple(Markup(svg) for svg in draw())
            took = time.monotonic() - now
            drawn = Drawn(svgs, state, time.monotonic() + PATIENCE * took)
            self._kept.put(key, None, drawn)
            return svgs

    def is_drawn(self, key: Hashable, state: Hashable) -> bool:
        """Whether the figures of a key show this state of the files."""
        return self._kept.get(key, None, lambda: Drawn((), None, 0.0)).state == state


def training_curves(run: RunData) -> list[str]:
    """Reward per step and state visitation of a run over its trials."""
    arm = Arm(run.path.name, run.path.name, run)
    curves = [reward_svg(arm, [arm], prefix="r")]
    return [*curves, state_svg(arm, [arm], prefix="s")] if run.states else curves


def compared_curves(runs: Sequence[RunData], labels: Sequence[str]) -> list[str]:
    """For each seat, or learner, the rewards of all runs over one another."""
    metrics = dict.fromkeys(metric for run in runs for metric, _ in run.reward_lines)
    longest = max(runs, key=lambda run: run.last_step)
    return [
        _compared(metric, runs, labels, longest, prefix=f"c{i}") for i, metric in enumerate([*metrics][:MOST_METRICS])
    ]


def _compared(metric: str, runs: Sequence[RunData], labels: Sequence[str], longest: RunData, *, prefix: str) -> str:
    who = metric.removeprefix("reward/")
    lines = [
        (i, run.series(metric), label)
        for i, (run, label) in enumerate(zip(runs, labels, strict=True))
        if metric in run.metric_names()
    ]
    height, top = line_box([label for *_, label in lines])
    with style():
        figure = new_figure(WIDTH, height)
        line_panel(
            add_axes(figure, height, top),
            longest,
            [(series, label) for _, series, label in lines],
            y_label=f"reward per step, {who}",
            colour_of=lambda i: state_colour(lines[i][0]),
        )
        return inline(figure, prefix=prefix, label=f"Reward per step of {who} over trials, of {len(lines)} runs")
