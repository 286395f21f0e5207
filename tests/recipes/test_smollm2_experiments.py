"""The experiments on SmolLM2: what their arms have in common, and in what alone they differ. No weights are needed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coplay.experiments.catalogue import claims_of, experiments_of
from coplay.experiments.preparations import alignment_of
from coplay.experiments.request import Request
from coplay.recipes import make_config
from coplay.recipes.experiments import Alignment, Arm, WarmStart
from coplay.recipes.shapellm.smollm2 import GAMES, RECIPROCITY
from coplay.runs.config import Config

IDS = ("shapellm/smollm2", "shapellm/smollm2-controls", "shapellm/smollm2-start")


def arms(*ids: str) -> list[tuple[str, Arm]]:
    return [(experiment.game, arm) for id in ids for experiment in experiments_of(id) for arm in experiment.arms]


def config(arm: Arm) -> Config:
    return make_config(arm.recipe)


def test_experiments_in_one_directory_share_their_runs() -> None:
    main, controls, start = ({arm.recipe for game, arm in arms(id) if game == "ipd"} for id in IDS)
    assert main & controls == {"shapellm/ipd-smollm2-reciprocal-75"}
    assert main & start == {"shapellm/ipd-smollm2-reciprocal-75", "shapellm/ipd-smollm2"}
    assert len(start) == len(RECIPROCITY) + 1


def test_naive_learners_are_the_same_in_all_arms() -> None:
    found = [config(arm).learners["column"] for _, arm in arms(*IDS) if arm.name != "frozen-column"]
    found += [config(arm).learners["row"] for _, arm in arms(*IDS) if arm.name == "baseline"]
    assert len({one.model_dump_json() for one in found}) == 1
    (frozen,) = {config(arm).learners["column"] for _, arm in arms(*IDS) if arm.name == "frozen-column"}
    assert frozen.update == "never" and frozen.ppo == found[0].ppo


def test_starts_differ_in_tit_for_tat_alone() -> None:
    for game in GAMES:
        request, plain = Request(IDS[0], game), []
        for own, arm in arms(*IDS):
            if own == game:
                assert isinstance(arm.preparation, Alignment)
                plain.append(replace(alignment_of(request, arm, arm.preparation), reciprocity=0.0))
        assert len({repr(one) for one in plain}) == 1
        assert plain[0].reciprocal_in == "counts" and plain[0].number_of_prompts == 60
    names = {(game, arm.preparation.reciprocity): arm.preparation.name for game, arm in arms(*IDS) if arm.preparation}  # type: ignore[attr-defined]
    assert len(set(names.values())) == len(names) == len(GAMES) * 2 + len(RECIPROCITY) - 1


def test_both_methods_start_from_the_same_demonstrations() -> None:
    found = arms("adalign/smollm2")
    assert len({id(arm.preparation) for _, arm in found}) == 1
    for _, arm in found:
        assert isinstance(arm.preparation, WarmStart)
        arm.preparation.demonstrations.checked()
        assert arm.preparation.settings["tiny"].adapter.form == config(arm).adapter.form
    one, other = (config(arm) for _, arm in found)
    group = one.learners["learner"].group.model_copy(update={"method": "grpo"})
    assert group == other.learners["learner"].group and one.games == other.games and one.trials == other.trials


@pytest.mark.parametrize("id", [*IDS, "adalign/smollm2"])
def test_every_experiment_has_claims_about_its_own_arms(id: str) -> None:
    for experiment in experiments_of(id):
        assert claims_of(f"{id.partition('/')[2]}/{experiment.game}"), experiment.game
