"""The page of a probe: the figure, and the same as tables with intervals."""

from __future__ import annotations

from pathlib import Path

from coplay.experiments.probe import EVEN, FILE, Probe
from coplay.experiments.probe_plot import probe_figure
from coplay.experiments.probe_summary import biases, policies, short_states
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory, write_file
from coplay.models.known import EMBEDDED
from coplay.report.canvas import save, style
from coplay.report.page import environment, styles
from coplay.report.svg import inline

FIGURE = "probe"
"""Name of the figure's files."""


def write_probe(probe: Probe, out: Path) -> Path:
    """Make a new directory with ``probe.json`` and its page; returns the path of the page. It is there whole or not at all.

    Raises:
        UsageError: if something is there already.
    """
    with new_directory(out) as temporary:
        write_probe_page(probe, temporary)
        store = Store(temporary, "probe")
        store.write(FILE, json_text(probe.record()))
        store.commit(finished=True)
    return out / "report.html"


def write_probe_page(probe: Probe, out: Path) -> Path:
    """Write ``report.html`` and the figure as PNG and PDF; returns the path of the page."""
    from markupsafe import Markup

    drawn = probe_figure(probe)
    save(drawn, out, FIGURE)
    caption = "Probability of the first action among the legal replies, by last joint action, own first."
    with style():
        svg = inline(drawn, prefix="probe", label=caption)
    found, about_words = policies(probe), {bias.game: bias for bias in biases(probe)}
    games = [
        {
            "name": game,
            "actions": actions,
            "states": short_states(actions),
            "policies": [policy for policy in found if policy.game == game],
            "bias": about_words[game],
        }
        for game, actions in probe.actions.items()
    ]
    context = {
        "title": f"First policies of {probe.title}",
        "caption": caption,
        "styles": Markup(styles()),
        "figure": Markup(svg),
        "stand_in": probe.model if probe.model in EMBEDDED else None,
        "games": games,
        "pairs": probe.pairs,
        "skipped": ", ".join("/".join(pair) for pair in probe.skipped),
        "even": EVEN,
    }
    write_file(out, "report.html", environment().get_template("probe.html.j2").render(context))
    return out / "report.html"
