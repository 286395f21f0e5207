"""Welfare of a round: the dilemmas of three seats by hand, and bounds from the definition."""

from itertools import product

import pytest

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.pairwise import PairwiseDilemma
from coplay.games.stage_equilibria import stage_equilibria
from coplay.games.stage_welfare import stage_welfare

# Equilibria, least and most welfare, welfare of the worst and the best equilibrium. A pair comes to 2R, S + T or 2P; the most and the least of a round
# are three pairs at their best and worst, with a shared action the best and worst of what k cooperators come to.
BY_HAND = {
    "ipd-3:talk=0": (1, 6.0, 18.0, 6.0, 6.0),
    "ipd-3:talk=0,shared=true": (1, 6.0, 18.0, 6.0, 6.0),
    "stag-hunt-3:talk=0": (8, 9.0, 24.0, 12.0, 24.0),
    "stag-hunt-3:talk=0,shared=true": (2, 10.0, 24.0, 12.0, 24.0),
    "chicken-3:talk=0": (8, 0.0, 36.0, 27.0, 27.0),
    "chicken-3:talk=0,shared=true": (3, 0.0, 36.0, 30.0, 30.0),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_dilemmas_of_three_seats(name: str) -> None:
    found = stage_welfare(make_game(name))
    expected = BY_HAND[name]
    assert (len(found.equilibria), found.least, found.most, found.worst, found.best) == expected
    assert found.price_of_anarchy == expected[2] / expected[3]
    assert found.price_of_stability == expected[2] / expected[4]


def test_with_a_decision_for_each_co_player_every_pair_is_a_game_of_its_own() -> None:
    game = make_game("chicken-3:talk=0")
    for one in stage_equilibria(game):
        plans = {seat: dict(plan[0]) for seat, plan in one.plans.items() if isinstance(plan[0], tuple)}
        for a, b in (("player-1", "player-2"), ("player-1", "player-3"), ("player-2", "player-3")):
            assert {plans[a][b], plans[b][a]} == {"cooperate", "defect"}


@pytest.mark.parametrize("shared", ["false", "true"])
@pytest.mark.parametrize("name", ["ipd-3", "stag-hunt-3", "chicken-3"])
def test_equilibria_from_the_definition(name: str, shared: str) -> None:
    game = make_game(f"{name}:talk=0,shared={shared}")
    assert isinstance(game, PairwiseDilemma)
    pay = {(0, 0): game.reward, (0, 1): game.sucker, (1, 0): game.temptation, (1, 1): game.punishment}
    plans = [(0, 0), (1, 1)] if shared == "true" else list(product((0, 1), repeat=2))

    def total(joint: tuple[tuple[int, int], ...], seat: int) -> float:
        # A plan is towards the others in order: that of seat 2 towards 0 and 1.
        others = [other for other in range(3) if other != seat]
        return sum(pay[joint[seat][j - (j > seat)], joint[j][seat - (seat > j)]] for j in others)

    def stable(joint: tuple[tuple[int, int], ...]) -> bool:
        changed = [(seat, (*joint[:seat], plan, *joint[seat + 1 :])) for seat in range(3) for plan in plans]
        return all(total(other, seat) <= total(joint, seat) for seat, other in changed)

    expected = [sum(total(joint, i) for i in range(3)) for joint in product(plans, repeat=3) if stable(joint)]
    assert sorted(stage_welfare(game).at_equilibria) == sorted(expected)


def test_prices_need_equilibria_and_positive_welfare() -> None:
    pennies = stage_welfare(make_game("imp"))
    assert pennies.equilibria == () and pennies.worst is pennies.best is None
    assert pennies.price_of_anarchy is pennies.price_of_stability is None


def test_games_that_cannot_be_enumerated() -> None:
    with pytest.raises(UsageError, match="all seats act at the same time"):
        stage_welfare(make_game("ipd-3"))
