"""Claims: three verdicts, decided by the interval; read back from files, older ones too."""

import json
import math
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.evaluation.claims import CheckedClaim, Claim, check_claims, verdict_counts
from coplay.evaluation.measures import (
    Measure,
    Results,
    SeedCount,
    action,
    action_margin,
    best_tenth,
    difference,
    first,
    late,
    mapped,
    margin,
    only_where,
    paired,
    per_round,
    per_round_of_all,
    replies_of,
    rounds_of,
    state,
    state_margin,
    versus,
)
from coplay.evaluation.rules import (
    Rule,
    at_least,
    at_most,
    ci_above,
    ci_below,
    every_seed_at_least,
    every_seed_at_most,
    every_seed_within,
    interval_of,
    within,
)
from coplay.evaluation.summary import Aggregate
from coplay.statistics import clopper_pearson, mean_ci95

WIDE = [1.0, 2.0, 3.0]
"""Mean 2 ± 2.48."""


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (at_least(1.0), [2.0, 2.1, 2.2], "holds"),
        (at_least(3.0), [2.0, 2.1, 2.2], "fails"),
        (at_least(1.0), WIDE, "undecided"),  # the mean is large enough, the interval's low end is not
        (at_least(3.0), WIDE, "undecided"),  # the mean is too small, the interval's high end is not
        (at_most(3.0), WIDE, "undecided"),
        (at_most(2.0), [2.0, 2.0, 2.0], "holds"),
        (within(2.0, 0.5), [2.1, 2.1, 2.1], "holds"),
        (within(2.0, 0.5), WIDE, "undecided"),
        (within(9.0, 0.5), WIDE, "fails"),
        (ci_above(0.0), [0.1, 0.2, 0.15], "holds"),
        (ci_above(0.0), WIDE, "undecided"),
        (ci_above(0.0), [0.0, 0.0, 0.0], "fails"),  # the bound itself is not above it
        (ci_below(0.0), [-0.1, -0.2, -0.15], "holds"),
        (ci_below(0.0), [0.1, 0.2, 0.15], "fails"),
        (every_seed_at_most(2.5), WIDE, "fails"),
        (every_seed_at_most(3.0), WIDE, "holds"),
        (at_least(1.0), [2.0], "holds"),  # one seed has no interval: its number decides,
        (at_least(3.0), [2.0], "fails"),
        (ci_above(0.0), [2.0], "undecided"),  # but not where the rule is about the interval
        (at_least(1.0), [2.0, math.nan], "undecided"),
        (every_seed_at_most(1.0), [2.0, math.nan], "undecided"),
    ],
)
def test_verdicts(rule: Rule, values: list[float], verdict: str) -> None:
    assert rule.verdict(values) == verdict


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (every_seed_within(0.0, 0.25), [1.0, -1.0], "fails"),  # locked at either end, a mean of 0
        (every_seed_within(0.0, 0.25), [0.1, -0.2], "holds"),
        (every_seed_at_least(0.9), [0.95, 0.89], "fails"),
        (every_seed_at_least(0.9), [0.95, 0.9], "holds"),
    ],
)
def test_every_seed_is_tested(rule: Rule, values: list[float], verdict: str) -> None:
    assert rule.verdict(values) == verdict


@pytest.mark.parametrize(
    ("margins", "verdict"),
    [([0.01, 0.01], "holds"), ([0.01, 0.1], "undecided"), ([0.2, 0.0], "undecided"), (None, "holds")],
)
def test_every_seeds_own_interval_decides(margins: list[float] | None, verdict: str) -> None:
    assert every_seed_at_most(0.15).verdict([0.0, 0.12], margins=margins) == verdict
    assert every_seed_at_most(0.15).verdict([0.0, 0.3], margins=margins) == "fails"


@pytest.mark.parametrize(
    ("values", "rule", "verdict", "interval"),
    [
        # Seeds themselves are counted: the exact interval alone. 0.025^(1/5) = 0.4782, 0.975^... by symmetry.
        ([1.0] * 5, at_least(0.75), "undecided", (0.025 ** (1 / 5), 1.0)),
        ([1.0] * 5, at_least(0.45), "holds", (0.025 ** (1 / 5), 1.0)),
        ([0.0] * 5, at_least(0.75), "fails", (0.0, 1 - 0.025 ** (1 / 5))),
        ([1.0] * 13, at_least(0.75), "holds", (0.025 ** (1 / 13), 1.0)),
    ],
)
def test_a_share_of_seeds_has_its_exact_interval(
    values: list[float], rule: Rule, verdict: str, interval: tuple[float, float]
) -> None:
    assert mean_ci95(values).half_width == 0.0  # the t-interval would decide every one of them
    assert interval_of(values, counted=len(values)) == pytest.approx(interval)
    assert rule.verdict(values, counted=len(values)) == verdict


