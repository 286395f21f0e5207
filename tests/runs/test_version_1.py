"""Version 1: configs that older runs and published results were written with are read as what they meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from coplay.errors import UsageError
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import PPO, ExactGradient, GroupGradient, Lola, QLearning, Reinforce
from coplay.recipes import make_config
from coplay.runs.config import Adapter, Config, PastSelves
from coplay.runs.config_input import flat, parse_config
from coplay.runs.version_1 import is_version_1

RESULTS = Path(__file__).parents[2] / "results"

ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def earlier(kind: str) -> dict[str, Any]:
    """A config as a run of version 1 wrote it: ``matrix``, ``text`` or ``exploiter``."""
    data: dict[str, Any] = json.loads((Path(__file__).parent / "version_1" / f"{kind}.json").read_text())
    return data


def assert_reads_as(data: dict[str, Any], expected: Config) -> None:
    """It is of version 1, becomes this config, and is read back as this from a file of version 2."""
    assert is_version_1(data)
    found = parse_config(data)
    assert found == expected
    again = json.loads(json.dumps(found.model_dump(mode="json")))
    assert again["version"] == 2 and not is_version_1(again)
    assert parse_config(again) == expected


# --- Spelled out ---------------------------------------------------------------------------------------------------------------------


def test_a_run_of_a_matrix_game() -> None:
    common = {"head_learning_rate": 0.05, "value_gradient": "head", "value_coef": 0.2, "kl_coef": 0.02, "epochs": 1}
    unused = {
        "q": QLearning(infinite_horizon=False),
        "reinforce": Reinforce(),
        "exact": ExactGradient(horizon="infinite"),
        "lola": Lola(horizon="infinite"),
    }
    shaper = LearnerConfig(
        role="shaper",
        policy="tabular",
        memory=Memory.TRIAL_COUNTS,
        algorithm="ppo",
        update="trial",
        sharing=0.8,
        initial=(0.6, 0.88, 0.12, 0.85, 0.2),
        ppo=PPO(learning_rate=0.0005, lam=0.8, minibatch=50, score_scaling=True, **common),  # type: ignore[arg-type]
        **unused,  # type: ignore[arg-type]
    )
    naive = LearnerConfig(
        role="naive",
        policy="tabular",
        memory=Memory.LAST_ROUND,
        algorithm="ppo",
        update="episode",
        sharing=0.8,
        initial=(0.6, 0.89, 0.89, 0.7, 0.68),
        ppo=PPO(learning_rate=0.01, lam=0.95, minibatch=10, score_scaling=True, **common),  # type: ignore[arg-type]
        **unused,  # type: ignore[arg-type]
    )
    assert_reads_as(
        earlier("matrix"),
        Config(
            version=2,
            recipe="shapellm/ipd",
            model="tiny",
            game="ipd",
            payoff_format=PayoffFormat.LIST,
            seeds=(0, 1, 2, 3, 4),
            trials=40,
            episodes=5,
            rounds=20,
            games=5,
            group_size=None,
            retries=0,
            learners={"row": shaper, "column": naive},
            seats={"row": ("row",), "column": ("column",)},
            rotate_seats=False,
            past_selves=PastSelves(),
            adapter=Adapter(rank=2, alpha=32.0, targets=("q_proj", "v_proj"), init_adapter=None, reference="start"),
            eval_games=100,
            checkpoint_every=10,
            threads=None,
            workers=None,
        ),
    )


def text_config(recipe: str, learner: LearnerConfig, *, bob: str, probability: float) -> Config:
    """What all of the paper's runs of the dilemma have in common."""
    return Config(
        recipe=recipe,
        model="tiny-talk",
        game="ipd-ab",
        seeds=(75, 76, 77, 78, 79),
        trials=80,
        episodes=1,
        rounds=10,
        games=64,
        group_size=64,
        retries=0,
        learners={"learner": learner},
        seats={"alice": ("learner",), "bob": (bob,)},
        rotate_seats=True,
        past_selves=PastSelves(probability=probability, snapshot_interval=10, pool_size=8),
        adapter=Adapter(rank=8, alpha=16.0, targets=ALL_LINEAR),
        eval_games=100,
        checkpoint_every=25,
    )


