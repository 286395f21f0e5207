"""What ShapeLLM's claims are measured by: numbers read off curves, of runs without trials too, and what extortion can get at most."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from coplay.evaluation.claims import check_claims
from coplay.evaluation.measures import Results
from coplay.recipes.shapellm import measures
from coplay.recipes.shapellm.claims_dynamics import DYNAMICS
from coplay.recipes.shapellm.measures import (
    extortion_bound,
    final_share,
    initial_share,
    rarer_of_two,
    swerving_left,
    time_ahead,
    time_to_half,
    worst_tenth,
)


@pytest.mark.parametrize(
    "name",
    ["steepness_of_the_first_fall", "final_cooperation", "late_fall", "co_player_cooperation", "early_advantage"],
)
def test_there_is_no_number_without_trials_and_one_after_a_single_trial(name: str) -> None:
    measure = getattr(measures, name)
    assert math.isnan(measure(lambda metric: []))
    assert math.isfinite(measure(lambda metric: [0.25]))


# --- Extortion ------------------------------------------------------------------------------------------------------------------------------

T, R, P, S = 4.0, 3.0, 1.0, 0.0
"""The paper's dilemma."""


def extortion(chi: float, phi: float) -> tuple[float, float, float, float]:
    """P(cooperate) after CC, CD, DC, DD of the strategy that enforces s_X - P = χ (s_Y - P): Press & Dyson 2012, eq. 14."""
    unit = 1.0 / (P - S)
    return (
        1.0 - phi * (chi - 1.0) * (R - P) * unit,
        1.0 - phi * (1.0 + chi * (T - P) * unit),
        phi * (chi + (T - P) * unit),
        0.0,
    )


def long_run(own: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Payoffs a round of two memory-one players in the long run, by the stationary distribution."""
    swapped = [theirs[i] for i in (0, 2, 1, 3)]
    step = np.array([[p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)] for p, q in zip(own, swapped, strict=True)])
    balance = np.vstack([step.T - np.eye(4), np.ones(4)])
    weights = np.linalg.lstsq(balance, np.array([0.0, 0.0, 0.0, 0.0, 1.0]), rcond=None)[0]
    return float(weights @ (R, S, T, P)), float(weights @ (R, T, S, P))


def test_extortion_gets_less_than_its_bound_from_anyone() -> None:
    bound = extortion_bound(temptation=T, reward=R, punishment=P, sucker=S)
    assert bound == pytest.approx(11 / 3)
    grid = (0.01, 0.5, 0.99)
    largest = 0.0
    for chi in (1.0, 2.0, 5.0, 100.0, 10_000.0):
        strategy = extortion(chi, 0.9 * (P - S) / ((P - S) + chi * (T - P)))
        assert all(0.0 <= p <= 1.0 for p in strategy)
        for theirs in itertools.product(grid, repeat=4):
            mine, other = long_run(strategy, theirs)
            assert mine - P == pytest.approx(chi * (other - P), abs=1e-3 * chi)  # it extorts
            largest = max(largest, mine)
            assert mine <= bound + 1e-9
        mine, _ = long_run(strategy, (1.0, 1.0, 1.0, 1.0))
        assert mine <= bound + 1e-9
        assert mine == pytest.approx(
            4.0 - (3.0 + chi) / (3.0 * chi + 1.0), abs=1e-3
        )  # on the line from (R, R) to (T, S)
    assert mine == pytest.approx(bound, abs=1e-3)  # approached as χ grows
    assert largest > R


def test_the_bound_is_about_dilemmas() -> None:
    with pytest.raises(ValueError, match="T > R > P > S"):
        extortion_bound(temptation=3.0, reward=4.0, punishment=1.0, sucker=0.0)


# --- What the text says of training ---------------------------------------------------------------------------------------------------------


def test_numbers_read_off_curves() -> None:
    falling = {
        "state/CC": [0.8] * 5 + [0.2] * 15,
        "state/CD": [0.2] * 5 + [0.1] * 15,
        "state/DC": [0.0] * 20,
        "reward/row": [1.0] * 10 + [2.0] * 10,
        "reward/column": [1.0] * 14 + [0.5] * 6,
        "state/SS": [0.5] + [0.1] * 19,
        "state/SG": [0.3] + [0.1] * 19,
        "state/HH": [0.5] * 20,
        "state/TT": [0.1] * 18 + [0.45] * 2,
    }
    of = falling.__getitem__
    assert time_to_half("CC", "CD")(of) == pytest.approx(5 / 20)
    assert final_share("CC", "CD")(of) == pytest.approx(0.3)
    assert initial_share("CC", "CD")(of) == pytest.approx(1.0)
    assert swerving_left(of) == pytest.approx(0.2 / 0.8)
    assert rarer_of_two("HH", "TT")(of) == pytest.approx(0.45)
    assert time_ahead(of) == pytest.approx(0.5)
    assert worst_tenth(of) == pytest.approx(1.0)
    never = {"state/CC": [0.9] * 4, "state/CD": [0.0] * 4}
    assert time_to_half("CC", "CD")(never.__getitem__) == 1.0
    assert math.isnan(swerving_left(lambda _: [])) and math.isnan(time_to_half("CC", "CD")(lambda _: []))


def test_claims_that_were_added_can_hold_and_fail() -> None:
    """Every claim about curves fails on curves that say the opposite."""
    claims = {claim.id: claim for claim in DYNAMICS}
    early, late = [0.9, *[0.1] * 19], [0.9] * 20

    def results(shaper: list[float], other: list[float]) -> Results:
        arms = {"shaper": shaper, "opponent-25": other, "opponent-75": shaper}
        evals: Any = {arm: {"seeds": {str(seed): {} for seed in range(3)}} for arm in arms}
        return Results(evals, lambda arm, metric: [arms[arm] if metric in ("state/CC", "state/SS") else [0.0] * 20] * 3)

    good, bad = results(early, late), results(late, early)
    for name in (
        "table1/icg/stops-swerving-early",
        "table2/ipd/faster-against-cooperative",
        "table2/icg/deeper-against-cooperative",
    ):
        verdicts = [check_claims([claims[name]], one, model="m")[0].verdict for one in (good, bad)]
        assert verdicts == ["holds", "fails"], name
