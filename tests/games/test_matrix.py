"""Matrix games: the papers' tables, one source of payoffs, and errors that say what to do."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.games import GAMES, MatrixGame, make_game
from coplay.games.catalogue import matrix_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict, null_payoff
from coplay.games.records import Outcome

# (row's, column's) payoffs in the order of the states, and r_null: ShapeLLM, Tables 4 and 5, appendix A.1.
PUBLISHED = {
    "ipd": (["CC", "CD", "DC", "DD"], [(3, 3), (0, 4), (4, 0), (1, 1)], -1),
    "imp": (["HH", "HT", "TH", "TT"], [(1, -1), (-1, 1), (-1, 1), (1, -1)], -2),
    "icg": (["SS", "SG", "GS", "GG"], [(2, 2), (1, 3), (3, 1), (-5, -5)], -6),
    "ish": (["SS", "SH", "HS", "HH"], [(4, 4), (0, 3), (3, 0), (1, 1)], -1),
    "c-ipd": (["CC", "CD", "DC", "DD"], [(6, 3), (0, 4), (4, 0), (1, 1)], -1),
}


def test_all_published_games_are_there() -> None:
    assert {name for name, game in GAMES.items() if type(game) is MatrixGame} == set(PUBLISHED)
    assert set(GAMES) - set(PUBLISHED) >= {"ipd-ab", "split-no-comm", "trust-and-split", "public-goods"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_payoffs(name: str) -> None:
    game = make_game(name)
    states, payoffs, null = PUBLISHED[name]
    assert [game.state_name(Outcome(state)) for state in game.states] == states
    seen = [(game.payoff(ROW, own=a, other=b), game.payoff(COLUMN, own=b, other=a)) for a, b in game.states]
    assert seen == payoffs
    assert game.null_payoff == null
    assert game.rounds == 20
    assert game.is_symmetric == (name in {"ipd", "icg", "ish"})


def test_the_dilemma_in_text_is_the_published_one() -> None:
    """Learning Robust Social Strategies, section 4: 3/0/5/1, ten rounds, and a reply that cannot be parsed gets nothing."""
    game = matrix_game("ipd-ab")
    assert [game.joint_payoffs(joint) for joint in game.states] == [(3, 3), (0, 5), (5, 0), (1, 1)]
    assert (game.null_payoff, game.rounds, game.is_symmetric) == (0, 10, True)
    assert {game.labels[seat] for seat in game.seats} == {("A", "B")}
    assert game.state_names() == ("CC", "CD", "DC", "DD", "I")


def test_payoffs_of_the_docstring() -> None:
    ipd = make_game("ipd")
    assert ipd.payoff("column", own="defect", other="cooperate") == 4.0
    assert ipd.payoff("column", own="cooperate", other="defect") == 0.0
    assert make_game("c-ipd").payoff("row", own="cooperate", other="cooperate") == 6.0
    assert make_game("c-ipd").payoff("column", own="cooperate", other="cooperate") == 3.0


def test_equilibria_are_the_textbook_ones() -> None:
    """The games are the games they are named after: their equilibria, computed by nashpy."""
    nashpy = pytest.importorskip("nashpy")
    expected: dict[str, set[tuple[float, float]]] = {  # P(first action) of row, column
        "ipd": {(0, 0)},
        "imp": {(0.5, 0.5)},
        "icg": {(1, 0), (0, 1), (6 / 7, 6 / 7)},
        "ish": {(1, 1), (0, 0), (0.5, 0.5)},
        "c-ipd": {(0, 0)},
    }
    for name in expected:
        game = matrix_game(name)
        tables = [[[cell[s] for cell in row] for row in game.table] for s in range(2)]
        found = {(round(float(r[0]), 9), round(float(c[0]), 9)) for r, c in nashpy.Game(*tables).support_enumeration()}
        assert found == {(round(a, 9), round(b, 9)) for a, b in expected[name]}, name


# --- Any game -----------------------------------------------------------------------------------------------------------------


@st.composite
def games(draw: st.DrawFn) -> MatrixGame:
    n, m = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    number = st.integers(-9, 9) | st.floats(-9, 9)
    payoffs = [[[draw(number), draw(number)] for _ in range(m)] for _ in range(n)]
    actions = [[f"up{i}" for i in range(n)], [f"left{j}" for j in range(m)]]
    return game_from_dict({"name": "any", "actions": actions, "payoffs": payoffs})


@given(games())
def test_views_are_the_table_and_its_transpose(game: MatrixGame) -> None:
    for i, a in enumerate(game.actions[ROW]):
        for j, b in enumerate(game.actions[COLUMN]):
            assert game.payoff(ROW, own=a, other=b) == game.table[i][j][0]
            assert game.payoff(COLUMN, own=b, other=a) == game.table[i][j][1]
            assert game.joint_payoffs((a, b)) == game.table[i][j]


@given(games())
def test_swapping_the_seats_swaps_the_payoffs(game: MatrixGame) -> None:
    n, m = len(game.table), len(game.table[0])
    swapped = dataclasses.replace(
        game,
        actions={seat: game.actions[game.other(seat)] for seat in SEATS},
        labels={seat: game.labels[game.other(seat)] for seat in SEATS},
        table=tuple(tuple((game.table[i][j][1], game.table[i][j][0]) for i in range(n)) for j in range(m)),
    )
    for seat in SEATS:
        assert swapped.own_states(game.other(seat)) == game.own_states(seat)
        for own, theirs in game.own_states(seat):
            assert swapped.payoff(game.other(seat), own=own, other=theirs) == game.payoff(seat, own=own, other=theirs)


@given(games())
def test_names_lead_back_to_actions(game: MatrixGame) -> None:
    for seat in SEATS:
        for action, label in zip(game.actions[seat], game.labels[seat], strict=True):
            assert game.action_named(seat, action) == action
            assert game.action_named(seat, label) == action
    names = [game.state_name(Outcome(state)) for state in game.states]
    names.append(game.state_name(Outcome((None, None), parsed=False)))
    assert game.state_names() == tuple(names)
    assert len(set(names)) == len(game.states) + 1
    assert names[-1] == "I"


@given(games())
def test_null_payoff_is_one_below_the_lowest(game: MatrixGame) -> None:
    assert game.null_payoff == min(x for row in game.table for cell in row for x in cell) - 1
    assert game.null_payoff == null_payoff(game.table)


@given(st.lists(st.integers(-9, 9), min_size=9, max_size=9))
def test_with_payoffs_makes_a_symmetric_game(payoffs: list[int]) -> None:
    base = game_from_dict({"name": "rps", "actions": ["r", "p", "s"], "payoffs": [[[0, 0]] * 3] * 3})
    game = base.with_payoffs(payoffs)
    assert game.is_symmetric
    assert [game.payoff(ROW, own=a, other=b) for a, b in game.own_states(ROW)] == payoffs
    assert game.null_payoff == min(payoffs) - 1


def test_own_states_of_unequal_seats() -> None:
    game = game_from_dict({"name": "g", "actions": [["u", "d"], ["l", "m", "r"]], "payoffs": [[[0, 0]] * 3] * 2})
    assert game.states == [("u", "l"), ("u", "m"), ("u", "r"), ("d", "l"), ("d", "m"), ("d", "r")]
    assert game.own_states(COLUMN) == [("l", "u"), ("l", "d"), ("m", "u"), ("m", "d"), ("r", "u"), ("r", "d")]
    assert not game.is_symmetric


def test_labels_longer_than_a_letter_are_kept_apart_in_state_names() -> None:
    game = dataclasses.replace(make_game("ipd"), labels=dict.fromkeys(SEATS, ("Yes", "No")))
    assert [game.state_name(Outcome(state)) for state in game.states] == ["Yes/Yes", "Yes/No", "No/Yes", "No/No"]


def test_labels_are_letters_when_initials_clash() -> None:
    game = game_from_dict({"name": "g", "actions": ["stay", "swerve"], "payoffs": [[[0, 0]] * 2] * 2})
    assert game.labels == {ROW: ("A", "B"), COLUMN: ("A", "B")}


# --- Files and errors ---------------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"name": "g", "actions": ["a", "b"], "payoffs": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}


def test_a_game_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nactions = [["up", "down"], ["left", "right"]]\nrounds = 7\nnull_payoff = -3\n'
        "payoffs = [[[1, 2], [3, 4]], [[5, 6], [7, 8.5]]]\n"
    )
    game = make_game(path)
    assert game == make_game(str(path))
    assert game.labels == {ROW: ("U", "D"), COLUMN: ("L", "R")}
    assert game.payoff(COLUMN, own="left", other="down") == 6
    assert (game.rounds, game.null_payoff) == (7, -3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actionz": []}, "unknown field 'actionz'. Did you mean 'actions'"),
        ({"name": ""}, "name must be a word"),
        ({"actions": ["a"]}, "at least two words"),
        ({"actions": ["a", "a"]}, "differ"),
        ({"actions": [["a", "b"], ["c", "d"], ["e", "f"]]}, "each of the 2 seats, got 3"),
        ({"actions": "ab"}, "must be a list"),
        ({"labels": [["A", "B"], ["A", "B", "C"]]}, "labels of column must be 2"),
        ({"payoffs": [[[1, 2], [3, 4]]]}, "got 1 rows"),
        ({"payoffs": [[[1, 2]], [[1, 2], [3, 4]]]}, "row 1 has 1 entries"),
        ({"payoffs": [[[1, 2], [3]], [[5, 6], [7, 8]]]}, "row 1, entry 2 is [3]"),
        ({"payoffs": [[[1, 2], [3, float("inf")]], [[5, 6], [7, 8]]]}, "finite"),
        ({"rounds": 0}, "from 1 to 10,000,000, got 0"),
        ({"rounds": True}, "whole number"),
        ({"null_payoff": "low"}, "null_payoff must be a finite number"),
    ],
)
def test_errors_name_the_field_and_what_is_expected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        game_from_dict({**GOOD, **change})
    assert message in str(error.value)


@pytest.mark.parametrize("field", ["name", "actions", "payoffs"])
def test_missing_fields(field: str) -> None:
    with pytest.raises(UsageError, match=f"field '{field}' is missing"):
        game_from_dict({key: value for key, value in GOOD.items() if key != field})


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        make_game(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(UsageError, match="not TOML"):
        make_game(tmp_path / "bad.toml")


def test_unknown_games_and_actions_get_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"unknown game 'ipdd'\. Did you mean 'ipd'"):
        make_game("ipdd")
    with pytest.raises(UsageError, match="Did you mean 'cooperate'"):
        make_game("ipd").action_named(ROW, "coperate")


def test_with_payoffs_errors() -> None:
    with pytest.raises(UsageError, match=r"needs 4 payoffs \(row's, after CC, CD, DC, DD\), got 3"):
        make_game("ipd").with_payoffs([1, 2, 3])
    with pytest.raises(UsageError, match="finite"):
        make_game("ipd").with_payoffs([1, 2, 3, float("nan")])
    uneven = game_from_dict({**GOOD, "actions": [["a", "b"], ["c", "d"]]})
    with pytest.raises(UsageError, match="different actions"):
        uneven.with_payoffs([1, 2, 3, 4])
