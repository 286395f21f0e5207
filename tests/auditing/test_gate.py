"""Gates and baselines: one place decides verdict and exit status, and nothing that was not measured passes."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.auditing.gate import Gate, Threshold, judge, read_gate
from coplay.auditing.record import Audit, AuditRecord, Kind, Measure
from coplay.auditing.result import AuditResult
from coplay.auditing.written import record_of
from coplay.errors import UsageError


def measure(
    value: float | None, ci95: float | None = 0.1, name: str = "margin", co_player: str = "ppo", **budget: object
) -> Measure:
    kind: Kind = "exact" if ci95 == 0.0 else "estimate"
    return Measure(name, co_player, budget, value, ci95, 5, 5, kind)


def audit(*measures: Measure) -> Audit:
    return Audit("somebody", "ipd", 20, measures, ())


def gate(**threshold: Any) -> Gate:
    return Gate(threshold=(Threshold(measure="margin", **threshold),))


@pytest.mark.parametrize(
    ("value", "ci95", "limits", "verdict", "status"),
    [
        (0.3, 0.1, {"at_most": 0.5}, "pass", 0),
        (0.3, 0.3, {"at_most": 0.5}, "fail", 2),  # its bad end is above
        (0.3, 0.0, {"at_most": 0.3}, "pass", 0),
        (0.3, 0.1, {"at_least": 0.1}, "pass", 0),
        (0.3, 0.3, {"at_least": 0.1}, "fail", 2),
        (0.3, None, {"at_most": 9.0}, "ungraded", 1),  # one independent sample
        (None, None, {"at_most": 9.0}, "ungraded", 1),
        (0.3, 0.1, {"at_most": 0.5, "co_player": "q_learning"}, "ungraded", 1),  # no such measure
    ],
)
def test_a_threshold_is_about_the_bad_end(
    value: float | None, ci95: float | None, limits: dict[str, Any], verdict: str, status: int
) -> None:
    found = judge(audit(measure(value, ci95)), gate(**limits))
    assert (found.verdict, found.status) == (verdict, status)
    assert bool(found.reasons) == (verdict != "pass")


def test_of_a_learner_the_longest_training_counts() -> None:
    measures = (measure(0.1, trials=8), measure(2.0, trials=64), measure(0.1, trials=16))
    assert judge(audit(*measures), gate(at_most=1.0)).verdict == "fail"


def test_a_failure_outweighs_what_could_not_be_measured() -> None:
    both = Gate(threshold=(Threshold(measure="margin", at_most=0.0), Threshold(measure="welfare", at_least=0.0)))
    assert judge(audit(measure(1.0)), both).verdict == "fail"


def test_without_a_gate_nothing_is_graded_and_the_command_has_succeeded() -> None:
    found = judge(audit(measure(1.0)))
    assert (found.verdict, found.status) == ("ungraded", 0)


def baseline(*measures: Measure) -> AuditRecord:
    before = audit(*measures)
    return record_of(before, judge(before))


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (measure(1.0, 0.3), measure(1.4, 0.3), "pass"),  # within sqrt(.18) = .42
        (measure(1.0, 0.3), measure(1.5, 0.3), "fail"),
        (measure(1.0, 0.3), measure(0.1, 0.3), "pass"),  # better
        (measure(3.0, 0.1, "gets"), measure(2.5, 0.1, "gets"), "fail"),  # larger is better
        (measure(3.0, 0.0, "gets"), measure(2.99, 0.0, "gets"), "fail"),
        (measure(3.0, None, "gets"), measure(3.0, None, "gets"), "pass"),
        (measure(3.0, None, "gets"), measure(2.0, None, "gets"), "ungraded"),
        (measure(3.0, 0.1, "gets"), measure(3.0, 0.1, "welfare"), "ungraded"),
        (
            measure(1.0, 0.0, "cooperates"),
            measure(0.0, 0.0, "cooperates"),
            "ungraded",
        ),  # conduct is neither good nor bad
    ],
)
def test_a_baseline_tells_a_regression_from_noise(before: Measure, now: Measure, verdict: str) -> None:
    assert judge(audit(now), None, baseline(before)).verdict == verdict


def test_a_baseline_of_another_game_is_refused() -> None:
    other = {**baseline(measure(1.0)), "game": "kuhn"}
    with pytest.raises(UsageError, match="compare like with like"):
        judge(audit(measure(1.0)), None, other)  # type: ignore[arg-type]


numbers = st.one_of(st.none(), st.floats(-5, 5))
halves = st.one_of(st.none(), st.just(0.0), st.floats(0, 2))
names = st.sampled_from(["takes", "gets", "margin"])
measures = st.builds(measure, numbers, halves, names, st.sampled_from(["ppo", "random"]), trials=st.integers(8, 64))
thresholds = st.builds(
    lambda name, co_player, limit, most: Threshold(
        measure=name, co_player=co_player, **{"at_most" if most else "at_least": limit}
    ),
    names,
    st.sampled_from([None, "ppo", "random", "nobody"]),
    st.floats(-5, 5),
    st.booleans(),
)


@settings(max_examples=200)
@given(
    st.lists(measures, max_size=6),
    st.lists(thresholds, min_size=1, max_size=4),
    st.lists(measures, max_size=3),
    st.booleans(),
)
def test_what_is_printed_is_what_the_shell_gets(
    found: list[Measure], asked: list[Threshold], before: list[Measure], compares: bool
) -> None:
    """Verdict, exit status, audit.json, the table and the JUnit file never contradict each other."""
    of = audit(*found)
    result = AuditResult(of, judge(of, Gate(threshold=tuple(asked)), baseline(*before) if compares else None))
    verdict, status = result.verdict, result.judgement.status
    assert status == {"pass": 0, "ungraded": 1, "fail": 2}[verdict] and result.to_dict()["verdict"] == verdict
    (line,) = [line for line in result.table().splitlines() if line.startswith(("pass:", "fail:", "ungraded:"))]
    assert line.startswith(f"{verdict}:")
    from coplay.auditing.written import junit

    suite = ElementTree.fromstring(junit(of, result.judgement))
    failures, errors = int(suite.attrib["failures"]), int(suite.attrib["errors"])
    assert verdict == ("fail" if failures else "ungraded" if errors else "pass")
    assert len(suite.findall("testcase")) == int(suite.attrib["tests"]) == len(result.judgement.checks)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "threshold: Field required"),
        ("threshold = []", "at least 1 item"),
        ('[[threshold]]\nmeasure = "margin"', "one of them"),
        ('[[threshold]]\nmeasure = "margin"\nat_most = 1\nat_least = 0', "one of them"),
        ('[[threshold]]\nmeasure = "margin"\nat_mots = 1', "at_mots"),
        ('[[threshold]]\nmeasure = "margin"\nat_most = nan', "finite"),
        ('[[threshold]]\nmeasure = "margins"\nat_most = 1', "Did you mean 'margin'"),
        ('[[threshold]]\nmeasure = "margin"\nco_player = 3\nat_most = 1', "co_player"),
        ("threshold = [", "not TOML"),
    ],
)
def test_a_gate_file_with_a_mistake_is_told_in_a_line(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_gate(file)
    assert problem in str(caught.value) and "\n" not in str(caught.value) and "gate.toml" in str(caught.value)


def test_text_from_outside_does_not_leave_its_place(tmp_path: Path) -> None:
    """A player's name is data in XML and JSON."""
    of = Audit('<x onload="a">&\x00\ufffe', "ipd", 20, (measure(1.0),), ())
    result = AuditResult(of, judge(of, gate(at_most=0.0)))
    result.write(tmp_path / "out")
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert suite.attrib["name"].startswith('coplay audit: <x onload="a">&')
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["player"] == of.player
