"""An audit's files: ``audit.json``, ``junit.xml`` for CI systems, and the card, ``report.html``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

from coplay.auditing.card import card
from coplay.auditing.gate import Check, Judgement
from coplay.auditing.record import VERSION, Audit, AuditRecord, MeasureRecord
from coplay.errors import UsageError
from coplay.files.reading import as_object, expected_shape, parse_json, read_bytes
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory, write_file
from coplay.runs.directory import is_taken

RECORD, JUNIT, PAGE = "audit.json", "junit.xml", "report.html"
"""The files."""


def record_of(audit: Audit, judgement: Judgement) -> AuditRecord:
    """As ``audit.json`` has it."""
    return {
        "version": VERSION,
        "player": audit.player,
        "game": audit.game,
        "rounds": audit.rounds,
        "verdict": judgement.verdict,
        "reasons": judgement.reasons,
        "measures": [one.to_dict() for one in audit.measures],
        "notes": list(audit.notes),
    }


def refuse_taken(out: Path) -> None:
    """An audit never overwrites anything; raises UsageError."""
    if is_taken(out):
        raise UsageError(f"{out} exists already; choose another --out")


def write_audit(audit: Audit, judgement: Judgement, out: Path) -> None:
    """Write all files of an audit into a new directory."""
    with new_directory(out) as temporary:
        store = Store(temporary, "audit")
        store.write(RECORD, json_text(record_of(audit, judgement)))
        store.write(JUNIT, junit(audit, judgement))
        store.commit(finished=True)
        write_file(temporary, PAGE, card(audit, judgement))


def read_audit(path: Path) -> AuditRecord:
    """Read an ``audit.json``, or the one in a directory.

    Raises:
        UsageError: if there is none, or it is damaged.
    """
    file = path / RECORD if path.is_dir() else path
    try:
        data = Store.open(path, "audit").read(RECORD) if path.is_dir() else read_bytes(path)
    except FileNotFoundError:
        raise UsageError(f"there is no audit {file}") from None
    found = as_object(parse_json(data, file), file, newest=VERSION)
    with expected_shape(file):
        found["measures"] = [_measure(one) for one in found["measures"]]
        found["game"], found["rounds"] = str(found["game"]), int(found["rounds"])
    return cast(AuditRecord, found)


def _measure(one: Mapping[str, Any]) -> MeasureRecord:
    """A measure of a file that somebody may have changed; raises ValueError, TypeError or KeyError."""
    for key in ("value", "ci95"):
        if one[key] is not None and not isinstance(one[key], int | float):
            raise TypeError(key)
    int(one["budget"].get("trials", 0))
    return {
        "name": str(one["name"]),
        "co_player": str(one["co_player"]),
        "budget": dict(one["budget"]),
        "value": one["value"],
        "ci95": one["ci95"],
        "n_seeds": int(one["n_seeds"]),
        "effective_n": int(one["effective_n"]),
        "kind": one["kind"],
    }


def junit(audit: Audit, judgement: Judgement) -> str:
    """JUnit XML: a test case for each threshold and each comparison. What could not be measured is an error and no success; without a gate the audit is skipped."""
    cases = judgement.checks or (Check("no gate was given", "unmeasured", "nothing was asked of it"),)
    failed = sum(one.grade == "failed" for one in cases)
    errors = sum(one.grade == "unmeasured" for one in judgement.checks)
    numbers: dict[str, Any] = {"tests": len(cases), "failures": failed, "errors": errors}
    numbers["skipped"] = 0 if judgement.checks else 1
    name = f"coplay audit: {audit.player} in {audit.game}"
    suite = ElementTree.Element("testsuite", {"name": _xml(name), **{key: str(n) for key, n in numbers.items()}})
    for one in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "audit", "name": _xml(one.name)})
        outcome = {"failed": "failure", "unmeasured": "error" if judgement.checks else "skipped"}.get(one.grade)
        if outcome is not None:
            ElementTree.SubElement(case, outcome, {"message": _xml(one.told)})
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(one.told)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(one if one in "\t\n" or (one >= " " and one not in "\ufffe\uffff") else "\ufffd" for one in text)
