"""Configs: overrides, what is refused and how, and the paper's own numbers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.config import PPO, Adapter, Config, ExactGradient, Lola, QLearning, Reinforce, Seat
from coplay.config_input import overridden, validated
from coplay.errors import UsageError
from coplay.games.memory import Memory
from coplay.recipes import RECIPES, make_config
from coplay.recipes.shapellm import ALL_VARIANTS
from coplay.rounds.config import GroupGradient, PastSelves, RoundConfig

IPD = make_config("shapellm/ipd")


def problem(*assignments: str) -> str:
    with pytest.raises(UsageError) as caught:
        overridden(IPD, list(assignments))
    return str(caught.value)


# --- Overrides ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("trials=7", "trials", 7),
        ("model=org/name", "model", "org/name"),
        ('model="tiny"', "model", "tiny"),
        ("four_bit=true", "four_bit", True),
        ("seeds=[3,1]", "seeds", (3, 1)),
        ("row.ppo.learning_rate=1e-5", "row.ppo.learning_rate", 1e-5),
        ("column.ppo.head_learning_rate=null", "column.ppo.head_learning_rate", None),
        ("row.memory=episode_counts", "row.memory", Memory.EPISODE_COUNTS),
        ('row.labels=["H","K"]', "row.labels", ("H", "K")),
        ("row.player=tit_for_tat", "row.player", "tit_for_tat"),
        ("column.initial=[0.5,0.1,0.2,0.3,0.4]", "column.initial", (0.5, 0.1, 0.2, 0.3, 0.4)),
        ("adapter.rank=8", "adapter.rank", 8),
        ("game=icg", "game", "icg"),
        ("chat=llama", "chat", "llama"),
    ],
)
def test_an_override_changes_that_and_nothing_else(assignment: str, path: str, value: object) -> None:
    changed = overridden(IPD, [assignment])
    found: Any = changed
    for part in path.split("."):
        found = getattr(found, part)
    assert found == value
    back: Any = changed.model_dump(mode="json")
    original: Any = IPD.model_dump(mode="json")
    place, before = back, original
    *parents, leaf = path.split(".")
    for part in parents:
        place, before = place[part], before[part]
    place[leaf] = before[leaf]
    assert back == original


def test_a_game_may_be_spelled_out() -> None:
    game = {"name": "g", "actions": ["a", "b"], "payoffs": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}
    assert overridden(IPD, [f"game={json.dumps(game)}"]).game == game


def test_later_overrides_win_and_sections_can_be_replaced() -> None:
    changed = overridden(IPD, ["trials=1", "trials=2", 'column={"role": "twin", "player": "tit_for_tat"}'])
    assert changed.trials == 2
    assert changed.column == Seat(role="twin", player="tit_for_tat")


@given(st.floats(1e-9, 1.0), st.integers(1, 1000), st.booleans())
def test_configs_survive_json(rate: float, number: int, flag: bool) -> None:
    config = overridden(
        IPD, [f"row.ppo.learning_rate={rate!r}", f"games={number}", f"column.ppo.kl_adaptive={json.dumps(flag)}"]
    )
    assert validated(json.loads(json.dumps(config.model_dump(mode="json")))) == config


# --- Mistakes ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "field", "meant"),
    [
        ("trails=3", "trails", "trials"),
        ("row.ppo.learning_rat=1", "row.ppo.learning_rat", "learning_rate"),
        ("row.pppo.clip=1", "row.pppo.clip", "ppo"),
        ("colum.role=x", "colum.role", "column"),
        ("row.memroy=none", "row.memroy", "memory"),
        ("adapter.rnk=2", "adapter.rnk", "rank"),
    ],
)
def test_a_misspelt_key_gets_a_did_you_mean(assignment: str, field: str, meant: str) -> None:
    message = problem(assignment)
    assert message.startswith(f"{field}: there is no")
    assert f"Did you mean {meant!r}?" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("trials=-1", "trials: input should be greater than or equal to 0 (got -1)"),
        ("trials=many", "trials: input should be a valid integer"),
        ("trials=1.5", "trials: input should be a valid integer"),
        ("trials=", "trials: input should be a valid integer"),
        ("rounds=0", "rounds: "),
        ("seeds=[]", "seeds: tuple should have at least 1 item"),
        ("seeds=[1,1]", "seeds: seeds must be different whole numbers"),
        ("seeds=[-1]", "seeds: seeds must be different whole numbers"),
        ("seeds=3", "seeds: "),
        ("row.ppo.learning_rate=0", "row.ppo.learning_rate: input should be greater than 0 (got 0)"),
        ("row.ppo.learning_rate=NaN", "row.ppo.learning_rate: "),
        ("row.ppo.kl_coef=Infinity", "row.ppo.kl_coef: input should be a finite number"),
        ("row.ppo.lam=2", "row.ppo.lam: input should be less than or equal to 1 (got 2)"),
        ("row.ppo=3", "row.ppo: "),
        ("row.memory=everything", "row.memory: input should be 'none', 'last_round'"),
        ("row.update=daily", "row.update: input should be 'round', 'episode', 'trial' or 'never'"),
        ("column.initial=[0.5,1]", "column.initial: every probability must lie strictly between 0 and 1"),
        ("chat=chatml", "chat: "),
        ("game=5", "game: "),
        ("version=2", "version: "),
        ("threads=0", "threads: "),
    ],
)
def test_an_impossible_value_is_one_line_that_names_it(assignment: str, message: str) -> None:
    said = problem(assignment)
    assert said.startswith(message)
    assert "\n" not in said


def test_several_problems_are_one_line_each() -> None:
    assert len(problem("trials=-1", "row.ppo.clip=0", "gmae=ipd").splitlines()) == 3


@pytest.mark.parametrize("assignment", ["trials", "=3", "", "trials:3"])
def test_what_is_no_assignment_is_refused(assignment: str) -> None:
    assert problem(assignment) == f"{assignment!r} is not of the form key=value"


def test_a_value_is_not_a_section() -> None:
    assert problem("game.rounds=3") == "game.rounds: game is a single value here ('ipd'), not a section"


def test_an_episode_needs_two_transitions_to_learn_from() -> None:
    assert "at least 2 for column to learn" in problem("games=1", "rounds=1")
    assert overridden(IPD, ["games=1", "rounds=1", "column.update=trial"]).games == 1


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ["row.algorithm=lola"],
            "row: algorithm=lola is for learner=tabular; a learner=language_model learns with algorithm=ppo."
            " Set learner=tabular, or algorithm=ppo",
        ),
        (
            ["row.learner=tabular", "row.algorithm=exact"],
            "row: algorithm=exact needs memory=last_round, not trial_counts",
        ),
        (
            ["column.learner=tabular", "column.algorithm=q_learning", "column.memory=episode_counts"],
            "column: algorithm=q_learning needs memory=none or last_round, not episode_counts",
        ),
        (
            ["column.update=round"],
            "column: update=round is for algorithm=q_learning; with algorithm=ppo choose episode, trial or never",
        ),
        (
            ["column.learner=tabular", "column.algorithm=q_learning", "column.initial=[0.5,0.5,0.5,0.5,0.5]"],
            "column: algorithm=q_learning starts from q.initial_value and has no initial policy; set initial=null",
        ),
        (["column.lola.discount=1"], "column.lola: the value of an endless game needs a discount below 1, or"),
        (['column.q={"endless": true, "discount": 1}'], "column.q: the values of an endless game need a discount"),
        (["column.algorithm=dqn"], "column.algorithm: input should be 'ppo', 'q_learning', 'reinforce', 'exact' or"),
    ],
)
def test_what_an_algorithm_cannot_be_combined_with(overrides: list[str], expected: str) -> None:
    assert problem(*overrides).startswith(expected)


def test_what_algorithms_can_be_combined_with() -> None:
    tabular = ["column.learner=tabular"]
    q = overridden(IPD, [*tabular, "column.algorithm=q_learning", "column.update=round", "column.memory=none"])
    assert (q.column.algorithm, q.row.algorithm) == ("q_learning", "ppo")
    assert overridden(IPD, [*tabular, "column.algorithm=reinforce", "column.memory=trial_counts"])
    assert overridden(IPD, [*tabular, "column.algorithm=lola", "column.lola.horizon=episode", "column.lola.discount=1"])
    scripted = overridden(IPD, ["column.player=tit_for_tat", "column.algorithm=lola"])  # no learner, no matter
    assert scripted.column.player == "tit_for_tat"


def test_configs_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        IPD.trials = 3  # type: ignore[misc]


def test_every_field_has_a_sentence() -> None:
    algorithms = (PPO, QLearning, Reinforce, ExactGradient, Lola)
    for model in (Config, Seat, Adapter, *algorithms):
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"


# --- The recipes ------------------------------------------------------------------------------------------------------------------------

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
    "head_learning_rate": None,
    "adam_eps": 1e-8,
    "max_grad_norm": None,
    "value_gradient": "trunk",
    "gae_chain": "trial",
    "entropy_initial": 0.0,
    "entropy_final": 0.0,
    "entropy_updates": 0,
    "ratio_threshold": 10.0,
    "warmup_updates": 0,
    "decay_updates": 0,
    "final_rate": 1.0,
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
    assert config.seats[seat].ppo.model_dump() == {**table, **BEYOND_THE_TABLES}


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
    assert config.row.ppo.model_dump() == {**BEYOND_THE_TABLES, **TABLES_7_AND_8, **row}
    slow = {"learning_rate": 1.41e-7, "value_coef": 0.05} if config.game == "imp" else {}  # footnote 7
    assert config.column.ppo.model_dump() == {**TABLE_7, **BEYOND_THE_TABLES, **slow}


def test_variants_differ_in_what_they_are_about_alone() -> None:
    def differences(name: str, other: str) -> set[str]:
        a, b = (flat(make_config(f"shapellm/{n}", scale="paper").model_dump(mode="json")) for n in (name, other))
        return {key for key in a if a[key] != b[key]} - {"recipe"}

    rates = {f"row.ppo.{key}" for key in ("learning_rate", "value_coef", "clip", "entropy_initial", "entropy_updates")}
    assert differences("ipd-opponent-50", "ipd") - rates == {"column.labels"}
    assert differences("icg-table-format", "icg") - rates == {"layout"}
    assert differences("icg-switched-order", "icg") - rates == {"layout"}
    assert differences("ipd-state-only", "ipd") == differences("ipd-episode-only", "ipd") == {"row.memory"}
    assert differences("imp-enriched", "imp-baseline") == {"row.memory", "row.role"}
    assert differences("icg-enriched-alternative", "icg-enriched") == {"column.labels"}
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
            row, column = config.row.model_dump(), config.column.model_dump()
            differing = {key for key in row if row[key] != column[key]}
            assert differing <= {"role", "memory", "update", "ppo", "initial"}
            assert (config.row.memory, config.row.update) == (Memory.TRIAL_COUNTS, "trial")
            assert (config.column.memory, config.column.update) == (Memory.LAST_ROUND, "episode")
            baseline = make_config("shapellm/ipd-baseline", scale=scale, learner=learner)  # type: ignore[arg-type]
            assert baseline.row == baseline.column == config.column


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("shapellm/")])
@pytest.mark.parametrize("scale", ["tiny", "paper"])
@pytest.mark.parametrize("learner", ["language_model", "tabular"])
def test_every_recipe_makes_a_valid_config_of_its_name(name: str, scale: Any, learner: Any) -> None:
    variant = ALL_VARIANTS[name.partition("/")[2]]
    if learner == "tabular" and (variant.text_only or "language_model" in variant.kinds.values()):
        with pytest.raises(
            UsageError, match=r"about text, which tabular learners do not read|a language model has a seat"
        ):
            make_config(name, scale=scale, learner=learner)
        return
    config = make_config(name, scale=scale, learner=learner)
    assert config.recipe == name
    assert validated(config.model_dump(mode="json")) == config


def test_an_unknown_recipe_gets_a_did_you_mean() -> None:
    with pytest.raises(UsageError, match=r"unknown recipe 'shapellm/idp'\. Did you mean 'shapellm/ipd'"):
        make_config("shapellm/idp")


def test_lists_are_written_with_commas_or_as_json() -> None:
    config = make_config("shapellm/ipd")
    for text in ("7,8", "[7, 8]"):
        assert overridden(config, [f"seeds={text}"]).seeds == (7, 8)
    assert overridden(config, ["column.labels=H,K"]).column.labels == ("H", "K")
    with pytest.raises(UsageError, match=r"seeds: give several values with commas, e\.g\. seeds=1,2 \(got 3\)"):
        overridden(config, ["seeds=3"])
    with pytest.raises(UsageError, match=r"seeds\.1: .*integer.*'x'"):
        overridden(config, ["seeds=1,x"])


# --- Documentation -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Config, Seat, PPO, Adapter, RoundConfig, GroupGradient, PastSelves])
def test_every_setting_is_documented(kind: Any) -> None:
    """The page says of each what its type says."""
    page = (Path(__file__).parent.parent / "docs/reference/config.md").read_text(encoding="utf-8")
    for key, found in kind.model_fields.items():
        if key in (
            "version",
            "kind",
            "row",
            "column",
            "adapter",
            "learner",
            "past_selves",
            "ppo",
            "q",
            "reinforce",
            "exact",
            "lola",
        ):
            continue
        assert f"| `{key}` | " in page, f"{kind.__name__}.{key} is missing in docs/reference/config.md"
        words = " ".join(str(found.description).split())[:60]
        assert words.replace("``", "`") in page or words in page, f"{kind.__name__}.{key} is described otherwise"
