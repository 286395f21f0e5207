"""Draw the profit gain of learning firms over training, by mediator, from the published curves.

python scripts/firms_figure.py docs/images/learning-firms.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from coplay.recipes.mediation.firms import EPISODES
from coplay.recipes.mediation.firms_table import ARMS, random_gain
from coplay.report.canvas import save_as
from coplay.report.checkpoint_plot import Checkpoint, CheckpointPanel, checkpoint_figure
from coplay.report.data import load_run
from coplay.statistics import mean_ci95

RESULTS = Path(__file__).resolve().parent.parent / "results" / "mediation" / "firms"

TRIALS = 5
"""Trials of a point."""

LABELS = {
    "q-firms": "no mediator",
    "q-firms-coin": "notices by chance",
    "q-firms-fine": "fine always",
    "q-firms-thresh": "fine above .30",
    "q-firms-ppo": "PPO",
}
"""What the legend calls the arms."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the picture, e.g. docs/images/learning-firms.png")
    out: Path = parser.parse_args(arguments).out
    families = {LABELS[arm]: curve(arm) for arm in ARMS}
    panel = CheckpointPanel("profit gain of Q-learning firms", families, {"random": random_gain()})
    save_as(out, checkpoint_figure([[panel]], of="profit gain"))
    return 0


def curve(arm: str) -> list[Checkpoint]:
    """Means over seeds of the profit gain, before fines, for each few trials of 500 rounds."""
    run = load_run(RESULTS / arm)
    curves = [
        [float(str(one["collective/profit_gain"])) for one in run.metrics if one["seed"] == seed] for seed in run.seeds
    ]
    points = []
    for end in range(TRIALS, EPISODES + 1, TRIALS):
        interval = mean_ci95([sum(gains[end - TRIALS : end]) / TRIALS for gains in curves])
        points.append(Checkpoint(end, interval.mean, interval.half_width))
    return points


if __name__ == "__main__":
    raise SystemExit(main())