def text_learner(**group: Any) -> LearnerConfig:
    return LearnerConfig(
        role="learner",
        policy="language_model",
        replies=None,
        memory=Memory.LAST_ROUND,
        algorithm="group",
        update="trial",
        max_tokens=16,
        temperature=1.0,
        group=GroupGradient(
            learning_rate=0.005,
            lr_decay_updates=0,
            lr_end_factor=1.0,
            adam_eps=0.0003,
            max_grad_norm=1.0,
            discount=0.9,
            reward_scale=5.0,
            parse_error_penalty=0.0,
            beta=0.5,
            alignment_discount=0.9,
            entropy_coef=0.01,
            kl_coef=0.0,
            importance_cap=2.0,
            microbatch_size=64,
            **group,
        ),
    )


def test_a_run_of_a_text_game_with_past_selves() -> None:
    learner = text_learner(method="advantage_alignment", variant="paper")
    expected = text_config("adalign/ipd-ab", learner, bob="learner", probability=0.5)
    assert_reads_as(earlier("text"), expected)


def test_an_exploiter_against_a_scripted_player() -> None:
    data = earlier("exploiter")
    assert data["co_player"] == "cooperate"
    expected = text_config(
        "adalign/ipd-ab-exploiter-cooperate", text_learner(method="grpo"), bob="always_cooperate", probability=0.0
    )
    assert_reads_as(data, expected)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("self", "learner"),
        ("cooperate", "always_cooperate"),
        ("defect", "always_defect"),
        ("reciprocate", "tit_for_tat"),
        ("defect_once", "defect_once"),
        ("runs/ipd-ab", "runs/ipd-ab"),
        ("runs/ipd-ab:3", "runs/ipd-ab:3"),
        ("them.toml", "them.toml"),
    ],
)
def test_co_players(then: str, now: str) -> None:
    data = earlier("exploiter") | {"co_player": then}
    assert parse_config(data).seats == {"alice": ("learner",), "bob": (now,)}


def test_scripted_players_of_matrix_games_are_no_learners() -> None:
    data = earlier("matrix")
    data["column"]["player"] = "tit_for_tat"
    config = parse_config(data)
    assert list(config.learners) == ["row"] and config.seats == {"row": ("row",), "column": ("tit_for_tat",)}
    data["row"]["player"] = "random"
    assert parse_config(data).learners == {}


def test_every_renamed_setting() -> None:
    """Of those that no published run sets."""
    matrix = earlier("matrix") | {"layout": "table"}
    matrix["row"]["ppo"] |= {"warmup_updates": 3, "decay_updates": 7, "final_rate": 0.25}
    matrix["row"]["exact"]["horizon"] = "episode"
    matrix["row"]["q"]["endless"] = True
    matrix["adapter"] |= {"start": "some/adapter", "reference": "base"}
    config = parse_config(matrix)
    row = config.learners["row"]
    assert config.payoff_format == "table"
    assert (row.ppo.lr_warmup_updates, row.ppo.lr_decay_updates, row.ppo.lr_end_factor) == (3, 7, 0.25)
    assert (row.exact.horizon, row.lola.horizon, row.q.infinite_horizon) == ("episode", "infinite", True)
    assert (config.adapter.init_adapter, config.adapter.reference) == ("some/adapter", "base")
    text = earlier("text") | {"retries": 2, "temperature": 0.7, "past": "chat", "longest": 99}
    text["learner"] |= {"decay_updates": 5, "final_rate": 0.5, "price": 1.5, "rows": 8}
    text["past_selves"] = {"share": 0.25, "every": 4, "kept": 2}
    config = parse_config(text)
    learner = config.learners["learner"]
    assert (config.retries, learner.temperature, learner.memory, learner.max_tokens) == (2, 0.7, Memory.CHAT, 99)
    group = learner.group
    assert (group.lr_decay_updates, group.lr_end_factor, group.parse_error_penalty) == (5, 0.5, 1.5)
    assert group.microbatch_size == 8
    assert config.past_selves == PastSelves(probability=0.25, snapshot_interval=4, pool_size=2)


