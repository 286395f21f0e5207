"""The experiments on Qwen2.5-Coder: in what they differ from SmolLM2's, and in what their arms do. No weights are needed."""

from __future__ import annotations

import pytest

from coplay.experiments.catalogue import claims_of, experiments_of
from coplay.experiments.request import Request
from coplay.recipes import make_config
from coplay.recipes.shapellm.qwen_coder import GAMES, MODEL
from coplay.runs.config_input import assignments

ID = "shapellm/qwen-coder"


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("ending", ["", "-baseline"])
def test_model_and_layers_are_all_that_differs_from_smollm2s(game: str, ending: str) -> None:
    ours, theirs = (
        dict(one.split("=", 1) for one in assignments(make_config(f"shapellm/{game}-{model}{ending}")))
        for model in ("qwen-coder", "smollm2")
    )
    differing = {key for key in ours if ours[key] != theirs[key]}
    assert differing == {"recipe", "model", "adapter.top_layers"} and ours["model"] == MODEL


@pytest.mark.parametrize("game", GAMES)
def test_both_arms_start_from_the_model_itself(game: str) -> None:
    (experiment,) = experiments_of(ID, game)
    configs = {arm.name: make_config(arm.recipe) for arm in experiment.arms}
    assert list(configs) == ["baseline", "shaper"] and not any(arm.preparation for arm in experiment.arms)
    for config in configs.values():
        assert config.adapter.init_adapter is None
        assert all(one.init_adapter is None for one in config.learners.values())
    assert configs["baseline"].learners["column"] == configs["shaper"].learners["column"]
    assert claims_of(f"qwen-coder/{game}")


def test_a_directory_takes_the_place_of_the_hub_id() -> None:
    request = Request(ID, "ipd", seeds=(0, 1), model="some/directory")
    assert {request.config(arm).model for arm in request.arms} == {"some/directory"}
