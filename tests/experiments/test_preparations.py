"""What arms start from fits them, at every scale, and one that would not is refused before anything is made."""

from dataclasses import replace
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.experiments import preparations
from coplay.experiments.catalogue import all_experiments, experiments_of
from coplay.experiments.preparations import check_continued
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request
from coplay.recipes import make_config
from coplay.recipes.experiments import Alignment, Arm, Experiment, WarmStart
from coplay.recipes.kinds import Scale
from coplay.recipes.sepo.settings import WEIGHTS
from coplay.recipes.sepo.tables import stages
from coplay.recipes.sepo.warm_start import SETTINGS
from coplay.runs.config import Adapter

PREPARED = [one for one in all_experiments() if any(arm.preparation for arm in one.arms)]


def of_each_preparation(arms: tuple[Arm, ...]) -> list[list[Arm]]:
    """The arms that share one."""
    found: dict[str, list[Arm]] = {}
    for arm in arms:
        if arm.preparation is not None:
            found.setdefault(arm.preparation.name, []).append(arm)
    return list(found.values())


@pytest.mark.parametrize("scale", ["tiny", "paper"])
@pytest.mark.parametrize("experiment", PREPARED, ids=lambda one: f"{one.id}-{one.game}")
def test_every_arm_continues_what_is_prepared_for_it(experiment: Experiment, scale: Scale) -> None:
    request = Request(experiment.id, experiment.game, scale=scale)
    for arms in of_each_preparation(experiment.arms):
        check_continued(request, arms)
        assert len({type(arm.preparation) for arm in arms}) == 1


def test_there_are_preparations_of_both_kinds() -> None:
    kinds = {type(arm.preparation) for one in PREPARED for arm in one.arms if arm.preparation}
    assert kinds == {Alignment, WarmStart}


@pytest.mark.parametrize("game", WEIGHTS)
@pytest.mark.parametrize("scale", ["tiny", "paper"])
def test_sepo_has_the_shape_that_coplay_sft_gives_an_adapter(game: str, scale: Scale) -> None:
    """``coplay sft --scale S`` without further settings makes what ``coplay train sepo/GAME --scale S`` continues."""
    assert make_config(f"sepo/{game}", scale=scale).adapter.form == SETTINGS[scale].adapter.form
    if scale == "paper":
        assert SETTINGS[scale].adapter.form == {
            "rank": 32, "alpha": 64.0, "targets": ("q_proj", "k_proj", "v_proj", "o_proj"), "top_layers": None
        }  # fmt: skip


def of_other_shape(**shape: object) -> tuple[Arm, ...]:
    """SEPO's stages in Kuhn poker with a warm start of another shape."""
    adapter = Adapter(**{**SETTINGS["tiny"].adapter.model_dump(), **shape})
    settings = {"tiny": SETTINGS["tiny"].model_copy(update={"adapter": adapter})}
    return tuple(
        replace(arm, preparation=replace(arm.preparation, settings=settings))
        if isinstance(arm.preparation, WarmStart)
        else arm
        for arm in stages("kuhn")
    )


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ({"rank": 32}, "sepo/kuhn-sft: its start, sft-kuhn, would not fit: the recipe has adapter.rank=16, not 32"),
        ({"alpha": 8.0}, r"adapter\.alpha=32\.0, not 8\.0"),
        ({"targets": ("q_proj",)}, r"adapter\.targets=\('q_proj', 'k_proj', 'v_proj', 'o_proj'\), not \('q_proj',\)"),
        ({"top_layers": 1}, r"adapter\.top_layers=None, not 1"),
    ],
)
def test_a_start_of_another_shape_is_refused_before_it_is_made(
    shape: dict[str, object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (experiment,) = experiments_of("sepo/table5", "kuhn")
    changed = replace(experiment, arms=of_other_shape(**shape))
    monkeypatch.setattr(Request, "experiments", [changed])
    monkeypatch.setattr(preparations, "_fine_tune", lambda *_: pytest.fail("it was fine-tuned"))
    with pytest.raises(UsageError, match=told):
        reproduce(Request("sepo/table5", seeds=(0,), trials=10), tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


def test_arms_that_share_a_start_need_it_made_in_one_way() -> None:
    """The dilemma's learners are shown the last round, Kuhn poker's nothing: demonstrations for one are not for the other."""
    kuhn, dilemma = (next(arm for arm in stages(game) if arm.preparation) for game in ("kuhn", "ipd-8"))
    with pytest.raises(UsageError, match=r"sepo/ipd-8-sft: .* the recipe has memory=last_round, not none"):
        check_continued(Request("sepo/table5", "kuhn"), [kuhn, replace(dilemma, preparation=kuhn.preparation)])