@given(st.lists(st.integers(0, 40), min_size=2, max_size=6))
def test_an_interval_of_counted_things_is_never_shorter_than_either(counts: list[int]) -> None:
    values = [k / 40 for k in counts]
    low, high = interval_of(values, counted=40 * len(values)) or (math.nan, math.nan)
    exact, seeds = clopper_pearson(sum(counts), 40 * len(counts)), mean_ci95(values)
    assert 0.0 <= low <= exact.low <= exact.high <= high <= 1.0
    assert seeds.low is not None and seeds.high is not None
    assert low <= max(0.0, seeds.low) + 1e-12 and high >= min(1.0, seeds.high) - 1e-12


def test_no_illegal_reply_in_few_is_not_none_at_all() -> None:
    claim = Claim("a/b/c", "paper", "They are rare.", 0.0, lambda _: [0.0] * 5, at_most(0.01), lambda _: 100)
    (found,) = check_claims([claim], Results({}), model="m")
    assert found.verdict == "undecided" and found.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 100)))
    assert found.measured_text() == "0.00 [0.00, 0.04]"
    assert CheckedClaim.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_sentence_about_some_seeds_is_undecided_where_another_is_among_them() -> None:
    reward, goal = (lambda _: [0.01, 0.02]), (lambda _: [3.9, 1.0])
    (found,) = only_where(reward, goal, lambda value: value >= 3.5)(Results({}))[1:]
    assert math.isnan(found)
    assert only_where(reward, goal, lambda value: value >= 0.5)(Results({})) == [0.01, 0.02]


def test_the_best_tenth() -> None:
    assert best_tenth([0.0] * 10 + [2.0, 4.0] + [1.0] * 8) == 3.0
    assert best_tenth([5.0, math.nan]) == 5.0
    assert math.isnan(best_tenth([]))


def checked(values: list[float], rule: Rule) -> CheckedClaim:
    (found,) = check_claims([Claim("a/b/c", "paper", "It is so.", 3.0, lambda _: values, rule)], Results({}), model="m")
    return found


def test_a_checked_claim_is_read_back_as_it_was_written() -> None:
    found = checked([2.0, 2.1, 2.2], at_least(1.0))
    written = found.to_dict()
    assert (written["holds"], written["verdict"], written["n_seeds"]) == (True, "holds", 3)
    assert CheckedClaim.from_dict(written) == found
    assert str(found) == "    holds  2.10 ± 0.25 (paper 3.00)  It is so."


def test_files_older_than_the_verdict_are_read() -> None:
    written = checked([2.0, 2.1, 2.2], at_least(3.0)).to_dict()
    del written["verdict"], written["rule"]
    assert CheckedClaim.from_dict(written).verdict == "fails"
    assert CheckedClaim.from_dict({**written, "holds": True}).holds


def test_a_seed_without_legal_rounds_leaves_a_claim_undecided() -> None:
    found = checked([2.0, math.nan], at_least(1.0))
    assert (found.measured, found.ci95, found.verdict, found.holds) == (None, None, "undecided", False)
    assert "a seed without a number" in str(found)


def test_verdicts_are_counted() -> None:
    claims = [checked(values, at_least(2.5)) for values in (WIDE, [3.0], [2.0])]
    assert verdict_counts(claims) == "1 of 3 claims hold; 1 is undecided."
    assert verdict_counts(claims[1:]) == "1 of 2 claims hold."


@pytest.mark.parametrize(("holds", "verdict"), [(True, "holds"), (False, "fails"), (None, "undecided")])
def test_claims_older_than_verdicts_are_read(holds: bool | None, verdict: str) -> None:
    older = {"id": "a/b/c", "paper": "p", "claim": "x", "published": None, "measured": 1.0, "ci95": None, "n_seeds": 1}
    assert CheckedClaim.from_dict({**older, "model": "tiny", "holds": holds}).verdict == verdict


