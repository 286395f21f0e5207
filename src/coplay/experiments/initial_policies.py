"""First policies before and after alignment: what ShapeLLM's Figure 10 shows, measured once and kept, and their page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.experiments.align import OWN
from coplay.experiments.catalogue import arm_of
from coplay.experiments.labels import LabelPolicy, measure, prompt_names
from coplay.experiments.preparations import prepared
from coplay.files.kinds import newest_version
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.files.writing import json_text, write_file
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import ROW
from coplay.models.known import EMBEDDED
from coplay.models.loading import load_model
from coplay.recipes.experiments import Alignment, FigureSpec
from coplay.terminal.streams import tell

if TYPE_CHECKING:
    from coplay.experiments.request import Reproduction
    from coplay.runs.config import Config


@dataclass(frozen=True)
class FirstPolicies:
    """Where one model starts."""

    title: str
    """Which model, and whether it was aligned."""
    labels: tuple[str, str]
    """The game's own labels, which alignment was trained on."""
    policies: tuple[LabelPolicy, ...]
    """One a pair of labels."""

    def illegal(self, *, own: bool = False) -> float:
        """Mean probability of a reply that is no label, over the five prompts and all pairs, or with the game's own labels alone."""
        chosen = [policy for policy in self.policies if not own or policy.labels == self.labels]
        values = [value for policy in chosen for value in policy.illegal]
        return sum(values) / len(values)


POLICIES = "first-policies.json"
"""Where an experiment's directory keeps them."""


def measure_first_policies(figure: FigureSpec, reproduction: Reproduction) -> None:
    """Measure the first model, the second one, and the second one aligned to the first; what is there is kept.

    The figure's first panel's arm says which models.
    """
    request, out = reproduction.request, reproduction.out
    store = Store.open(out, "experiment")
    if store.has(POLICIES):
        return
    arm = arm_of(figure.panels[0])
    assert isinstance(arm.preparation, Alignment)
    config = request.config(arm)
    start = prepared(arm, reproduction)
    target = request.align_to or arm.preparation.targets[request.scale]
    shown: list[tuple[str, str, Path | None]] = [] if target == OWN else [(target, target, None)]
    ending = "its own policy" if target == OWN else target
    shown += [(config.model, config.model, None), (f"{config.model}, aligned to {ending}", config.model, start)]
    models = []
    for title, name, adapter in shown:
        if not reproduction.quiet:
            tell(f"first policies of {title}")
        models.append({"title": title, **_measured(name, config, adapter)})
    labels = matrix_game(str(config.game)).labels[ROW]
    data = {"version": newest_version(POLICIES), "game": config.game, "labels": list(labels), "models": models}
    store.replace(POLICIES, json_text(data))


def _measured(name: str, config: Config, adapter: Path | None) -> dict[str, object]:
    loaded = load_model(name, four_bit=config.four_bit)
    found = measure(loaded, matrix_game(str(config.game)), seat=ROW, adapter=adapter)
    rows = [{"labels": policy.labels, "logprobs": policy.logprobs} for policy in found.policies]
    return {"policies": rows, "skipped": found.skipped}


def first_policies(out: Path) -> list[FirstPolicies]:
    """What :func:`measure_first_policies` kept; raises UsageError if there is nothing."""
    data = Store.open(out, "experiment").read_object(POLICIES)
    with expected_shape(out / POLICIES):
        labels = tuple(data["labels"])
        found = [
            FirstPolicies(
                model["title"],
                labels,
                tuple(_policy(row["labels"], row["logprobs"]) for row in model["policies"]),
            )
            for model in data["models"]
        ]
        if not all(any(policy.labels == labels for policy in one.policies) for one in found):
            raise ValueError(f"the labels {labels} are not among those of a model")
        return found


def _policy(labels: Sequence[str], logprobs: Sequence[tuple[float, float]]) -> LabelPolicy:
    first, second = map(str, labels)
    return LabelPolicy((first, second), tuple((float(a), float(b)) for a, b in logprobs))


def write_first_policies_page(out: Path, figure: FigureSpec, models: Sequence[FirstPolicies]) -> Path:
    """Write ``report.html`` and the figure as PNG and PDF, models in their order; returns the path of the page."""
    from markupsafe import Markup

    from coplay.experiments.label_plot import label_rows_figure
    from coplay.report.canvas import save, style
    from coplay.report.page import environment, styles
    from coplay.report.svg import inline

    game = matrix_game(figure.panels[0].game)
    rows = [(model.title, model.policies) for model in models]
    actions = (game.actions[ROW][0], game.actions[ROW][1])
    drawn = label_rows_figure(rows, actions=actions, prompts=prompt_names(game, ROW))
    save(drawn, out, figure.name)
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
    write_file(out, "report.html", environment().get_template("first_policies.html.j2").render(context))
    return out / "report.html"
