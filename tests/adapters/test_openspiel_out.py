"""coplay's players and games in OpenSpiel: its NashConv, its own tests for games, its algorithms."""

import subprocess
import sys
from typing import Any

import pytest

from coplay import exploit
from coplay.errors import UsageError
from coplay.games.records import Action, Request

pyspiel: Any = pytest.importorskip("pyspiel", reason="needs OpenSpiel: pip install 'coplay[openspiel]'")

from open_spiel.python.algorithms import cfr, expected_game_score, exploitability  # noqa: E402

from coplay.adapters.openspiel import as_policy, as_pyspiel  # noqa: E402

PLAYERS = ["uniform", "always_bet", "always_pass", "nash:0", "nash:0.2"]


@pytest.mark.parametrize("player", PLAYERS)
def test_kuhn_nash_conv_is_coplays(player: str) -> None:
    joint = as_policy("kuhn", player)
    assert str(joint.game) == "kuhn_poker()"
    expected = exploit("kuhn", player, rounds=1).nash_conv
    assert exploitability.nash_conv(joint.game, joint) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("player", ["uniform", "nash:0.2"])
def test_two_hands_of_kuhn_by_coplays_rules(player: str) -> None:
    """Seats take turns at acting first; NashConv is of the episode there, of a hand here."""
    joint = as_policy("kuhn", player, rounds=2)
    expected = exploit("kuhn", player, rounds=2).nash_conv
    assert exploitability.nash_conv(joint.game, joint) / 2 == pytest.approx(expected, abs=1e-9)


def test_values_of_a_nash_player() -> None:
    joint = as_policy("kuhn", "nash:0.1")
    values = expected_game_score.policy_value(joint.game.new_initial_state(), [joint, joint])
    assert values[0] == pytest.approx(-1 / 18, abs=1e-9)


def test_a_player_for_each_seat() -> None:
    joint = as_policy("kuhn", "always_bet", "always_pass")
    values = expected_game_score.policy_value(joint.game.new_initial_state(), [joint, joint])
    assert list(values) == pytest.approx([1.0, -1.0], abs=1e-9)
    with pytest.raises(UsageError, match="has 2 seats"):
        as_policy("kuhn", "uniform", "uniform", "uniform")


def test_a_function_as_a_policy_of_openspiels_game() -> None:
    def bets(request: Request) -> Action:
        return request.now.deal.known[-1].legal[-1]

    joint, native = as_policy("openspiel:kuhn_poker", bets, samples=4), as_policy("kuhn", "always_bet")
    assert exploitability.nash_conv(joint.game, joint) == pytest.approx(
        exploitability.nash_conv(native.game, native), abs=1e-9
    )


def test_simultaneous_moves_have_a_policy_each() -> None:
    joint = as_policy("openspiel:goofspiel(num_cards=3)", "uniform")
    state = joint.game.new_initial_state()
    for _ in range(3):
        if state.is_terminal():
            break
        while state.is_chance_node():
            state.apply_action(state.chance_outcomes()[0][0])
        for player in (0, 1):
            legal = state.legal_actions(player)
            assert joint.action_probabilities(state, player) == dict.fromkeys(legal, pytest.approx(1 / len(legal)))
        state.apply_actions([state.legal_actions(0)[0], state.legal_actions(1)[-1]])


EXPORTED = [
    ("kuhn", 1),
    ("kuhn", 2),
    ("ipd", 3),
    ("imp", 2),
    ("ipd-8", 2),
    ("public-goods", 2),
    ("auction", 1),
    ("negotiation-v1", 1),
    ("ipd-3:talk=0", 1),
]


@pytest.mark.parametrize(("game", "rounds"), EXPORTED)
def test_openspiels_own_tests_of_a_game(game: str, rounds: int) -> None:
    pyspiel.random_sim_test(as_pyspiel(game, rounds=rounds), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize("game", ["ipd", "imp", "icg", "public-goods:n=3"])
def test_and_of_one_round_of_a_normal_form(game: str) -> None:
    """OpenSpiel itself cannot read such a game from a file."""
    pyspiel.random_sim_test(as_pyspiel(game), num_sims=5, serialize=False, verbose=False)


def test_payoffs_of_a_matrix_game_are_the_table() -> None:
    game = as_pyspiel("c-ipd")
    state = game.new_initial_state()
    state.apply_actions([0, 1])
    assert state.returns() == [0.0, 4.0]
    assert game.row_action_name(1) == "defect"


def test_information_states_tell_no_more_than_seats_know() -> None:
    """As many as OpenSpiel's own game has: six for each player, whatever the deal."""
    found: set[tuple[int, str]] = set()
    open_ = [as_pyspiel("kuhn").new_initial_state()]
    while open_:
        state = open_.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            found.add((state.current_player(), state.information_state_string()))
        open_ += [state.child(action) for action in state.legal_actions()]
    assert len([one for one in found if one[0] == 0]) == len([one for one in found if one[0] == 1]) == 6


def test_cfr_runs_on_coplays_kuhn() -> None:
    game = as_pyspiel("kuhn")
    solver = cfr.CFRSolver(game)
    for _ in range(30):
        solver.evaluate_and_update_policy()
    assert exploitability.nash_conv(game, solver.average_policy()) < 0.15


@pytest.mark.parametrize(
    ("game", "rounds", "says"),
    [
        ("bertrand", 1, "lists no choices"),
        ("split-no-comm", 1, "cannot list what chance deals"),
        ("kuhn", 3, "positions; ask OpenSpiel for fewer rounds"),
    ],
)
def test_what_cannot_be_exported(game: str, rounds: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        as_pyspiel(game, rounds=rounds)


def test_python_ends_in_order_with_games_that_openspiel_knows() -> None:
    """OpenSpiel lets go of them when Python is no more."""
    code = "from coplay.adapters.openspiel import as_pyspiel; as_pyspiel('kuhn').new_initial_state()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_replies_that_cannot_be_parsed_are_no_policy() -> None:
    from coplay.games import make_game
    from coplay.games.memory import Memory
    from coplay.games.records import Reply
    from coplay.players.base import OneByOne

    class Babbles(OneByOne):
        name = "babbles"
        memory = Memory.NONE

        def reply(self, request: Request) -> Reply:
            return Reply("?")

    joint = as_policy(make_game("kuhn"), Babbles())
    state = joint.game.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(UsageError, match="cannot be parsed, with probability 1"):
        joint.action_probabilities(state)
