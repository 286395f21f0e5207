"""Equilibria of a round: in the games of SEPO by hand, in matrix games those that nashpy finds, and brute force from the definition."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import nashpy
import numpy as np
import pytest
from by_hand import paid
from hypothesis import given
from hypothesis import strategies as st
from small_games import Kuhn

from coplay.errors import UsageError
from coplay.games import Game, make_game
from coplay.games.auction import HIGH, LOW, MEDIUM, Auction
from coplay.games.matrix import game_from_dict
from coplay.games.negotiation import Negotiation
from coplay.games.records import Action, Phase, Request, Round, in_order
from coplay.games.split import ALICE, BOB
from coplay.games.stage_equilibria import stage_equilibria, stage_of

BIDS = (LOW, MEDIUM, HIGH)


class DealtKuhn(Kuhn):
    """Kuhn poker of known cards: seats act one after the other."""

    def deals(self, past: Sequence[Round]) -> Sequence[tuple[Any, float]]:
        return [({"first": "jack", "second": "king"}, 1.0)]


class Twice(Negotiation):
    """Both demand twice."""

    def next_phase(self, now: Round) -> Phase | None:
        return in_order(now, [Phase("demand", self.seats, turn) for turn in range(2)])


class Unlisted(Negotiation):
    """Does not list its demands."""

    def choices(self, request: Request) -> Sequence[Action]:
        return ()


def test_the_auction_has_three_and_in_each_both_bid_alike() -> None:
    found = {one.plans[ALICE]: one for one in stage_equilibria(Auction())}
    assert all(one.plans[ALICE] == one.plans[BOB] for one in found.values())
    assert {plan: one.payoffs[ALICE] for plan, one in found.items()} == {
        (LOW, MEDIUM): 0.875,
        (MEDIUM, MEDIUM): 0.5,
        (MEDIUM, HIGH): 0.375,
    }


def test_the_auctions_are_what_nashpy_finds_in_the_game_of_plans() -> None:
    """The Bayesian game as a 9 x 9 matrix, in which a plan is a row: built from payoffs alone."""
    plans = list(product(BIDS, repeat=2))
    expected_AA = [
        [
            sum(
                (paid(Auction(), (mine[a // 2 - 1], theirs[b // 2 - 1]), {ALICE: a, BOB: b})[0] or 0.0) / 4
                for a, b in product((2, 4), repeat=2)
            )
            for theirs in plans
        ]
        for mine in plans
    ]
    matrix = np.array(expected_AA)
    game = nashpy.Game(matrix, matrix.T)
    pure = {
        (plans[i], plans[j])
        for i, j in product(range(9), repeat=2)
        if all(game.is_best_response(np.eye(9)[i], np.eye(9)[j]))
    }
    assert pure == {(one.plans[ALICE], one.plans[BOB]) for one in stage_equilibria(Auction())}


def test_the_pie_has_the_nine_ways_to_divide_it() -> None:
    found = [(*one.plans[ALICE], *one.plans[BOB]) for one in stage_equilibria(Negotiation())]
    assert found == [(a, 10 - a) for a in range(1, 10)]
    assert (9, 9) not in found  # whoever demands 1 instead gets 1


@given(payoffs=st.lists(st.integers(-2, 2), min_size=12, max_size=12))
def test_matrix_games_by_the_definition(payoffs: list[int]) -> None:
    """Two actions against three, with ties."""
    table = [[[payoffs[6 * i + 2 * j], payoffs[6 * i + 2 * j + 1]] for j in range(3)] for i in range(2)]
    game = game_from_dict({"name": "m", "actions": [["a", "b"], ["x", "y", "z"]], "payoffs": table})
    expected = [
        (("a", "b")[i], ("x", "y", "z")[j])
        for i, j in product(range(2), range(3))
        if table[i][j][0] == max(table[k][j][0] for k in range(2))
        and table[i][j][1] == max(table[i][k][1] for k in range(3))
    ]
    assert [(*one.plans["row"], *one.plans["column"]) for one in stage_equilibria(game)] == expected


@pytest.mark.parametrize(("name", "expected"), [("ipd-8", 1), ("ish", 2), ("icg", 2), ("imp", 0)])
def test_games_of_the_catalogue(name: str, expected: int) -> None:
    assert len(stage_equilibria(make_game(name))) == expected


def test_many_seats() -> None:
    (found,) = stage_equilibria(make_game("public-goods:n=4"))
    assert set(found.plans.values()) == {("keep",)} and set(found.payoffs.values()) == {3.0}


def test_a_stage_lists_what_seats_see() -> None:
    stage = stage_of(Auction())
    assert stage.seen == (({ALICE: 2}, {ALICE: 4}), ({BOB: 2}, {BOB: 4}))
    assert [seen for _, seen in stage.deals] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (make_game("negotiation-v2"), "does not list what chance can deal"),
        (Auction(), "game 'auction' has 81 combinations of plans; at most 80 are enumerated"),
        (DealtKuhn(), "games in which all seats act at the same time; 'kuhn-test' is none"),
        (Twice(), "games in which all seats act once; 'negotiation-v1' is none"),
        (Unlisted(), "does not list the actions of alice"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_what_cannot_be_enumerated_is_refused(game: Game, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.games.stage_equilibria.MOST_PROFILES", 80)
    with pytest.raises(UsageError, match=message):
        stage_equilibria(game)
