"""Recipes: at the paper's scale the paper's own numbers, at every scale a valid config."""

from typing import Any

import pytest

from coplay.errors import UsageError
from coplay.games.memory import Memory
from coplay.recipes import RECIPES, make_config
from coplay.recipes.shapellm import ALL_VARIANTS
from coplay.runs.config_input import parse_config, with_overrides

IPD = make_config("shapellm/ipd")


def problem(*assignments: str) -> str:
    with pytest.raises(UsageError) as caught:
        with_overrides(IPD, list(assignments))
    return str(caught.value)


TABLES_7_AND_8 = {
    "kl_adaptive": True,
    "kl_coef": 0.2,
    "kl_target": 6.0,
    "kl_horizon": 10_000,
    "gamma": 1.0,
    "lam": 0.95,
    "value_clip": 0.2,
    "minibatch": 10,
    "epochs": 1,
    "score_normalisation": False,
    "score_scaling": True,
}
"""What naive learners and shapers have in common."""

TABLE_7 = {**TABLES_7_AND_8, "learning_rate": 1.41e-6, "clip": 0.2, "value_coef": 0.2}
TABLE_9_IPD = {**TABLES_7_AND_8, "learning_rate": 1.41e-7, "clip": 1e-4, "value_coef": 1e-3}

BEYOND_THE_TABLES = {
    "microbatch_size": None,
    "head_learning_rate": None,
    "adam_eps": 1e-8,
    "weight_decay": 0.0,
    "max_grad_norm": None,
    "value_gradient": "trunk",
    "gae_chain": "trial",
    "entropy_initial": 0.0,
    "entropy_final": 0.0,
    "entropy_updates": 0,
    "entropy_delay_updates": 0,
    "ratio_threshold": 10.0,
    "lr_warmup_updates": 0,
    "lr_decay_updates": 0,
    "lr_end_factor": 1.0,
    "critic": True,
    "whiten": True,
}
"""TRL's and the published code's behaviour where the tables say nothing."""


@pytest.mark.parametrize(
    ("recipe", "seat", "table"),
    [
        ("shapellm/ipd", "row", TABLE_9_IPD),
        ("shapellm/ipd", "column", TABLE_7),
        ("shapellm/ipd-baseline", "row", TABLE_7),
        ("shapellm/ipd-baseline", "column", TABLE_7),
    ],
)
def test_at_paper_scale_the_hyperparameters_are_the_papers(recipe: str, seat: str, table: dict[str, object]) -> None:
    config = make_config(recipe, scale="paper")
    assert config.learners[seat].ppo.model_dump() == {**table, **BEYOND_THE_TABLES}


TABLES_9_AND_12 = """
ipd                  1.41e-7  1e-3  1e-4
imp                  3.41e-7  1e-3  2e-1
icg                  1.41e-7  1e-3  2e-1
ipd-opponent-75      1.41e-7  1e-3  2e-1
ipd-opponent-50      1.41e-7  5e-4  5e-3
ipd-opponent-25      1.41e-7  3e-3  1e-4
imp-opponent-75      4.41e-7  1e-3  2e-1
imp-opponent-50      4.41e-7  1e-3  2e-1
imp-opponent-25      6.41e-7  1e-3  2e-1
icg-opponent-75      1.41e-7  1e-3  2e-1
icg-opponent-50      1.41e-7  1e-3  2e-1
icg-opponent-25      6.41e-8  1e-3  2e-1
c-ipd                8.41e-8  5e-5  2e-1
ish                  8.41e-8  1e-3  2e-1
ipd-table-format     1.41e-7  1e-3  1e-5
imp-table-format     2.41e-7  1e-3  2e-1
icg-table-format     1.41e-7  1e-3  2e-1
ipd-switched-order   6.41e-7  1e-3  2e-1  0.1  0.0  25
imp-switched-order   6.41e-6  1e-3  2e-1
icg-switched-order   1.41e-7  1e-3  2e-1  0.7  0.0  25
ipd-state-only       1.41e-7  1e-3  1e-4
ipd-episode-only     1.41e-7  1e-3  1e-4
"""
"""Read off the paper's pages again: recipe, lr, c_VF, epsilon_p and, in Table 12, c_S at first and at last and T_S.
The ablations of A.8 have the IPD's row."""


@pytest.mark.parametrize("line", TABLES_9_AND_12.split("\n")[1:-1])
def test_every_shaper_has_its_row_of_the_tables(line: str) -> None:
    name, *numbers = line.split()
    keys = ("learning_rate", "value_coef", "clip", "entropy_initial", "entropy_final", "entropy_updates")
    row = dict(zip(keys, map(float, numbers), strict=False))
    config = make_config(f"shapellm/{name}", scale="paper")
    assert config.learners["row"].ppo.model_dump() == {**BEYOND_THE_TABLES, **TABLES_7_AND_8, **row}
    slow = {"learning_rate": 1.41e-7, "value_coef": 0.05} if config.game == "imp" else {}  # footnote 7
    assert config.learners["column"].ppo.model_dump() == {**TABLE_7, **BEYOND_THE_TABLES, **slow}


