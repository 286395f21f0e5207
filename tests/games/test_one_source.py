"""Payoffs have one source: change one, and environment, prompts, closed forms and evaluation all change, from both seats."""

from dataclasses import replace

import pytest

from coplay.runs.state import build, game_of
from coplay.evaluation.match import match, summary
from coplay.games import MatrixGame, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict, game_to_dict, other
from coplay.games.memory import Observation
from coplay.play.loop import Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import make_player
from coplay.recipes import make_config
from coplay.games.matrix_prompts import Layout, write_message

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
    rows = [list(row) for row in game.payoffs]
    rows[i][j] = (NEW[ROW], NEW[COLUMN])
    return replace(game, payoffs=tuple(map(tuple, rows)))


class Always:
    """Plays one action."""

    def __init__(self, action: str, label: str) -> None:
        self.action, self.label, self.name = action, label, f"always {action}"
        self.memory = make_player("always_cooperate", make_game("ipd"), ROW).memory

    def act(self, views):  # type: ignore[no-untyped-def]
        from coplay.types import Move

        return [Move(self.action, self.label) for _ in views]


def players_of(game: MatrixGame, i: int, j: int) -> dict[str, Player]:
    return {seat: Always(game.actions[seat][k], game.labels[seat][k]) for seat, k in zip(SEATS, (i, j), strict=True)}


def written(game: MatrixGame, seat: str, i: int, j: int, layout: Layout) -> str:
    """The payoffs of a cell as the seat should read them: its own action and payoff first."""
    index = {ROW: i, COLUMN: j}
    mine, theirs = (int(game.payoffs[i][j][SEATS.index(who)]) for who in (seat, other(seat)))
    if layout is Layout.TABLE:
        return f"({mine}, {theirs})"
    own = game.labels[seat][index[seat]]
    return f"{own}/{game.labels[other(seat)][index[other(seat)]]}: {mine}/{theirs}"


CELLS = [
    pytest.param(game, i, j, id=f"{game.name}-{i}{j}")
    for game in (make_game("ipd"), make_game("c-ipd"), make_game("imp"), ASYMMETRIC)
    for i in range(len(game.actions[ROW]))
    for j in range(len(game.actions[COLUMN]))
]


@pytest.mark.parametrize(("game", "i", "j"), CELLS)
def test_a_changed_payoff_reaches_environment_prompt_and_evaluation(game: MatrixGame, i: int, j: int) -> None:
    changed = with_cell(game, i, j)
    for table, expected in ((game, dict(zip(SEATS, game.payoffs[i][j], strict=True))), (changed, NEW)):
        players = players_of(table, i, j)
        (episode,) = play_episode([Table(table, 0, 0)], players, rounds=3, occasion=("test",))
        evaluated = summary(match(table, players, rounds=3, episodes=2, seed=0))
        for seat in SEATS:
            assert [turn.payoff for turn in episode.traces[seat].turns] == [expected[seat]] * 3
            assert evaluated["seats"][seat]["per_round"] == expected[seat]
            assert evaluated["seats"][seat]["total"] == 3 * expected[seat]
            for layout in Layout:
                rules = write_message(table, seat, Observation(), layout=layout).rules
                assert written(table, seat, i, j, layout) in rules


@pytest.mark.parametrize(("game", "i", "j"), CELLS)
def test_nothing_else_changes(game: MatrixGame, i: int, j: int) -> None:
    changed = with_cell(game, i, j)
    for a in range(len(game.actions[ROW])):
        for b in range(len(game.actions[COLUMN])):
            if (a, b) == (i, j):
                continue
            for seat in SEATS:
                cell = written(game, seat, a, b, Layout.LIST)
                assert cell in write_message(game, seat, Observation()).rules
                assert cell in write_message(changed, seat, Observation()).rules
                before, after = (
                    summary(match(one, players_of(one, a, b), rounds=2, episodes=1, seed=0)) for one in (game, changed)
                )
                assert before["seats"][seat]["per_round"] == after["seats"][seat]["per_round"]


def test_a_run_of_a_changed_game_plays_reads_and_evaluates_it() -> None:
    """From a config on: the game that learners are rewarded by is the one they read."""
    changed = with_cell(make_game("c-ipd"), 0, 0)
    config = make_config("shapellm/c-ipd", learner="tabular").model_copy(update={"game": game_to_dict(changed)})
    assert game_of(config) == changed
    arena = build(config)
    assert arena.game == changed
    for seat in SEATS:
        assert written(changed, seat, 0, 0, Layout.LIST) in write_message(arena.game, seat, Observation()).rules
