"""The overview: many experiments on one page, the paper's tables beside ours, with links to each experiment's own page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from markupsafe import Markup

from coplay.evaluation.claims import verdict_counts
from coplay.experiments.pages import ExperimentPage, FigurePage
from coplay.files.writing import write_file
from coplay.models.known import EMBEDDED
from coplay.report.page import environment, styles


def write_overview(
    out: Path,
    summaries: Sequence[ExperimentPage],
    *,
    title: str,
    missing: Sequence[str] = (),
    figures: Sequence[FigurePage] = (),
) -> Path:
    """Write ``report.html`` about finished experiments and figures, whose own pages lie below ``out``; returns its path.

    ``missing`` has the titles of what is not finished yet.
    """
    claims = [claim for summary in summaries for claim in summary.claims]
    context = {
        "title": title,
        "styles": Markup(styles()),
        "claims": verdict_counts(claims) if claims else "",
        "model": ", ".join(sorted({claim.model for claim in claims})),
        "stand_in": next((claim.model for claim in claims if claim.model in EMBEDDED), None),
        "missing": list(missing),
        "figures": [{"title": page.figure.title, "link": page.report.relative_to(out).as_posix()} for page in figures],
        "experiments": [_experiment(summary, out) for summary in summaries],
    }
    write_file(out, "report.html", environment().get_template("overview.html.j2").render(context))
    return out / "report.html"


def _experiment(summary: ExperimentPage, out: Path) -> dict[str, object]:
    labels = {arm.name: arm.label for arm in summary.experiment.arms}
    rows = []
    for row in summary.rows:
        arm, _, rounds = row.arm.partition("@")
        label = labels[arm] + (f", {rounds} rounds" if rounds else "")
        rows.append({**asdict(row), "arm": label})
    return {
        "title": summary.experiment.title,
        "name": summary.experiment.name,
        "link": summary.report.relative_to(out).as_posix(),
        "lead": summary.lead,
        "rows": rows,
        "measures": any(not row.seat for row in summary.rows),
        "models": summary.experiment.models or ("",),
        "claims": summary.claims,
    }
