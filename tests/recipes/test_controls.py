"""Controls and who-shapes-whom: each arm differs as it says, each claim can fail, and a table without published numbers is a table."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import SMALL, small_arms

from coplay.errors import UsageError
from coplay.evaluation.claims import Claim, check_claims
from coplay.evaluation.measures import Results, paired
from coplay.evaluation.rules import ci_above, ci_within
from coplay.experiments.catalogue import claims_of, experiments_of
from coplay.experiments.reproduce import reproduce
from coplay.experiments.request import Request
from coplay.experiments.summary import cross_play_maps
from coplay.recipes import make_config
from coplay.recipes.experiments import table_rows
from coplay.recipes.shapellm import controls, cross
from coplay.report.sections import flatten
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build, check_without_weights
from coplay.statistics import mean_ci95

torch.set_num_threads(1)

SCALES: list[tuple[Any, Any]] = [("tiny", "language_model"), ("paper", "language_model"), ("tiny", "tabular")]
SPEED = {f"ppo.{name}" for name in controls._SPEED}


def differences(name: str, scale: Any, learner: Any) -> set[str]:
    """The keys in which a control differs from the main experiment."""

    def flat(config: Config) -> dict[str, str]:
        return flatten(config.model_dump(mode="json"))

    mine = flat(make_config(f"shapellm/{name}", scale=scale, learner=learner))
    main = flat(make_config("shapellm/ipd", scale=scale, learner=learner))
    return {key for key in mine.keys() | main.keys() if mine.get(key) != main.get(key)} - {"recipe"}


@pytest.mark.parametrize(("scale", "learner"), SCALES)
def test_each_control_takes_one_thing_away(scale: Any, learner: Any) -> None:
    assert differences("ipd-trial-batched-column", scale, learner) == {"learners.column.update"}
    assert differences("ipd-frozen-column", scale, learner) == {"learners.column.update"}
    assert differences("ipd-cut-credit", scale, learner) == {"learners.row.ppo.gae_chain"}
    assert differences("ipd-reset-column", scale, learner) - {f"learners.column.{key}" for key in SPEED} == {
        "learners.column.reset"
    }
    assert differences("ipd-constant-rate", scale, learner) <= {
        "learners.column.ppo.lr_decay_updates",
        "learners.column.ppo.lr_end_factor",
    }
    assert differences("ipd-slow-column", scale, learner) <= {f"learners.column.{key}" for key in SPEED}


@pytest.mark.parametrize(("scale", "learner"), SCALES)
def test_controls_of_the_shaper_are_naive_learners_but_for_one_thing(scale: Any, learner: Any) -> None:
    main = make_config("shapellm/ipd", scale=scale, learner=learner)
    batched = make_config("shapellm/ipd-trial-batched-row", scale=scale, learner=learner)
    slow = make_config("shapellm/ipd-slow-row", scale=scale, learner=learner)
    for config in (batched, slow):
        assert (config.trials, config.learners["column"]) == (main.trials, main.learners["column"])
        assert config.learners["row"].memory == main.learners["column"].memory
    assert batched.learners["row"] == main.learners["column"].model_copy(
        update={"role": "batched naive", "update": "trial"}
    )
    assert (
        slow.learners["row"].model_copy(update={"role": "naive", "ppo": main.learners["column"].ppo})
        == main.learners["column"]
    )
    for name in controls._SPEED:
        assert getattr(slow.learners["row"].ppo, name) == getattr(main.learners["row"].ppo, name)


def test_the_whole_paper_is_the_papers_own() -> None:
    assert not any(experiment.extra for experiment in experiments_of("shapellm"))
    for id in ("shapellm/controls", "shapellm/cross"):
        (experiment,) = experiments_of(id)
        assert experiment.extra and {row.value for row in experiment.table} == {None}


# --- Claims ----------------------------------------------------------------------------------------------------------------------------


def evaluation(row: dict[str, float], column: dict[str, float]) -> dict[str, Any]:
    return {
        "seeds": {
            seed: {"seats": {"row": {"per_round": row[seed], "illegal": 0}, "column": {"per_round": column[seed]}}}
            for seed in row
        }
    }


def test_paired_is_the_interval_of_the_differences_whatever_the_order() -> None:
    a = evaluation({"0": 3.9, "1": 3.1, "2": 3.6}, {"0": 0.0, "1": 0.0, "2": 0.0})
    b = evaluation({"2": 3.1, "0": 3.5, "1": 2.0}, {"0": 0.0, "1": 0.0, "2": 0.0})
    values = paired("a", "b", seat="row")(Results({"a": a, "b": b}))
    assert values == pytest.approx([0.4, 1.1, 0.5])
    (row,) = check_claims(
        [Claim("x", "y", "z", None, paired("a", "b", seat="row"), ci_above(0))],
        Results({"a": a, "b": b}),
        model="m",
    )
    assert (row.measured, row.ci95, row.n_seeds) == (
        mean_ci95(values).mean,
        mean_ci95(values).half_width,
        3,
    )


def test_arms_of_other_seeds_are_not_compared() -> None:
    a, b = evaluation({"0": 1.0}, {"0": 1.0}), evaluation({"1": 1.0}, {"1": 1.0})
    with pytest.raises(
        UsageError, match=r"arms 'a' and 'b' cannot be compared seed by seed: .* only one of them has 0, 1"
    ):
        paired("a", "b", seat="row")(Results({"a": a, "b": b}))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.1, 0.2, 0.15], "holds"),
        ([0.1, -0.9, 0.9], "undecided"),
        ([0.45, 0.45, 0.46], "holds"),
        ([0.6, 0.6, 0.6], "fails"),
        ([0.0], "undecided"),
    ],
)
def test_ci_within_needs_the_whole_interval(values: list[float], verdict: str) -> None:
    assert ci_within(0.0, 0.5).verdict(values) == verdict


SEEDS = [str(seed) for seed in range(5)]


def results(rewards: dict[str, tuple[float, float]], cooperation: float) -> Results:
    """Arms whose seats get about this, with a little difference from seed to seed that all arms share."""
    evals = {
        arm: evaluation(
            {seed: row + 0.01 * int(seed) for seed in SEEDS}, {seed: column - 0.01 * int(seed) for seed in SEEDS}
        )
        for arm, (row, column) in rewards.items()
    }
    return Results(evals, lambda arm, metric: [[cooperation / 2] * 10 for _ in SEEDS])


def test_every_control_claim_holds_for_what_it_says_and_fails_for_the_opposite() -> None:
    found = claims_of("controls/ipd")
    arms = [arm.name for arm in controls.EXPERIMENT.arms]
    assert {claim.id.rpartition("/")[2] for claim in found} > set(arms) - {"shaper"}  # every control has a claim
    good = dict.fromkeys(arms, (1.5, 1.0)) | {"shaper": (3.9, 0.2), "constant-rate": (3.8, 0.3)}
    bad = dict.fromkeys(arms, (3.9, 0.1)) | {"shaper": (1.5, 1.2)}
    assert all(row.holds for row in check_claims(found, results(good, 0.05), model="x"))
    assert not any(row.holds for row in check_claims(found, results(bad, 0.9), model="x"))
    nothing = dict.fromkeys(arms, (3.9, 0.2))  # no control takes anything away
    assert [row.id for row in check_claims(found, results(nothing, 0.9), model="x") if row.holds] == [
        "controls/ipd/constant-rate"
    ]


def test_every_cross_claim_holds_for_what_it_says_and_fails_for_the_opposite() -> None:
    found = claims_of("cross/ipd")
    arms = [arm.name for arm in cross.EXPERIMENT.arms]
    good = dict.fromkeys(arms, (3.0, 1.0))
    good |= {arm: (3.5, 0.5) for arm in arms if arm.endswith("shared")}
    good |= {arm: (2.5, 1.5) for arm in arms if arm.endswith("lola")}
    assert len(found) == len(arms) + 4
    assert all(row.holds for row in check_claims(found, results(good, 0), model="x"))
    assert not any(row.holds for row in check_claims(found, results(dict.fromkeys(arms, (1.0, 1.2)), 0), model="x"))


# --- Who shapes whom -------------------------------------------------------------------------------------------------------------------


def test_seats_are_of_the_kinds_and_settings_of_their_own_main_experiments() -> None:
    kinds: tuple[Any, ...] = ("language_model", "tabular")
    main = {kind: make_config("shapellm/ipd", learner=kind) for kind in kinds}
    for kind in kinds:
        for name, (_, column, changes) in cross.COLUMNS.items():
            config = make_config(f"shapellm/ipd-{kind.replace('_', '-')}-against-{name}")
            assert (config.learners["row"], config.trials) == (main[kind].learners["row"], main[kind].trials)
            expected = with_overrides(
                main[column], [f"{key}={'null' if v is None else v}" for key, v in changes.items()]
            )
            assert config.learners["column"] == expected.learners["column"]


def test_every_pairing_can_be_played() -> None:
    for arm in cross.EXPERIMENT.arms:
        check_without_weights(make_config(arm.recipe))


def test_a_table_shapes_a_language_model() -> None:
    """The one pairing of kinds that no other test has."""
    config = with_overrides(make_config("shapellm/ipd-tabular-against-language-model"), [*SMALL, "seeds=[0]"])
    state = build(config)
    lines = state.run_trial(0).lines
    assert {"kl/row", "kl/column"} <= set(lines[0])
    assert state.bank is not None and [slot.learner for slot in state.bank.slots] == ["column"]


def test_rows_without_published_numbers_and_the_map_of_who_met_whom() -> None:
    evals = {}
    for i, arm in enumerate(cross.EXPERIMENT.arms[:-1]):
        one = {"per_round": {"mean": float(i), "ci95": 0.1, "n": 5}}
        evals[arm.name] = {"seats": {"row": one, "column": one}}
    evals[cross.EXPERIMENT.arms[-1].name] = {"seats": {"row": {"per_round": None}, "column": {"per_round": None}}}
    rows = table_rows(cross.EXPERIMENT, Results(evals))
    assert {row.published for row in rows} == {row.published_ci95 for row in rows} == {None}
    row, column = cross_play_maps(cross.EXPERIMENT, rows)
    assert row.down == ("row", tuple(cross.SHAPERS.values()))
    assert row.across == ("column", tuple(label for label, _, _ in cross.COLUMNS.values()))
    assert row.cells[1][0] == column.cells[1][0] == (7.0, 0.1)
    assert row.cells[1][6] is None
    assert cross_play_maps(controls.EXPERIMENT, []) == []


# --- From the outside ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduce") / "controls"
    with small_arms([*SMALL, "trials=2"]):
        reproduce(Request("shapellm/controls", learner="tabular", seeds=(0, 1), trials=2), out, quiet=True)
    return out


@pytest.mark.slow
def test_an_experiment_without_published_numbers_has_a_page(done: Path) -> None:
    page = (done / "report.html").read_text()
    assert "published table" not in page and "claims of the paper" not in page
    assert "Opponent reset each trial" in page and "Isolates credit across episodes" in page
    assert {path.name for path in done.iterdir() if path.is_dir()} == {
        *(arm.name for arm in controls.EXPERIMENT.arms),
        "figures",
    }


def test_cross_needs_language_models() -> None:
    with pytest.raises(UsageError, match="has language models in it; leave out --learner tabular"):
        _ = Request("shapellm/cross", learner="tabular").experiments
