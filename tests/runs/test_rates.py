"""Learning rates with which nothing can be learnt are refused before anything is written, and all that recipes have pass."""

from pathlib import Path

import pytest

from coplay.api import make_config
from coplay.errors import UsageError
from coplay.learners.config import LearnerConfig
from coplay.recipes import RECIPES
from coplay.runs.rates import check_rates
from coplay.runs.train import train


def learner(policy: str, algorithm: str, **settings: object) -> LearnerConfig:
    section = {"q_learning": "q"}.get(algorithm, algorithm)
    return LearnerConfig.model_validate(
        {"policy": policy, "algorithm": algorithm, "update": "trial", section: settings, "memory": "last_round"}
    )


@pytest.mark.parametrize(
    ("policy", "algorithm", "settings", "told"),
    [
        (
            "language_model",
            "ppo",
            {"learning_rate": 1e9},
            r"learners\.x\.ppo\.learning_rate=1e\+09 is too large.* at most 1$",
        ),
        ("tabular", "ppo", {"learning_rate": 11}, r"ppo\.learning_rate=11 .* at most 10$"),
        ("tabular", "ppo", {"head_learning_rate": 11}, r"ppo\.head_learning_rate=11 .* at most 10$"),
        ("tabular", "ppo", {"learning_rate": 0.1, "weight_decay": 11}, r"ppo\.weight_decay=11 .* at most 10$"),
        ("language_model", "group", {"learning_rate": 1.5}, r"group\.learning_rate=1\.5 .* at most 1$"),
        ("tabular", "group", {"learning_rate": 101, "adam_eps": 10}, r"group\.learning_rate=101 .* at most 100$"),
        ("network", "dqn", {"learning_rate": 2}, r"dqn\.learning_rate=2 .* at most 1$"),
        ("tabular", "reinforce", {"learning_rate": 1e4}, r"reinforce\.learning_rate=10000 .* at most 1000$"),
        ("tabular", "exact", {"learning_rate": 1e4}, r"exact\.learning_rate=10000 .* at most 1000$"),
        ("tabular", "lola", {"co_player_rate": 1e4}, r"lola\.co_player_rate=10000 .* at most 1000$"),
    ],
)
def test_rates_beyond_all_sense(policy: str, algorithm: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_rates("x", learner(policy, algorithm, **settings))


def test_large_rates_that_make_sense() -> None:
    check_rates("x", learner("tabular", "ppo", learning_rate=10))
    check_rates("x", learner("tabular", "ppo", learning_rate=0.1, weight_decay=9))
    check_rates("x", learner("tabular", "group", learning_rate=1e6, adam_eps=1e6))  # plain ascent, in effect
    check_rates("x", learner("tabular", "lola", learning_rate=25))


def test_all_recipes_pass() -> None:
    for name in RECIPES:
        tables = name.startswith("sepo/") and name.endswith("-round")
        for one, settings in make_config(name, learner="tabular" if tables else "language_model").learners.items():
            check_rates(one, settings)


def test_nothing_is_written(tmp_path: Path) -> None:
    config = make_config("shapellm/ipd", "row.ppo.learning_rate=1e9", learner="tabular")
    with pytest.raises(UsageError, match=r"learners\.row\.ppo\.learning_rate"):
        train(config, tmp_path / "run")
    assert not any(tmp_path.iterdir())
