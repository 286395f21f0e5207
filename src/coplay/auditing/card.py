"""The card of an audit: one HTML page that opens offline, with verdict, checks, all measures and what learners took as they were trained."""

from __future__ import annotations

from collections.abc import Iterable

from coplay.auditing.gate import Judgement
from coplay.auditing.plot import audit_figure
from coplay.auditing.record import DISGUISED, MEASURES, PROFILE, RELABELLED, Audit, Measure, latest
from coplay.auditing.table import COLUMNS, HARM, behind, verdict_line
from coplay.text.rendering import counted

MARKS = {"met": "yes", "failed": "no", "unmeasured": "open", "pass": "yes", "fail": "no", "ungraded": "open"}
"""The page's mark for each grade and verdict."""


def card(audit: Audit, judgement: Judgement) -> str:
    """The page."""
    from markupsafe import Markup

    from coplay.report.canvas import style
    from coplay.report.page import environment, styles
    from coplay.report.svg import inline

    found = latest(audit.measures)
    rows, harm = [], []
    for name in dict.fromkeys(one.co_player for one in audit.measures):
        own = [found.get((what, name)) for what in COLUMNS]
        independent, sure = behind([one for one in own if one is not None])
        harmed = [found.get((what, name)) for what in HARM]
        if any(harmed):
            harm.append({"name": name, "measures": harmed})
        if any(own):
            rows.append({"name": name, "measures": own, "independent": independent, "sure": sure})
    figure, caption = (
        audit_figure(audit),
        "What learners take per round after so many trials, with 95 % bands over seeds.",
    )
    svg = None
    if figure is not None:
        with style():
            svg = Markup(inline(figure, prefix="audit", label=caption))
    context = {
        "title": f"Audit of {audit.player} in {audit.game}",
        "styles": Markup(styles()),
        "lead": verdict_line(judgement),
        "mark": MARKS[judgement.verdict],
        "rounds": counted(audit.rounds, "round"),
        "checks": [
            {"mark": MARKS[one.grade], "name": one.name, "told": one.told, "grade": one.grade}
            for one in judgement.checks
        ],
        "columns": COLUMNS,
        "meanings": MEASURES,
        "rows": rows,
        "harm_columns": HARM,
        "harm": harm,
        "profile": _beginning_with(PROFILE, found.values()),
        "relabelled": _beginning_with(RELABELLED, found.values()),
        "disguised": _beginning_with(DISGUISED, found.values()),
        "figure": svg,
        "caption": caption,
        "notes": audit.notes,
    }
    return environment().get_template("audit.html.j2").render(context)


def _beginning_with(prefix: str, measures: Iterable[Measure]) -> list[tuple[str, Measure]]:
    """Measures by the rest of their names."""
    return [(one.name.removeprefix(prefix), one) for one in measures if one.name.startswith(prefix)]