def test_variants_differ_in_what_they_are_about_alone() -> None:
    def differences(name: str, other: str) -> set[str]:
        a, b = (flat(make_config(f"shapellm/{n}", scale="paper").model_dump(mode="json")) for n in (name, other))
        return {key for key in a if a[key] != b[key]} - {"recipe"}

    rates = {
        f"learners.row.ppo.{key}"
        for key in ("learning_rate", "value_coef", "clip", "entropy_initial", "entropy_updates")
    }
    assert differences("ipd-opponent-50", "ipd") - rates == {"learners.column.labels"}
    assert differences("icg-table-format", "icg") - rates == {"payoff_format"}
    assert differences("icg-switched-order", "icg") - rates == {"payoff_format"}
    assert differences("ipd-state-only", "ipd") == differences("ipd-episode-only", "ipd") == {"learners.row.memory"}
    assert differences("imp-enriched", "imp-baseline") == {"learners.row.memory", "learners.row.role"}
    assert differences("icg-enriched-alternative", "icg-enriched") == {"learners.column.labels"}
    assert differences("c-ipd-baseline", "ipd-baseline") == {"game"}


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested config with dotted keys."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


@pytest.mark.parametrize("recipe", ["shapellm/ipd", "shapellm/ipd-baseline"])
def test_at_paper_scale_everything_else_is_the_papers(recipe: str) -> None:
    config = make_config(recipe, scale="paper")
    assert (config.adapter.rank, config.adapter.alpha, config.adapter.targets) == (2, 32, ("q_proj", "v_proj"))
    assert (config.model, config.four_bit) == ("google/gemma-2-2b-it", True)
    assert (config.games, config.episodes, config.rounds, config.eval_games) == (5, 5, 20, 100)
    assert len(config.seeds) == 5
    assert config.games * config.rounds == 100  # Table 7's batch size: one episode of all parallel games
    assert config.game == "ipd"


def test_shaper_and_naive_learner_differ_in_memory_clock_and_rates_alone() -> None:
    for learner in ("language_model", "tabular"):
        for scale in ("tiny", "paper"):
            config = make_config("shapellm/ipd", scale=scale, learner=learner)  # type: ignore[arg-type]
            row, column = config.learners["row"].model_dump(), config.learners["column"].model_dump()
            differing = {key for key in row if row[key] != column[key]}
            assert differing <= {"role", "memory", "update", "ppo", "initial"}
            assert (config.learners["row"].memory, config.learners["row"].update) == (Memory.TRIAL_COUNTS, "trial")
            assert (config.learners["column"].memory, config.learners["column"].update) == (
                Memory.LAST_ROUND,
                "episode",
            )
            baseline = make_config("shapellm/ipd-baseline", scale=scale, learner=learner)  # type: ignore[arg-type]
            assert baseline.learners["row"] == baseline.learners["column"] == config.learners["column"]


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("shapellm/")])
@pytest.mark.parametrize("scale", ["tiny", "paper"])
@pytest.mark.parametrize("learner", ["language_model", "tabular"])
def test_every_recipe_makes_a_valid_config_of_its_name(name: str, scale: Any, learner: Any) -> None:
    variant = ALL_VARIANTS[name.partition("/")[2]]
    if variant.embedded_only and (learner == "tabular" or scale == "paper"):
        with pytest.raises(UsageError, match=r"rates of the embedded model; leave out --(learner tabular|scale paper)"):
            make_config(name, scale=scale, learner=learner)
        return
    if learner == "tabular" and (variant.text_only or "language_model" in variant.kinds.values()):
        with pytest.raises(
            UsageError, match=r"about text, which tabular learners do not read|a language model has a seat"
        ):
            make_config(name, scale=scale, learner=learner)
        return
    config = make_config(name, scale=scale, learner=learner)
    assert config.recipe == name
    assert parse_config(config.model_dump(mode="json")) == config


def test_an_unknown_recipe_gets_a_did_you_mean() -> None:
    with pytest.raises(
        UsageError, match=r"unknown recipe 'shapellm/idp'\. Did you mean 'shapellm/ipd'\? All \d+: coplay list recipes"
    ):
        make_config("shapellm/idp")


def test_lists_are_written_with_commas_or_as_json() -> None:
    config = make_config("shapellm/ipd")
    for text in ("7,8", "[7, 8]"):
        assert with_overrides(config, [f"seeds={text}"]).seeds == (7, 8)
    assert with_overrides(config, ["column.labels=H,K"]).learners["column"].labels == ("H", "K")
    with pytest.raises(UsageError, match=r"seeds: give several values with commas, e\.g\. seeds=1,2 \(got 3\)"):
        with_overrides(config, ["seeds=3"])
    with pytest.raises(UsageError, match=r"seeds\.1: .*integer.*'x'"):
        with_overrides(config, ["seeds=1,x"])