def test_a_diverged_seed_leaves_every_claim_about_its_arm_undecided() -> None:
    seat = {"player": "p", "total": 1.0, "per_round": 1.0, "ci95": None, "actions": {}, "illegal": 0.0}
    whole, torn = (
        cast("Aggregate", {"seeds": {seed: {"seats": {"row": seat}} for seed in seeds}}) for seeds in ("01", "0")
    )
    torn["diverged"] = {"1": {"step": 3, "reason": "it was not finite"}}
    results = Results({"whole": whole, "torn": torn}, lambda arm, metric: [[1.0, 1.0]] * 2)
    row = per_round("torn", "row")
    measures = {
        "value": row,
        "share": mapped(row, lambda reward: float(reward > 0.5)),
        "difference": difference(row, first("torn", "reward/row")),
        "paired": paired("whole", "torn", seat="row"),
        "late": late("torn", "reward/row"),
        "cross-play": versus("torn", "random"),
        "whole": per_round("whole", "row"),
    }
    claims = [Claim(name, "paper", "It is so.", None, measure, at_least(0.0)) for name, measure in measures.items()]
    found = {claim.id: claim for claim in check_claims(claims, results, model="m")}
    assert {name for name, claim in found.items() if claim.verdict == "undecided"} == set(measures) - {"whole"}
    assert found["value"].measured is None and found["value"].n_seeds == 2


def test_what_a_player_gets_from_itself_is_the_mean_over_the_seats() -> None:
    seeds = {
        str(seed): {"seats": {"alice": {"per_round": alice}, "bob": {"per_round": bob}}}
        for seed, (alice, bob) in enumerate([(2.0, 1.0), (3.0, 3.0), (1.0, None)])
    }
    results = Results({"arm": cast("Aggregate", {"seeds": seeds})})
    assert per_round_of_all("arm")(results) == pytest.approx([1.5, 3.0, math.nan], nan_ok=True)


def test_each_seeds_own_interval() -> None:
    seat = {"player": "p", "total": 1.0, "per_round": 1.0, "ci95": 0.2, "actions": {"heads": 0.5}, "illegal": 0.0}
    one = {"episodes": 100, "rounds": 20, "seats": {"row": seat}, "states": {"SS": 1.0, "HH": 0.0}}
    results = Results({"arm": cast("Aggregate", {"seeds": {"0": one}})})
    assert margin("arm", "row")(results) == [0.2]
    assert state_margin("arm", "SS")(results) == pytest.approx([1 - 0.025 ** (1 / 2000)])
    even = clopper_pearson(1000, 2000)
    assert action_margin("arm", "row", "heads")(results) == pytest.approx([even.high - 0.5])
    assert state("arm", "SS", "HH")(results) == [1.0] and action("arm", "row", "heads")(results) == [0.5]
    assert (rounds_of("arm")(results), replies_of("arm")(results), SeedCount(state("arm", "SS"))(results)) == (
        2000,
        2000,
        1,
    )


@pytest.mark.parametrize(("rule", "fewest"), [(at_least(0.5), 6), (at_least(0.75), 13), (at_most(0.1), 36)])
def test_how_many_seeds_a_share_of_them_takes(rule: Rule, fewest: int) -> None:
    """All of n seeds have the exact interval from 0.025^(1/n) on; none of them, from 0 to 1 - 0.025^(1/n)."""
    bound = rule.low if math.isfinite(rule.low) else 1 - rule.high
    assert fewest == math.ceil(math.log(0.025) / math.log(bound)) == rule.fewest_seeds()
    assert rule.fewest_seeds(most=fewest - 1) is None

    def check(n: int, *, seeds_are_counted: bool = True) -> CheckedClaim:
        share = 1.0 if math.isfinite(rule.low) else 0.0
        won: Measure = lambda results: [share] * n  # noqa: E731
        claim = Claim("t/g/n", "paper", "It is so.", None, won, rule, SeedCount(won) if seeds_are_counted else None)
        assert claim.fewest_seeds == (fewest if seeds_are_counted else None)
        return check_claims([claim], Results({}), model="m")[0]

    few, enough = check(fewest - 1), check(fewest)
    assert (few.verdict, few.fewest_seeds, few.lacks_seeds) == ("undecided", fewest, True)
    assert str(few).endswith(f" It takes {fewest} seeds to hold.")
    assert (enough.verdict, enough.fewest_seeds, enough.lacks_seeds) == (
        "holds",
        fewest,
        False,
    ) and "It takes" not in str(enough)
    assert check(3, seeds_are_counted=False).fewest_seeds is None
    assert CheckedClaim.from_dict(few.to_dict()) == few
