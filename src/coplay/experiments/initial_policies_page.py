"""The page of first policies, before and after alignment, with its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from coplay.experiments.initial_policies import FirstPolicies
from coplay.experiments.label_plot import label_rows_figure
from coplay.experiments.labels import prompt_names
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import ROW
from coplay.models.loading import EMBEDDED
from coplay.recipes.experiments import FigureSpec
from coplay.report.canvas import save, style
from coplay.report.page import environment, styles
from coplay.report.svg import inline


def write_first_policies_page(out: Path, figure: FigureSpec, models: Sequence[FirstPolicies]) -> Path:
    """Write ``report.html`` and the figure as PNG and PDF, models in their order; returns the path of the page."""
    game = matrix_game(figure.panels[0].game)
    rows = [(model.title, model.policies) for model in models]
    actions = (game.actions[ROW][0], game.actions[ROW][1])
    drawn = label_rows_figure(rows, actions=actions, prompts=prompt_names(game, ROW))
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    save(drawn, folder, figure.name)
    with style():
        svg = inline(drawn, prefix="fp", label=figure.caption)
    context = {
        "title": figure.title,
        "caption": figure.caption,
        "styles": Markup(styles()),
        "figure": Markup(svg),
        "stand_in": any(model.title in EMBEDDED for model in models),
        "models": [
            {"title": m.title, "pairs": len(m.policies), "illegal": m.illegal(), "own": m.illegal(own=True)}
            for m in models
        ],
        "labels": "/".join(models[0].labels),
    }
    path = out / "report.html"
    path.write_bytes(environment().get_template("first_policies.html.j2").render(context).encode("utf-8", "replace"))
    return path
