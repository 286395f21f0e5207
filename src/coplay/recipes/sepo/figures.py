"""SEPO's Figure 1, as the runs of its tables. Figure 2 is a drawing of the pipeline."""

from __future__ import annotations

from coplay.recipes.experiments import FigureSpec, Panel
from coplay.recipes.sepo.tables import COLUMNS

_TABLES = {"ipd-8": 2, "auction": 3, "negotiation-v1": 4, "negotiation-v2": 4, "kuhn": 5}
"""The table of each game."""

FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "sepo/figure1",
        "SEPO, Figure 1: safety improvement over the base model",
        "Safety (the objective J with the weights of Table 1) of SEPO's selected checkpoint minus that of the model before any training, game by"
        " game: the mean over seeds with its 95 % interval, a dot a seed, and the paper's models as far as its tables have them.",
        tuple(
            Panel(f"sepo/table{number}", game, arm, game)
            for game, number in _TABLES.items()
            for arm in ("base", "sepo")
        ),
        columns=2,
        shows=("gain",),
        row=COLUMNS["safety"],
        text_only=True,
    ),
)
"""All of them."""
