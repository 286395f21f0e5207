"""Configs: overrides, what is refused and how, and that every setting is documented."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.recipes import make_config
from coplay.runs.checks import check_without_weights
from coplay.runs.config_input import parse_config, with_overrides, with_values

IPD = make_config("shapellm/ipd")


def problem(*assignments: str) -> str:
    with pytest.raises(UsageError) as caught:
        with_overrides(IPD, list(assignments))
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
        ("row.group.beta=3", "row.group.beta", 3.0),
        ("row.replies=text", "row.replies", "text"),
        ("payoff_format=table", "payoff_format", PayoffFormat.TABLE),
        ("seats.row=row,tit_for_tat", "seats.row", ("row", "tit_for_tat")),
        ('seats.row=["row","random:0.3"]', "seats.row", ("row", "random:0.3")),
        ("rotate_seats=true", "rotate_seats", True),
        ("group_size=2", "group_size", 2),
        ("column.initial=[0.5,0.1,0.2,0.3,0.4]", "column.initial", (0.5, 0.1, 0.2, 0.3, 0.4)),
        ("adapter.rank=8", "adapter.rank", 8),
        ("game=icg", "game", "icg"),
        ("chat=llama", "chat", "llama"),
    ],
)
def test_an_override_changes_that_and_nothing_else(assignment: str, path: str, value: object) -> None:
    changed = with_overrides(IPD, [assignment])
    parts = ["learners", *path.split(".")] if path.startswith(("row", "column")) else path.split(".")
    found: Any = changed
    for part in parts:
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == value
    back: Any = changed.model_dump(mode="json")
    original: Any = IPD.model_dump(mode="json")
    if path == "row.replies":
        original["model"] = "tiny-talk"  # the embedded model that replies in text
    place, before = back, original
    *parents, leaf = parts
    for part in parents:
        place, before = place[part], before[part]
    place[leaf] = before[leaf]
    assert back == original


def test_a_game_may_be_spelled_out() -> None:
    game = {"name": "g", "actions": ["a", "b"], "payoffs": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}
    assert with_overrides(IPD, [f"game={json.dumps(game)}"]).game == game


def test_settings_of_a_game_that_was_named() -> None:
    changed = with_overrides(IPD, ["game=public-goods", "game.n=4", "game.multiplier=2.5"])
    assert changed.game == {"name": "public-goods", "n": 4, "multiplier": 2.5}
    assert changed.game_name == "public-goods"


def test_later_overrides_win_and_sections_can_be_replaced() -> None:
    changed = with_overrides(IPD, ["trials=1", "trials=2", 'learners.column={"role": "twin", "policy": "tabular"}'])
    assert changed.trials == 2
    assert changed.learners["column"] == LearnerConfig(role="twin", policy="tabular")


def test_a_learners_name_stands_for_its_section() -> None:
    short, full = (with_overrides(IPD, [f"{prefix}row.ppo.clip=0.3"]) for prefix in ("", "learners."))
    assert short == full and short.learners["row"].ppo.clip == 0.3


def test_who_gives_up_its_last_seat_is_left_out() -> None:
    """``seats.column=tit_for_tat`` says all that is meant."""
    changed = with_overrides(IPD, ["seats.column=tit_for_tat", "trials=3"])
    assert list(changed.learners) == ["row"] and changed.seats == {"row": ("row",), "column": ("tit_for_tat",)}
    assert list(with_overrides(IPD, ["seats.column=row"]).learners) == ["row"]  # self-play
    assert list(with_overrides(IPD, ["seats.column=column,tit_for_tat"]).learners) == ["row", "column"]
    assert with_values(IPD, {"seats": {"row": ("random",), "column": ("column",)}}).learners.keys() == {"column"}
    assert problem("seats.column=tit_for_tat", 'learners={"a": {}}').startswith(
        "config: learner 'a' has no seat; seat it"
    )


def test_roles_are_what_reports_call_who_sits_where() -> None:
    assert IPD.roles() == {"row": "shaper", "column": "naive"}
    changed = with_overrides(IPD, ["seats.column=column,tit_for_tat"])
    assert changed.roles() == {"row": "shaper", "column": "naive or tit_for_tat"}


def test_groups() -> None:
    assert [with_overrides(IPD, ["games=7", f"group_size={size}"]).groups for size in ("null", "7", "3", "1")] == [
        1, 1, 3, 7
    ]  # fmt: skip


@given(st.floats(1e-9, 1.0), st.integers(1, 1000), st.booleans())
def test_configs_survive_json(rate: float, number: int, flag: bool) -> None:
    config = with_overrides(
        IPD, [f"row.ppo.learning_rate={rate!r}", f"games={number}", f"column.ppo.kl_adaptive={json.dumps(flag)}"]
    )
    assert parse_config(json.loads(json.dumps(config.model_dump(mode="json")))) == config


# --- Mistakes ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "field", "meant"),
    [
        ("trails=3", "trails", "trials"),
        ("row.ppo.learning_rat=1", "learners.row.ppo.learning_rat", "learning_rate"),
        ("row.pppo.clip=1", "row.pppo.clip", "ppo"),
        ("colum.role=x", "colum.role", "column"),
        ("row.memroy=none", "learners.row.memroy", "memory"),
        ("past_selves.pool=3", "past_selves.pool", "pool_size"),
        ("learners.colum.role=x", "learners.colum.role", "column"),
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
        ("row.ppo.learning_rate=0", "learners.row.ppo.learning_rate: input should be greater than 0 (got 0)"),
        ("row.ppo.learning_rate=NaN", "learners.row.ppo.learning_rate: "),
        ("row.ppo.kl_coef=Infinity", "learners.row.ppo.kl_coef: input should be a finite number"),
        ("row.ppo.lam=2", "learners.row.ppo.lam: input should be less than or equal to 1 (got 2)"),
        ("row.ppo=3", "learners.row.ppo: "),
        ("row.memory=everything", "learners.row.memory: input should be 'none', 'last_round'"),
        ("row.update=daily", "learners.row.update: input should be 'round', 'episode', 'trial' or 'never'"),
        ("column.initial=[0.5,1]", "learners.column.initial: every probability must lie strictly between 0 and 1"),
        ("chat=chatml", "chat: "),
        ("game=5", "game: "),
        ("version=3", "version: "),
        ("group_size=0", "group_size: "),
        ("retries=-1", "retries: "),
        ("seats.row=[]", "seats.row: value should have at least 1 item"),
        ("seats.row=5", "seats.row: give several values with commas, e.g. seats.row=1,2"),
        ("seats=3", "seats: "),
        ("learners.row=3", "learners.row: "),
        (
            "past_selves.probability=0.5",
            "config: past selves are met in self-play, where one learner has several seats",
        ),
        ('learners={"a": {}}', "config: learner 'a' has no seat; seat it, e.g. seats.row=a"),
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
    assert problem("trials.a=3") == f"trials.a: trials is a single value here ({IPD.trials}), not a section"
    assert problem("row.ppo.clip.a=3").startswith("row.ppo.clip.a: clip is a single value here")


def test_an_episode_needs_two_transitions_to_learn_from() -> None:
    assert "at least 2 for column to learn" in problem("games=1", "rounds=1")
    assert with_overrides(IPD, ["games=1", "rounds=1", "column.update=trial"]).games == 1


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ["row.algorithm=lola"],
            "learners.row: algorithm=lola is for policy=tabular; a policy=language_model learns with algorithm=ppo or group."
            " Set policy=tabular, or algorithm=ppo",
        ),
        (
            ["row.policy=tabular", "row.algorithm=exact"],
            "learners.row: algorithm=exact needs memory=last_round, not trial_counts",
        ),
        (
            ["column.policy=tabular", "column.algorithm=q_learning", "column.memory=episode_counts"],
            "learners.column: algorithm=q_learning needs memory=none or last_round, not episode_counts",
        ),
        (
            ["column.update=round"],
            "learners.column: update=round is for algorithm=q_learning; with algorithm=ppo choose episode, trial or never",
        ),
        (
            ["column.policy=tabular", "column.algorithm=q_learning", "column.initial=[0.5,0.5,0.5,0.5,0.5]"],
            "learners.column: algorithm=q_learning starts from q.initial_value and has no initial policy; set initial=null",
        ),
        (["row.reset=trial"], "learners.row: reset=trial is for learners that learn within a trial; with update=trial"),
        (["row.reciprocity=0.5"], "learners.row: reciprocity scales the answers of an initial policy; set initial, or"),
        (
            ["column.lola.discount=1"],
            "learners.column.lola: the value of an infinite game needs a discount below 1, or",
        ),
        (
            ['column.q={"infinite_horizon": true, "discount": 1}'],
            "learners.column.q: the values of an infinite game need a discount",
        ),
        (
            ["column.algorithm=sarsa"],
            "learners.column.algorithm: input should be 'ppo', 'group', 'dqn', 'q_learning', 'reinforce'",
        ),
        (
            ["column.algorithm=dqn"],
            "learners.column: algorithm=dqn is for policy=network, not language_model. Set policy=network, or algorithm=ppo",
        ),
        (
            ["column.policy=network", "column.memory=transcript"],
            "learners.column: policy=network needs memory=none or last_round or window, not transcript",
        ),
    ],
)
def test_what_an_algorithm_cannot_be_combined_with(overrides: list[str], expected: str) -> None:
    said = problem(*overrides)
    assert said.startswith(expected) and "\n" not in said


@pytest.mark.parametrize(
    "overrides",
    [
        ["column.policy=tabular", "column.algorithm=q_learning", "column.update=round", "column.memory=none"],
        ["column.policy=tabular", "column.algorithm=reinforce", "column.memory=trial_counts"],
        ["column.policy=tabular", "column.algorithm=lola", "column.lola.horizon=episode", "column.lola.discount=1"],
        ["column.policy=tabular", "column.algorithm=group"],
        ["column.algorithm=group", "column.update=trial"],
        ["column.replies=text", "column.algorithm=ppo"],
    ],
)
def test_what_algorithms_can_be_combined_with(overrides: list[str]) -> None:
    config = with_overrides(IPD, overrides)
    algorithm = next(one.partition("=")[2] for one in overrides if "algorithm" in one)
    assert (config.learners["column"].algorithm, config.learners["row"].algorithm) == (algorithm, "ppo")


def test_configs_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        IPD.trials = 3  # type: ignore[misc]


# --- Games of very many states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "learner", "memory", "most"),
    [
        ("public-goods:n=12", "tabular", "last_round", 1024),
        ("public-goods:n=6", "tabular", "trial_counts", 32),
        ("public-goods:n=9", "language_model", "episode_counts", 256),
    ],
)
def test_more_states_than_can_be_learnt_are_refused(game: str, learner: str, memory: str, most: int) -> None:
    config = make_config("any/naive", game=game, learner=learner)  # type: ignore[arg-type]
    states = 2 ** len(config.seats)
    config = with_overrides(config, [f"{name}.memory={memory}" for name in config.learners])
    message = (
        rf"^learners\.player-1: a round of game 'public-goods' can end in {states} states, .* takes at most {most};"
    )
    with pytest.raises(UsageError, match=message):
        check_without_weights(config)


def test_memories_that_show_no_counts_take_any_number_of_seats() -> None:
    check_without_weights(make_config("any/naive", game="public-goods:n=12"))
    check_without_weights(make_config("any/naive", game="public-goods:n=10", learner="tabular"))
