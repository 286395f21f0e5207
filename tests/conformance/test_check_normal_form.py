"""The conformance kit finds mistakes in games in normal form: actions, labels, payoffs, prompts."""

import dataclasses
from typing import Any

import pytest

from coplay.conformance.games import check_game, failures
from coplay.games import MatrixGame, make_game
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import Joint
from coplay.games.public_goods import KEEP, PublicGoods
from coplay.games.records import Outcome, Round

IPD = matrix_game("ipd")


def test_large_games_are_checked_in_reasonable_time() -> None:
    n, m = 5, 6
    payoffs = [[[i, j] for j in range(m)] for i in range(n)]
    actions = [[f"a{i}" for i in range(n)], [f"b{j}" for j in range(m)]]
    assert check_game(game_from_dict({"name": "large", "actions": actions, "payoffs": payoffs})) == []
    assert check_game(make_game("public-goods:n=8")) == []  # 256 joint actions


def both(*words: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(SEATS, words)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actions": {ROW: ("a", "b")}}, "actions must have an entry for each of row, column"),
        (
            {"actions": both("a"), "labels": both("A"), "table": (((0, 1),),)},
            "row must have at least 2 actions, got 1",
        ),
        ({"labels": both("C")}, "row must have one label for each of its 2 actions, got 1"),
        ({"labels": both("C", "C")}, "labels of row must differ from one another, got C, C"),
        ({"labels": both("C", "C")}, "row reads the same prompt (list) after Observation(last="),
        ({"labels": both("C", "")}, "labels of row must not be empty"),
        ({"labels": both("defect", "cooperate")}, "'defect' should name 'cooperate' but names 'defect'"),
        ({"actions": both("a", "a")}, "actions of row must differ"),
        ({"table": IPD.table[:1]}, "payoffs must be 2 rows of 2 pairs"),
        ({"table": (((3, 3), (0, float("nan"))), IPD.table[1])}, "finite numbers"),
        ({"null_payoff": float("nan")}, "null_payoff must be a finite number"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
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
        ({"table": (((3, 3), (0, 0)), ((4, 4), (1, 1)))}, "all seats get the same payoff"),
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
        return self.table[i][j][SEATS.index(seat)]


class ClaimsSymmetry(MatrixGame):
    """Says it is symmetric, whatever its payoffs."""

    @property
    def is_symmetric(self) -> bool:
        return True


class Nameless(MatrixGame):
    """Has one name for all joint actions."""

    def state_name(self, outcome: Outcome) -> str:
        return "X"


class OtherOrder(MatrixGame):
    """Lists a seat's states with the co-player's action first."""

    def own_states(self, seat: str) -> list[Joint]:
        return [(own, theirs) for theirs, own in super().own_states(seat)]


class PaysMore(MatrixGame):
    """Pays other sums than its prompts say."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return {seat: None if paid is None else paid + 1 for seat, paid in super().payoffs(now).items()}


def rebuilt(kind: type[MatrixGame], game: MatrixGame) -> MatrixGame:
    return kind(**{field.name: getattr(game, field.name) for field in dataclasses.fields(game)})


def test_overridden_rules_are_checked_too() -> None:
    assert any("the table says" in found for found in check_game(rebuilt(Untransposed, IPD)))
    assert check_game(rebuilt(ClaimsSymmetry, IPD)) == []
    assert any("symmetric" in found for found in check_game(rebuilt(ClaimsSymmetry, matrix_game("c-ipd"))))
    assert any("state names" in found for found in check_game(rebuilt(Nameless, IPD)))
    assert any("own_states('column') must list" in found for found in check_game(rebuilt(OtherOrder, IPD)))
    assert any(
        "seats get (4.0, 4.0), but joint_payoffs says (3.0, 3.0)" in f for f in check_game(rebuilt(PaysMore, IPD))
    )


class ClaimsEquality(PublicGoods):
    """Three seats, of which the last one is paid double."""

    def joint_payoffs(self, joint: Joint) -> tuple[float, ...]:
        first, second, third = super().joint_payoffs(joint)
        return first, second, 2 * third

    @property
    def is_symmetric(self) -> bool:
        return True


class WrongSum(PublicGoods):
    """Pays a keeper who keeps alone more than it says."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        paid = super().payoffs(now)
        alone = [act.seat for act in now.acts if act.action == KEEP]
        return {**paid, alone[0]: 9.0} if len(alone) == 1 else paid


def test_games_of_more_seats_are_checked_as_well() -> None:
    assert check_game(PublicGoods(n=4)) == []
    assert "the game says it is symmetric, but its payoffs change when two seats are swapped" in check_game(
        ClaimsEquality()
    )
    assert any("but joint_payoffs says (3.0, 3.0, 6.0)" in found for found in check_game(WrongSum()))
