"""A tournament's ranks: ratings against closed forms and another optimiser, replicator dynamics against equilibria, and games that count."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.evaluation.cross_play import CrossPlay, cross_play
from coplay.evaluation.ranking import ELO, PRIOR, elo_ratings, ranking, ranking_table, replicator_shares


def test_two_players_have_the_odds_of_their_games() -> None:
    wins = np.array([[0.0, 30.0], [10.0, 0.0]])
    first, second = elo_ratings(wins, np.array([[0.0, 40.0], [40.0, 0.0]]))
    odds = (30 + PRIOR) / (10 + PRIOR)
    assert first.mean - second.mean == pytest.approx(ELO * math.log(odds)) and first.mean == pytest.approx(-second.mean)
    p, n = odds / (1 + odds), 40 + 2 * PRIOR
    of_difference = 1.959964 * ELO / math.sqrt(n * p * (1 - p))  # the delta method, by hand
    assert first.half_width == pytest.approx(of_difference / 2, rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=12, max_size=12), st.integers(0, 5))
def test_ratings_maximise_the_likelihood(numbers: list[int], extra: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    games, wins = np.zeros((4, 4)), np.zeros((4, 4))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    for (i, j), a, b in zip(pairs, numbers[:6], numbers[6:], strict=True):
        wins[i, j], wins[j, i] = a, b + extra
        games[i, j] = games[j, i] = a + b + extra

    def loss(s: np.ndarray) -> float:
        total = 0.0
        for i, j in pairs:
            if games[i, j]:
                gap = s[i] - s[j]
                total += (wins[i, j] + PRIOR) * math.log1p(math.exp(-gap)) + (wins[j, i] + PRIOR) * math.log1p(
                    math.exp(gap)
                )
        return total + 1e-9 * float((s**2).sum())

    found = np.array([one.mean / ELO for one in elo_ratings(wins, games)])
    best = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    assert loss(found) <= loss(best) + 1e-6


def test_whoever_met_nobody_stays_in_the_middle() -> None:
    ratings = elo_ratings(np.zeros((2, 2)), np.zeros((2, 2)))
    assert [one.mean for one in ratings] == [0.0, 0.0] and all(math.isfinite(one.half_width or 0) for one in ratings)


@pytest.mark.parametrize(
    ("payoffs", "shares"),
    [
        ([[3, 0], [4, 1]], [0, 1]),  # the dilemma: defection takes over
        ([[4, 0], [3, 3]], [0, 1]),  # the stag hunt from one half: below the threshold of three quarters
        ([[-1, 4], [0, 2]], [2 / 3, 1 / 3]),  # hawk and dove, V = 4, C = 6
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], [1 / 3] * 3),  # rock, paper, scissors begin where they rest
        ([[2, 2], [2, 2]], [1 / 2, 1 / 2]),
    ],
)
def test_the_population_goes_where_theory_says(payoffs: list[list[float]], shares: list[float]) -> None:
    assert replicator_shares(np.array(payoffs, dtype=float)) == pytest.approx(np.array(shares), abs=1e-3)


def tournament(payoffs: dict[tuple[int, int], tuple[list[float], list[float]]], names: list[str]) -> CrossPlay:
    return cross_play(
        names, lambda pairs: [payoffs[i, j] for i, j, _ in pairs], game="ipd", rounds=1, episodes=4, replicates=1
    )


def test_games_that_all_pay_the_same_are_one_game() -> None:
    same, differing = ([1.0] * 4, [0.0] * 4), ([1.0, 0.0, 1.0, 0.5], [0.0, 1.0, 0.0, 0.5])
    itself = ([0.0] * 4, [0.0] * 4)
    found = tournament({(0, 0): itself, (0, 1): same, (1, 1): itself}, ["a", "b"])
    assert found.wins == (((0.0, 0), (1.0, 1)), ((0.0, 1), (0.0, 0)))
    found = tournament({(0, 0): itself, (0, 1): differing, (1, 1): itself}, ["a", "b"])
    assert found.wins == (((0.0, 0), (2.5, 4)), ((1.5, 4), (0.0, 0)))


def test_ranks_are_by_mean_payoff_and_all_three_are_told() -> None:
    itself = ([1.0] * 4, [1.0] * 4)
    found = tournament(
        {
            (0, 0): itself,
            (0, 1): ([0.0] * 4, [4.0] * 4),
            (1, 1): itself,
            (0, 2): itself,
            (1, 2): ([2.0] * 4, [1.0] * 4),
            (2, 2): itself,
        },
        ["meek", "bold", "even"],
    )
    ranks = ranking(found)
    assert [one.player for one in ranks] == ["bold", "even", "meek"] and ranks[0].payoff.mean == 3.0
    assert (ranks[0].elo.mean if ranks[0].elo else 0) > 0 > (ranks[2].elo.mean if ranks[2].elo else 0)
    text = ranking_table(ranks)
    assert text.splitlines()[1].startswith("1  bold") and "share if imitated" in text


def test_of_files_the_games_are_not_known() -> None:
    itself = ([1.0] * 4, [1.0] * 4)
    known = tournament({(0, 0): itself, (0, 1): itself, (1, 1): itself}, ["a", "b"])
    ranks = ranking(CrossPlay.from_json(known.to_dict()))
    assert all(one.elo is None for one in ranks) and "-" in ranking_table(ranks)
