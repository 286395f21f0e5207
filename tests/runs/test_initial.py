"""A table's initial policy belongs to its recipe's game: in a game that it does not fit the table starts from uniform."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import QUIET

from coplay.api import make_config
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.runs.checks import check_without_weights
from coplay.runs.initial import initial_length
from coplay.runs.train import train

RPS = """
name = "rps"
actions = ["rock", "paper", "scissors"]
labels = ["R", "P", "S"]
payoffs = [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]]
rounds = 4
"""


@pytest.fixture
def rps(tmp_path: Path) -> str:
    """A game of three actions."""
    (tmp_path / "rps.toml").write_text(RPS)
    return str(tmp_path / "rps.toml")


def test_games_that_have_initial_policies() -> None:
    assert {
        name: initial_length(make_game(name), make_game(name).seats[0]) for name in ("ipd", "kuhn", "public-goods")
    } == {
        "ipd": 5,
        "kuhn": None,
        "public-goods": 1 + 2 ** len(make_game("public-goods").seats),
    }


def test_in_a_game_of_three_actions_tables_start_from_uniform(rps: str, tmp_path: Path) -> None:
    named = make_config("shapellm/ipd", learner="tabular", game=rps, trials=1, games=1, seeds=[0], eval_games=1)
    for config in (named, make_config("shapellm/ipd", f"game={rps}", "trials=1", learner="tabular")):
        assert [learner.initial for learner in config.learners.values()] == [None, None]
        check_without_weights(config)
    game = train(named, tmp_path / "run", progress=QUIET).episodes()[0]
    assert game["rounds"][0]["acts"][0]["probs"] == {"rock": 0.33333, "paper": 0.33333, "scissors": 0.33333}


def test_where_it_fits_it_stays() -> None:
    plain = make_config("shapellm/ipd", learner="tabular")
    assert plain.learners["row"].initial is not None
    assert make_config("shapellm/ipd", "game=chicken", learner="tabular").learners == plain.learners


def test_one_that_was_asked_for_is_refused(rps: str) -> None:
    config = make_config("shapellm/ipd", f"game={rps}", "row.initial=.5,.5,.5,.5,.5", learner="tabular")
    with pytest.raises(UsageError, match=r"learners\.row\.initial: game 'rps' has more than two actions"):
        check_without_weights(config)


def test_a_game_that_is_none_is_told_when_the_config_is_checked() -> None:
    config = make_config("shapellm/ipd", "game=chess", learner="tabular")
    with pytest.raises(UsageError, match="chess"):
        check_without_weights(config)
