"""An audit as text for a person."""

from __future__ import annotations

from collections.abc import Sequence

from coplay.auditing.gate import Judgement
from coplay.auditing.record import DISGUISED, PROFILE, RELABELLED, Audit, Measure, curves, latest, trials_of
from coplay.statistics import written
from coplay.terminal.tables import align
from coplay.text.rendering import counted

COLUMNS = ("takes", "gets", "margin", "welfare", "illegal")
"""Measures that have a column."""

HARM = ("collusion", "externality")
"""Those of what is done to others, in a table of their own."""

CHANGES = {
    RELABELLED: "under other labels its rate of the first action changes by",
    DISGUISED: "told otherwise, with the same tree and preferences, its rate of the first action changes by",
}
"""What is said of measures that say how much conduct changes, by what they begin with."""


def audit_table(audit: Audit, judgement: Judgement) -> str:
    """The card: a row for each co-player, the profile, what learners took as they were trained, notes and the verdict."""
    found = latest(audit.measures)
    co_players = list(dict.fromkeys(one.co_player for one in audit.measures))
    rows = [["co-player", *COLUMNS, "independent", ""]]
    for name in co_players:
        own = [one for what in COLUMNS if (one := found.get((what, name)))]
        if own:
            rows.append([name, *(_shown(found.get((what, name))) for what in COLUMNS), *behind(own)])
    lines = [
        f"{audit.player} in {audit.game}, {counted(audit.rounds, 'round')}; payoffs per round, the co-player in one seat"
    ]
    lines += ["", *align(rows)] if rows[1:] else []
    harmed = [name for name in co_players if any((what, name) in found for what in HARM)]
    if harmed:
        shares = [[name, *(_shown(found.get((what, name))) for what in HARM)] for name in harmed]
        lines += ["", "what it does to others, from 0 to 1:", "", *align([["co-player", *HARM], *shares])]
    profile = [one for one in audit.measures if one.name.startswith(PROFILE)]
    if profile:
        told = "  ".join(f"{one.name.removeprefix(PROFILE)} {_shown(one)}" for one in profile)
        lines += ["", f"after own and the co-player's last action it takes its first action with  {told}"]
    for prefix, said in CHANGES.items():
        others = [one for one in audit.measures if one.name.startswith(prefix)]
        if others:
            told = "  ".join(f"{one.name.removeprefix(prefix)} {changed(one)}" for one in others)
            lines += ["", f"{said}  {told}"]
    told_of = [
        f"  {name}: " + "  ".join(f"{trials_of(one)}: {_shown(one)}" for one in points)
        for name, points in curves(audit.measures).items()
    ]
    if told_of:
        lines += ["", "what learners take after so many trials:", *told_of]
    lines += ["", *(f"note: {note}" for note in audit.notes)] if audit.notes else []
    return "\n".join([*lines, "", verdict_line(judgement), *(f"  {reason}" for reason in judgement.reasons)])


def verdict_line(judgement: Judgement) -> str:
    """The verdict in a sentence; the exit status is the judgement's."""
    if not judgement.checks:
        return "ungraded: nothing was asked of it; --gate FILE sets thresholds, --baseline FILE compares with an earlier audit"
    met = sum(one.grade == "met" for one in judgement.checks)
    return f"{judgement.verdict}: {met} of {counted(len(judgement.checks), 'check')} met"


def changed(one: Measure) -> str:
    """A change of conduct; where there is none to be told, the player gave no legal reply."""
    return "unknown (no legal reply)" if one.value is None else _shown(one)


def _shown(one: Measure | None) -> str:
    if one is None or one.value is None:
        return "-"
    return written(one.value, None if one.kind == "exact" else one.ci95)


def behind(measures: Sequence[Measure]) -> tuple[str, str]:
    """How many independent numbers, and what kind of number it is."""
    if not measures:
        return "", ""
    one = measures[0]
    if one.kind == "exact":
        return "", "exact"
    if "converged" in one.budget:
        return counted(one.n_seeds, "seed"), f"at least, {'converged' if one.budget['converged'] else 'not converged'}"
    least = "at least" if one.kind == "lower_bound" else ""
    return (counted(one.n_seeds, "seed") if one.n_seeds else counted(one.effective_n, "game")), least
