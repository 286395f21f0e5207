"""Payoffs have one source: change one, and environment, prompts, closed forms and evaluation all change, from both seats."""

from dataclasses import replace

import pytest

from coplay.evaluation.match import play_match
from coplay.games import MatrixGame, make_game
from coplay.games.choice_prompts import TABLES, PayoffFormat, write_prompt
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict, game_to_dict
from coplay.games.memory import START
from coplay.games.records import Occupant
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.scripted import make_script
from coplay.recipes import make_config
from coplay.runs.factory import build

ASYMMETRIC = game_from_dict(
    {
        "name": "asymmetric",
        "actions": [["up", "down"], ["left", "middle", "right"]],
        "labels": [["U", "D"], ["L", "M", "R"]],
        "payoffs": [[[1, 10], [2, 20], [3, 30]], [[4, 40], [5, 50], [6, 60]]],
    }
)
"""Different actions, different numbers of them, and no payoff twice: nothing can be read from the wrong seat unnoticed."""

NEW = {ROW: 7.0, COLUMN: -2.0}
"""What row and column get in the changed cell."""


def with_cell(game: MatrixGame, i: int, j: int) -> MatrixGame:
    """The game with one cell of its table changed, and nothing else."""
    rows = [list(row) for row in game.table]
    rows[i][j] = (NEW[ROW], NEW[COLUMN])
    return replace(game, table=tuple(map(tuple, rows)))


def seated(game: MatrixGame, i: int, j: int) -> dict[str, Occupant]:
    """Both seats play one action."""
    names = {seat: f"always:{game.actions[seat][k]}" for seat, k in zip(SEATS, (i, j), strict=True)}
    return {seat: Occupant(make_script(name, game, seat), name) for seat, name in names.items()}


def written(game: MatrixGame, seat: str, i: int, j: int, payoff_format: PayoffFormat) -> str:
    """The payoffs of a cell as the seat should read them: its own action and payoff first."""
    index = {ROW: i, COLUMN: j}
    mine, theirs = (int(game.table[i][j][SEATS.index(who)]) for who in (seat, game.other(seat)))
    if payoff_format in TABLES:
        return f"({mine}, {theirs})"
    own = game.labels[seat][index[seat]]
    return f"{own}/{game.labels[game.other(seat)][index[game.other(seat)]]}: {mine}/{theirs}"


CELLS = [
    pytest.param(game, i, j, id=f"{game.name}-{i}{j}")
    for game in (make_game("ipd"), make_game("c-ipd"), make_game("imp"), ASYMMETRIC)
    for i in range(len(game.actions[ROW]))
    for j in range(len(game.actions[COLUMN]))
]


@pytest.mark.parametrize(("game", "i", "j"), CELLS)
def test_a_changed_payoff_reaches_environment_prompt_and_evaluation(game: MatrixGame, i: int, j: int) -> None:
    changed = with_cell(game, i, j)
    for table, expected in ((game, dict(zip(SEATS, game.table[i][j], strict=True))), (changed, NEW)):
        players = seated(table, i, j)
        tables = [Table(table, 0, 0, 0, players)]
        (episode,) = play_episode(table, tables, rounds=3, streams=StreamNames(("test",)))
        evaluated = play_match(table, players, rounds=3, episodes=2, seed=0).summary()
        for seat in SEATS:
            assert episode.payoffs(seat) == [expected[seat]] * 3
            assert evaluated["seats"][seat]["per_round"] == expected[seat]
            assert evaluated["seats"][seat]["total"] == 3 * expected[seat]
            for payoff_format in PayoffFormat:
                rules = write_prompt(table, seat, START, payoff_format=payoff_format).rules
                assert written(table, seat, i, j, payoff_format) in rules


@pytest.mark.parametrize(("game", "i", "j"), CELLS)
def test_nothing_else_changes(game: MatrixGame, i: int, j: int) -> None:
    changed = with_cell(game, i, j)
    for a in range(len(game.actions[ROW])):
        for b in range(len(game.actions[COLUMN])):
            if (a, b) == (i, j):
                continue
            for seat in SEATS:
                cell = written(game, seat, a, b, PayoffFormat.LIST)
                assert cell in write_prompt(game, seat, START).rules
                assert cell in write_prompt(changed, seat, START).rules
                before, after = (
                    play_match(one, seated(one, a, b), rounds=2, episodes=1, seed=0).summary()
                    for one in (game, changed)
                )
                assert before["seats"][seat]["per_round"] == after["seats"][seat]["per_round"]


def test_a_run_of_a_changed_game_plays_reads_and_evaluates_it() -> None:
    """From a config on: the game that learners are rewarded by is the one they read."""
    changed = with_cell(make_game("c-ipd"), 0, 0)
    config = make_config("shapellm/c-ipd", learner="tabular").model_copy(update={"game": game_to_dict(changed)})
    game = build(config).game
    assert game == changed and isinstance(game, MatrixGame)
    for seat in SEATS:
        assert written(changed, seat, 0, 0, PayoffFormat.LIST) in write_prompt(game, seat, START).rules
