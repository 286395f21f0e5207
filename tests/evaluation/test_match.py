"""Evaluation: the contract of ``coplay eval --json``, and seeds in one batch."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from fake_players import LinePlayer, occupants, record, scripts

from coplay.errors import CoplayError, UsageError
from coplay.evaluation.match import MatchResult, evaluate_tables, play_match
from coplay.evaluation.summary import Summary, aggregate
from coplay.evaluation.tables import seeds_table, table
from coplay.games import make_game
from coplay.games.matrix import COLUMN, ROW, SEATS, MatrixGame
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.play.loop import Table
from coplay.players.named import make_player
from coplay.statistics import mean_ci95

IPD = make_game("ipd")


def pair(row: str, column: str) -> dict[str, Occupant]:
    return occupants(scripts(IPD, row, column))


def evaluated(row: str, column: str, *, rounds: int = 20, episodes: int = 4, seed: int = 0) -> Summary:
    return play_match(IPD, pair(row, column), rounds=rounds, episodes=episodes, seed=seed).summary()


def lines(row: Sequence[str], column: Sequence[str]) -> Summary:
    """Game i goes by the i-th lines."""
    players = occupants({ROW: LinePlayer(row), COLUMN: LinePlayer(column)})
    return play_match(IPD, players, rounds=len(row[0]), episodes=len(row), seed=0).summary()


def by_seed(seated: dict[str, Occupant], *, seeds: Iterable[int], rounds: int, episodes: int) -> dict[int, Summary]:
    tables = [Table(IPD, seed, index, index, seated) for seed in seeds for index in range(episodes)]
    return evaluate_tables(IPD, tables, rounds=rounds)


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
    assert one["seats"][ROW]["ci95"] is None and one["seats"][ROW]["per_round"] is not None
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
        "player": "line",
        "total": 0.0,
        "per_round": None,
        "ci95": None,
        "actions": {"cooperate": 0.0, "defect": 0.0},
        "illegal": 1.0,
    }
    assert found["seats"][COLUMN]["per_round"] is None
    assert found["seats"][COLUMN]["actions"] == {"cooperate": 0.5, "defect": 0.5}
    assert "100.0%" in table(found)
    assert seeds_table(aggregate({0: found}))


def test_seeds_together_or_alone() -> None:
    players = pair("random", "generous_tit_for_tat:0.3")
    together = by_seed(players, seeds=[2, 0, 1], rounds=8, episodes=5)
    alone = {seed: play_match(IPD, players, rounds=8, episodes=5, seed=seed) for seed in range(3)}
    assert together == {seed: result.summary() for seed, result in alone.items()}
    assert together[0] != together[1]
    assert [episode.game for episode in alone[0].episodes] == list(range(5))
    fewer = play_match(IPD, players, rounds=8, episodes=3, seed=2)
    assert [record(one) for one in fewer.episodes] == [record(one) for one in alone[2].episodes[:3]]


def test_seats_that_different_players_fill_name_them_all() -> None:
    tables = [Table(IPD, 0, i, i, pair("always_cooperate", who)) for i, who in enumerate(["random", "alternator"])]
    found = evaluate_tables(IPD, tables, rounds=2)[0]
    assert found["seats"][COLUMN]["player"] == "random or alternator"
    assert found["episodes"] == 2


def test_episodes_of_a_match_are_all_different_trials() -> None:
    """No memory crosses from one game of a match to another."""

    class Shown:
        name, memory = "shown", Memory.TRIAL_COUNTS

        def act(self, requests: Sequence[Request]) -> list[Reply]:
            assert all((request.observation.last is None) == (request.now.number == 0) for request in requests)
            return [Reply("D", "defect")] * len(requests)

    seated = occupants({seat: Shown() for seat in SEATS})
    result = play_match(IPD, seated, rounds=3, episodes=4, seed=0)
    assert isinstance(result, MatchResult) and len(result.episodes) == 4
    assert repr(result) == "MatchResult('ipd', row='shown', column='shown', rounds=3, episodes=4)"


def test_a_game_of_three_seats() -> None:
    game = make_game("public-goods")
    seated = occupants(scripts(game, "always_cooperate", "always:keep", "always:K"))
    found = play_match(game, seated, rounds=4, episodes=2, seed=0).summary()
    assert [one["per_round"] for one in found["seats"].values()] == [1.5, 4.5, 4.5]
    assert found["seats"]["player-2"]["actions"] == {"contribute": 0.0, "keep": 1.0}
    assert found["states"]["CKK"] == 1.0 and sum(found["states"].values()) == 1.0 and len(found["states"]) == 9


@pytest.mark.parametrize(("name", "met"), [("split-no-comm", {"CD"}), ("trust-and-split", {"C-", "-D"})])
def test_conduct_is_of_rounds_in_which_a_seat_had_a_choice(name: str, met: set[str]) -> None:
    """In Trust-and-Split that is the seat with the lower hand."""
    game = make_game(name)
    seated = occupants(scripts(game, "always_cooperate", "always_defect"))
    found = play_match(game, seated, rounds=10, episodes=4, seed=0).summary()
    alice, bob = (found["seats"][seat]["actions"] for seat in game.seats)
    assert alice == {"cooperate": 1.0, "greedy": 0.0} and bob == {"cooperate": 0.0, "greedy": 1.0}
    assert {state for state, share in found["states"].items() if share} == met
    assert sum(found["states"].values()) == pytest.approx(1)


def test_aggregate_takes_the_interval_over_seeds() -> None:
    summaries = by_seed(pair("random", "random"), seeds=range(5), rounds=10, episodes=3)
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
    summaries = by_seed(pair("tit_for_tat", "always_defect"), seeds=[0, 1], rounds=20, episodes=2)
    lines = seeds_table(aggregate(summaries)).splitlines()
    assert lines[0] == "ipd, 20 rounds, 2 episodes x 2 seeds; ± is the 95% interval over seeds"
    assert "0.95 ± 0.00  19.00 ± 0.00" in lines[3]


def test_states_of_larger_and_relabelled_games_are_all_listed() -> None:
    pennies = make_game("imp")
    result = play_match(pennies, occupants(scripts(pennies, "always:heads", "always:T")), rounds=2, episodes=1, seed=0)
    assert result.summary()["states"] == {"HH": 0.0, "HT": 1.0, "TH": 0.0, "TT": 0.0, "I": 0.0}


@pytest.mark.parametrize(("rounds", "episodes", "name"), [(0, 1, "rounds"), (1, 0, "episodes"), (-1, 1, "rounds")])
def test_nothing_to_play_is_refused(rounds: int, episodes: int, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at least 1"):
        play_match(IPD, pair("random", "random"), rounds=rounds, episodes=episodes, seed=0)


def test_an_empty_seat_is_refused() -> None:
    with pytest.raises(UsageError, match="seat 'column' has no player; give one for each of row, column"):
        play_match(IPD, {ROW: pair("random", "random")[ROW]}, rounds=1, episodes=1, seed=0)


@pytest.mark.parametrize("size", [1e308, 1e200])
def test_payoffs_that_cannot_be_added_up_are_refused_in_one_line(size: float) -> None:
    """Of a game in Python: no other can have them."""
    assert isinstance(IPD, MatrixGame)
    game = replace(IPD, name="vast", table=(((size, 1.0), (-size, 1.0)),) * 2)
    seated = {seat: Occupant(make_player("random", game, seat), "random") for seat in game.seats}
    with pytest.raises(CoplayError, match="game 'vast': the payoffs of row are too large to be added up") as caught:
        play_match(game, seated, rounds=9, episodes=4, seed=0).summary()
    assert "\n" not in str(caught.value)
