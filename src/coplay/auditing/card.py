"""The card of an audit: one HTML page that opens offline, with verdict, checks, all measures and what learners took as they were trained."""

from __future__ import annotations

from coplay.auditing.gate import Judgement
from coplay.auditing.plot import audit_figure
from coplay.auditing.record import MEASURES, PROFILE, RELABELLED, Audit, latest
from coplay.auditing.table import COLUMNS, behind, verdict_line
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
    rows = []
    for name in dict.fromkeys(one.co_player for one in audit.measures):
        own = [found.get((what, name)) for what in COLUMNS]
        independent, sure = behind([one for one in own if one is not None])
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
        "profile": [(one.name.removeprefix(PROFILE), one) for one in found.values() if one.name.startswith(PROFILE)],
        "relabelled": [
            (one.name.removeprefix(RELABELLED), one) for one in found.values() if one.name.startswith(RELABELLED)
        ],
        "figure": svg,
        "caption": caption,
        "notes": audit.notes,
    }
    return environment().get_template("audit.html.j2").render(context)
