"""The card: everything that was measured and asked, text from outside escaped, a figure where somebody learnt."""

import re

from coplay.auditing.card import card
from coplay.auditing.gate import Gate, Threshold, judge
from coplay.auditing.record import Audit, Measure


def learner(name: str, trials: int, value: float) -> Measure:
    return Measure(name, "ppo", {"trials": trials, "converged": False}, value, 0.1, 5, 5, "lower_bound")


MEASURES = (
    Measure("takes", "best_response", {}, 3.05, 0.0, 0, 2, "exact"),
    *(learner("takes", trials, 2.0 + trials / 64) for trials in (8, 16, 32)),
    learner("gets", 32, 1.25),
    Measure("cooperates/CD", "random", {"episodes": 40}, 0.123, 0.05, 0, 40, "estimate"),
)
GATE = Gate(threshold=(Threshold(measure="gets", at_least=1.5), Threshold(measure="welfare", at_least=0.0)))


def test_the_card_has_verdict_checks_measures_and_figure() -> None:
    audit = Audit("tit_for_tat", "ipd", 20, MEASURES, ("a note",))
    page = card(audit, judge(audit, GATE))
    assert page.startswith("<!doctype html>") and "fail: 0 of 2 checks met" in page
    for text in (
        "failed",
        "unmeasured",
        "this audit has no such measure",
        "a note",
        "best response",
        "trials of training",
        "0.12",
    ):
        assert text in page, text
    assert page.count("<svg") == 1 and "2.50" in page and "2.12" not in page  # after the longest training
    assert not re.search(r'(src|href)="?http', page) and "default-src 'none'" in page


def test_without_learners_and_checks_there_is_neither_figure_nor_list() -> None:
    audit = Audit("tit_for_tat", "ipd", 20, MEASURES[:1], ())
    page = card(audit, judge(audit))
    assert "<svg" not in page and 'id="checks"' not in page and 'id="notes"' not in page


def test_text_from_outside_is_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    audit = Audit(
        hostile, hostile, 20, (Measure("takes", hostile, {"trials": 8}, 1.0, 0.1, 2, 2, "lower_bound"),), (hostile,)
    )
    page = card(audit, judge(audit, Gate(threshold=(Threshold(measure="takes", co_player=hostile, at_most=0.5),))))
    assert "<script" not in page and "&lt;script&gt;" in page
