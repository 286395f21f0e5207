"""Configs: overrides, what is refused and how, and that every setting is documented."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.runs.config import PPO, Adapter, Config, ExactGradient, Lola, QLearning, Reinforce, Seat
from coplay.runs.config_input import overridden, validated
from coplay.errors import UsageError
from coplay.games.memory import Memory
from coplay.recipes import make_config
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
