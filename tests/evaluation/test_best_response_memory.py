"""Best responses to classical strategies that read the whole past: by what these sum it up as, and as if they remembered every round."""

from dataclasses import replace
from typing import cast

import pytest
from told_players import both

from coplay.evaluation.best_response import best_response_value
from coplay.evaluation.pasts import NotExact
from coplay.games import Game, make_game
from coplay.players.scripted import Strategy, make_script
from coplay.players.strategies import SUMS_UP


def forgetting_nothing(name: str, game: Game, seat: str) -> Strategy:
    """A classical strategy that does not say what it sums the past up as."""
    known = cast(Strategy, make_script(name, game, seat))
    return replace(known, rule=lambda past: known.rule(past))


def test_a_long_memory_is_refused_with_the_rounds_that_can_be_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.evaluation.round_tree.MOST_POSITIONS", 500)
    rules = make_game("ipd")
    player = forgetting_nothing("grim_trigger", rules, "row")
    with pytest.raises(NotExact, match=r"more than 500 positions: .* ask for at most --rounds 7"):
        best_response_value(rules, "row", both(rules, player), rounds=20)


@pytest.mark.parametrize("name", [rule.__name__ for rule in SUMS_UP])
@pytest.mark.parametrize("game", ["ipd", "icg", "imp"])
def test_what_a_strategy_sums_the_past_up_as_is_all_that_matters(name: str, game: str) -> None:
    """As if it remembered every round."""
    rules = make_game(game)
    for seat in rules.seats:
        whole = forgetting_nothing(name, rules, rules.other(seat))  # type: ignore[attr-defined]
        value = best_response_value(rules, seat, both(rules, name), rounds=5)
        assert value == pytest.approx(best_response_value(rules, seat, both(rules, whole), rounds=5))


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("grim_trigger", 19 * 3 + 4),  # cooperate until the last round
        ("tit_for_two_tats", 10 * 4 + 9 * 3 + 4),  # defect every second round, and in the last two
        ("alternator", 10 * 4 + 10 * 1),  # defect always
    ],
)
def test_twenty_rounds_by_hand(name: str, total: float) -> None:
    rules = make_game("ipd")
    assert 20 * best_response_value(rules, "row", both(rules, name), rounds=20) == pytest.approx(total)
