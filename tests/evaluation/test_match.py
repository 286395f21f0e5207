"""Evaluation: the contract of ``coplay eval --json``, and seeds in one batch."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from coplay.errors import UsageError
from coplay.evaluation.match import (
    MatchResult,
    Summary,
    aggregate,
    evaluate_seeds,
    match,
    match_seeds,
    seeds_table,
    summary,
    table,
)
from coplay.games import MatrixGame, make_game
from coplay.games.matrix import COLUMN, ROW, SEATS
from coplay.games.memory import Memory
from coplay.players.base import Player
from coplay.players.scripted import make_player
from coplay.statistics import mean_ci95
from coplay.types import Move, View

IPD = make_game("ipd")


def pair(row: str, column: str, game: MatrixGame = IPD) -> dict[str, Player]:
    return {ROW: make_player(row, game, ROW), COLUMN: make_player(column, game, COLUMN)}


def evaluated(row: str, column: str, *, rounds: int = 20, episodes: int = 4, seed: int = 0) -> Summary:
    return summary(match(IPD, pair(row, column), rounds=rounds, episodes=episodes, seed=seed))


@dataclass(frozen=True)
class Lines:
    """Plays line i of C, D and ? (an illegal reply) in game i."""

    lines: tuple[str, ...]
    name: str = "lines"
    memory: Memory = Memory.NONE

    def act(self, views: Sequence[View]) -> list[Move]:
        letters = [self.lines[view.game][view.round] for view in views]
        return [Move({"C": "cooperate", "D": "defect"}.get(letter), letter) for letter in letters]


def lines(row: Sequence[str], column: Sequence[str]) -> Summary:
    players = {ROW: Lines(tuple(row)), COLUMN: Lines(tuple(column))}
    return summary(match(IPD, players, rounds=len(row[0]), episodes=len(row), seed=0))


def test_the_contract() -> None:
    assert evaluated("tit_for_tat", "always_defect") == {
        "version": 1,
        "game": "ipd",
        "rounds": 20,
        "episodes": 4,
        "seats": {
            "row": {
                "player": "tit_for_tat",
                "total": 19.0,
                "per_round": 0.95,
                "ci95": 0.0,
                "actions": {"cooperate": 0.05, "defect": 0.95},
                "illegal": 0.0,
            },
            "column": {
                "player": "always_defect",
                "total": 23.0,
                "per_round": 1.15,
                "ci95": 0.0,
                "actions": {"cooperate": 0.0, "defect": 1.0},
                "illegal": 0.0,
            },
        },
        "states": {"CC": 0.0, "CD": 0.05, "DC": 0.0, "DD": 0.95, "I": 0.0},
    }


def test_it_is_json() -> None:
    found = evaluated("random", "zd_extort_2")
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_one_episode_has_no_interval() -> None:
    one = evaluated("random", "random", episodes=1)
    assert one["seats"][ROW]["ci95"] == 0.0
    assert "±" not in table(one).split("\n", 1)[1]


def test_random_play_has_the_expected_shares_and_intervals() -> None:
    found = evaluated("random:0.25", "random", rounds=10, episodes=400)
    expected = {"CC": 0.125, "CD": 0.125, "DC": 0.375, "DD": 0.375, "I": 0.0}
    for state, share in expected.items():
        assert abs(found["states"][state] - share) < 0.04
    assert found["seats"][ROW]["actions"]["cooperate"] == pytest.approx(0.25, abs=0.03)
    row = found["seats"][ROW]
    assert row["per_round"] == pytest.approx(0.125 * 3 + 0.375 * 4 + 0.375 * 1, abs=0.1)
    assert row["per_round"] is not None
    assert row["total"] == pytest.approx(10 * row["per_round"])
    mean, square = 2.25, 0.125 * 9 + 0.375 * 16 + 0.375 * 1
    assert row["ci95"] == pytest.approx(1.966 * math.sqrt((square - mean**2) / 10 / 400), rel=0.15)


def test_rounds_with_an_illegal_reply_are_left_out_of_payoffs() -> None:
    found = lines(["CC?D", "DDDD"], ["CD??", "DC?C"])
    row, column = found["seats"][ROW], found["seats"][COLUMN]
    # Row's legal rounds: game 0 pays 3, 0; game 1 pays 1, 4, 4. Column's: 3, 4 and 1, 0, 0.
    assert row["total"] == (3 + 9) / 2
    assert row["per_round"] == pytest.approx((1.5 + 3) / 2)
    assert column["total"] == (7 + 1) / 2
    assert column["per_round"] == pytest.approx((3.5 + 1 / 3) / 2)
    assert column["ci95"] == pytest.approx(mean_ci95([3.5, 1 / 3]).half_width or 0)
    assert (row["illegal"], column["illegal"]) == (1 / 8, 3 / 8)
    assert row["actions"] == {"cooperate": 2 / 7, "defect": 5 / 7}
    assert column["actions"] == {"cooperate": 3 / 5, "defect": 2 / 5}
    assert found["states"] == {"CC": 1 / 8, "CD": 1 / 8, "DC": 2 / 8, "DD": 1 / 8, "I": 3 / 8}


def test_an_episode_without_a_legal_round_counts_in_totals_only() -> None:
    found = lines(["CC", "??"], ["CC", "CC"])
    assert found["seats"][COLUMN]["per_round"] == 3
    assert found["seats"][COLUMN]["total"] == 3
    assert found["states"]["I"] == 0.5


def test_no_legal_round_at_all() -> None:
    found = lines(["??"], ["CD"])
    assert found["seats"][ROW] == {
        "player": "lines",
        "total": 0.0,
        "per_round": None,
        "ci95": 0.0,
        "actions": {"cooperate": 0.0, "defect": 0.0},
        "illegal": 1.0,
    }
    assert found["seats"][COLUMN]["per_round"] is None
    assert found["seats"][COLUMN]["actions"] == {"cooperate": 0.5, "defect": 0.5}
    assert "100.0%" in table(found)
    assert seeds_table(aggregate({0: found}))


def test_seeds_together_or_alone() -> None:
    players = pair("random", "generous_tit_for_tat:0.3")
    together = evaluate_seeds(IPD, players, seeds=[0, 1, 2], rounds=8, episodes=5)
    alone = {seed: summary(match(IPD, players, rounds=8, episodes=5, seed=seed)) for seed in range(3)}
    assert together == alone
    assert together[0] != together[1]
    results = match_seeds(IPD, players, seeds=[2, 0], rounds=8, episodes=5)
    assert results[2] == match(IPD, players, rounds=8, episodes=5, seed=2)
    assert [episode.game for episode in results[0].episodes] == list(range(5))


def test_episodes_of_a_match_are_all_different_trials() -> None:
    """No memory crosses from one game of a match to another."""

    @dataclass(frozen=True)
    class Shown:
        name: str = "shown"
        memory: Memory = Memory.TRIAL_COUNTS

        def act(self, views: Sequence[View]) -> list[Move]:
            assert all((view.observation.last is None) == (view.round == 0) for view in views)
            return [Move("defect", "D")] * len(views)

    result = match(IPD, {seat: Shown() for seat in SEATS}, rounds=3, episodes=4, seed=0)
    assert isinstance(result, MatchResult)
    assert len(result.episodes) == 4


def test_aggregate_takes_the_interval_over_seeds() -> None:
    summaries = evaluate_seeds(IPD, pair("random", "random"), seeds=range(5), rounds=10, episodes=3)
    found = aggregate(summaries)
    assert found["seeds"] == {str(seed): one for seed, one in summaries.items()}
    assert (found["game"], found["rounds"], found["episodes"]) == ("ipd", 10, 3)
    for seat in SEATS:
        per_round = [one["seats"][seat]["per_round"] for one in summaries.values()]
        expected = mean_ci95([value for value in per_round if value is not None])
        assert found["seats"][seat]["per_round"] == {"mean": expected.mean, "ci95": expected.half_width, "n": 5}
        assert found["seats"][seat]["player"] == "random"
    states = [one["states"]["CD"] for one in summaries.values()]
    assert found["states"]["CD"]["mean"] == pytest.approx(sum(states) / 5)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_aggregate_of_one_seed_has_no_interval() -> None:
    found = aggregate({3: evaluated("random", "random", seed=3)})
    assert found["seats"][ROW]["total"]["ci95"] is None
    assert "±" not in seeds_table(found).split("\n", 1)[1]
    with pytest.raises(ValueError, match="nothing to aggregate"):
        aggregate({})


def test_tables_for_people() -> None:
    assert table(evaluated("tit_for_tat", "always_defect")).splitlines() == [
        "ipd, 20 rounds, 4 episodes; ± is the 95% interval over episodes",
        "",
        "seat    player         per round    total  illegal  actions",
        "row     tit_for_tat    0.95 ± 0.00  19.00  0.0%     cooperate 5.0%  defect 95.0%",
        "column  always_defect  1.15 ± 0.00  23.00  0.0%     cooperate 0.0%  defect 100.0%",
        "",
        "states  CC 0.0%  CD 5.0%  DC 0.0%  DD 95.0%  I 0.0%",
    ]
    summaries = evaluate_seeds(IPD, pair("tit_for_tat", "always_defect"), seeds=[0, 1], rounds=20, episodes=2)
    lines = seeds_table(aggregate(summaries)).splitlines()
    assert lines[0] == "ipd, 20 rounds, 2 episodes x 2 seeds; ± is the 95% interval over seeds"
    assert "0.95 ± 0.00  19.00 ± 0.00" in lines[3]


def test_states_of_larger_and_relabelled_games_are_all_listed() -> None:
    pennies = make_game("imp")
    result = match(pennies, pair("always:heads", "always:T", pennies), rounds=2, episodes=1, seed=0)
    assert summary(result)["states"] == {"HH": 0.0, "HT": 1.0, "TH": 0.0, "TT": 0.0, "I": 0.0}


@pytest.mark.parametrize(("rounds", "episodes", "name"), [(0, 1, "rounds"), (1, 0, "episodes"), (-1, 1, "rounds")])
def test_nothing_to_play_is_refused(rounds: int, episodes: int, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at least 1"):
        match(IPD, pair("random", "random"), rounds=rounds, episodes=episodes, seed=0)


def test_an_empty_seat_is_refused() -> None:
    with pytest.raises(UsageError, match="seat 'column' has no player; give one for each of row, column"):
        match(IPD, {ROW: make_player("random", IPD, ROW)}, rounds=1, episodes=1, seed=0)
