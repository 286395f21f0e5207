"""What claims read off curves of a run without trials, which evaluates the start: nothing, so that they stay undecided."""

import math

import pytest

from coplay.recipes.shapellm import measures


@pytest.mark.parametrize(
    "name",
    ["steepness_of_the_first_fall", "final_cooperation", "late_fall", "co_player_cooperation", "early_advantage"],
)
def test_there_is_no_number_without_trials_and_one_after_a_single_trial(name: str) -> None:
    measure = getattr(measures, name)
    assert math.isnan(measure(lambda metric: []))
    assert math.isfinite(measure(lambda metric: [0.25]))
