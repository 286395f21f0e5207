"""The conformance kit for games finds what it says it finds."""

import dataclasses
from typing import Any

import pytest

from coplay.games import GAMES, MatrixGame, make_game
from coplay.games.check import check_game, failures
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict

IPD = make_game("ipd")


@pytest.mark.parametrize("name", GAMES)
def test_the_catalogue_has_no_problems(name: str) -> None:
    assert check_game(make_game(name)) == []


def test_large_games_are_checked_in_reasonable_time() -> None:
    n, m = 5, 6
    payoffs = [[[i, j] for j in range(m)] for i in range(n)]
    actions = [[f"a{i}" for i in range(n)], [f"b{j}" for j in range(m)]]
    assert check_game(game_from_dict({"name": "large", "actions": actions, "payoffs": payoffs})) == []


def both(*words: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(SEATS, words)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actions": {ROW: ("a", "b")}}, "actions must have an entry for each of row, column"),
        (
            {"actions": both("a"), "labels": both("A"), "payoffs": (((0, 1),),)},
            "row must have at least 2 actions, got 1",
        ),
        ({"labels": both("C")}, "row must have one label for each of its 2 actions, got 1"),
        ({"labels": both("C", "C")}, "labels of row must differ from one another, got C, C"),
        ({"labels": both("C", "C")}, "row reads the same prompt (list) after Observation(last="),
        ({"labels": both("C", "")}, "labels of row must not be empty"),
        ({"labels": both("defect", "cooperate")}, "'defect' should name 'cooperate' but names 'defect'"),
        ({"actions": both("a", "a")}, "actions of row must differ"),
        ({"payoffs": IPD.payoffs[:1]}, "payoffs must be 2 rows of 2 pairs"),
        ({"payoffs": (((3, 3), (0, float("nan"))), IPD.payoffs[1])}, "finite numbers"),
        ({"null_payoff": float("nan")}, "null_payoff must be a finite number"),
        ({"rounds": 0}, "rounds must be at least 1"),
    ],
)
def test_mistakes_are_found(change: dict[str, Any], problem: str) -> None:
    problems = check_game(dataclasses.replace(IPD, **change))
    assert any(problem in found for found in problems), problems
    assert failures(problems)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"null_payoff": 0.0}, "null_payoff 0 is not below the lowest payoff 0"),
        # The published example file of the ShapeLLM code: both matrices indexed [own][other].
        ({"payoffs": (((3, 3), (0, 0)), ((4, 4), (1, 1)))}, "both seats get the same payoff"),
    ],
)
def test_oddities_are_warned_of(change: dict[str, Any], problem: str) -> None:
    problems = check_game(dataclasses.replace(IPD, **change))
    assert len(problems) == 1
    assert problems[0].startswith("warning: ")
    assert problem in problems[0]
    assert failures(problems) == []


class Untransposed(MatrixGame):
    """Column looks its payoff up as if it were row."""

    def payoff(self, seat: str, *, own: str, other: str) -> float:
        i, j = self.actions[seat].index(own), self.actions[COLUMN if seat == ROW else ROW].index(other)
        return self.payoffs[i][j][SEATS.index(seat)]


class ClaimsSymmetry(MatrixGame):
    """Says it is symmetric, whatever its payoffs."""

    @property
    def is_symmetric(self) -> bool:
        return True


class Nameless(MatrixGame):
    """Has one name for all joint actions."""

    def state_name(self, joint: tuple[str, str] | None) -> str:
        return "X"


def rebuilt(kind: type[MatrixGame], game: MatrixGame) -> MatrixGame:
    return kind(**{field.name: getattr(game, field.name) for field in dataclasses.fields(game)})


def test_overridden_rules_are_checked_too() -> None:
    assert any("the table says" in found for found in check_game(rebuilt(Untransposed, IPD)))
    assert check_game(rebuilt(ClaimsSymmetry, IPD)) == []
    assert any("symmetric" in found for found in check_game(rebuilt(ClaimsSymmetry, make_game("c-ipd"))))
    assert any("state names" in found for found in check_game(rebuilt(Nameless, IPD)))