def test_what_is_left_out_has_the_value_it_had() -> None:
    text = parse_config({"kind": "rounds", "recipe": "r", "game": "split-no-comm", "trials": 3})
    assert (text.model, text.rounds, text.games, text.group_size, text.episodes) == ("tiny-talk", 10, 64, 8, 1)
    learner = text.learners["learner"]
    assert (learner.memory, learner.max_tokens, learner.group) == (Memory.CHAT, 400, GroupGradient())
    assert text.seats == {"alice": ("learner",), "bob": ("learner",)} and text.past_selves.probability == 0
    matrix = parse_config({"recipe": "r", "game": "ipd", "trials": 3, "row": {"role": "a"}, "column": {"role": "b"}})
    assert (matrix.model, matrix.rounds, matrix.games, matrix.episodes) == ("tiny", 20, 5, 5)
    assert {name: (one.role, one.policy) for name, one in matrix.learners.items()} == {
        "row": ("a", "language_model"),
        "column": ("b", "language_model"),
    }


@pytest.mark.parametrize("model", ["tiny", "tiny-second"])
def test_the_embedded_models_of_text_games(model: str) -> None:
    assert parse_config(earlier("text") | {"model": model}).model == model.replace("tiny", "tiny-talk")
    assert parse_config(earlier("matrix") | {"model": model}).model == model


def test_what_version_1_did_not_know_is_refused() -> None:
    for kind in ("matrix", "text"):
        with pytest.raises(UsageError, match=r"trails: there is no such key\. Did you mean 'trials'"):
            parse_config(earlier(kind) | {"trails": 3})
    data = earlier("text")
    data["learner"]["beeta"] = 1
    with pytest.raises(
        UsageError, match=r"learners\.learner\.group\.beeta: there is no such key\. Did you mean 'beta'"
    ):
        parse_config(data)


# --- Published runs --------------------------------------------------------------------------------------------------------------------

PUBLISHED = sorted(str(path.parent.relative_to(RESULTS)) for path in RESULTS.rglob("config.json"))

DIFFERENT = {
    "qwen-coder/ipd": {"model"},
    "qwen-coder/ipd-16-trials": {"model", "trials"},
    "qwen-coder/icg-12-trials": {"model", "trials"},
    # The first comparison of exploit pools, before replies that cannot be parsed were priced.
    "sepo/runs": {"learners.learner.group.parse_error_penalty"},
    "shapellm/controls-tabular": {"trials"},
    "shapellm/ish-other-labels": {"learners.row.labels", "learners.column.labels"},
    "shapellm/reversed-order": {
        "trials",
        "learners.row.initial",
        "learners.column.initial",
        "learners.row.ppo.learning_rate",
        "learners.row.ppo.entropy_initial",
        "learners.row.ppo.entropy_updates",
    },
}
"""Settings in which published runs of a folder differ from their recipes."""

ANY = {"seeds", "threads", "workers", "seats.bob", "adapter.init_adapter"}
"""Settings in which all may differ: machines, and what was trained before."""


def test_there_are_published_configs() -> None:
    assert len(PUBLISHED) >= 116


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_config_is_read_as_its_recipe(name: str) -> None:
    """The translation of what was written then is what the recipe of that name says today, setting by setting."""
    config = parse_config(json.loads((RESULTS / name / "config.json").read_text()))
    assert parse_config(config.model_dump(mode="json")) == config
    tables = all(learner.policy == "tabular" for learner in config.learners.values())
    today = make_config(config.recipe, learner="tabular" if tables else "language_model")
    then, now = (flat(one.model_dump(mode="json")) for one in (config, today))
    differing = {key for key in then.keys() | now.keys() if then.get(key) != now.get(key)}
    assert differing <= ANY | DIFFERENT.get(str(Path(name).parent), set())
