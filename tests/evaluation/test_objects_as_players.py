"""Functions and objects sit where names do: in matches, cross-play, best responses and audits."""

from __future__ import annotations

import coplay
from coplay import Request


def defector(request: Request) -> str:
    """Always defect."""
    return "defect"


def test_cross_play_of_a_function_is_that_of_the_strategy_it_copies() -> None:
    own = coplay.cross_play("ipd", [defector, "tit_for_tat"], rounds=6, episodes=2, seed=3)
    named = coplay.cross_play("ipd", ["always_defect", "tit_for_tat"], rounds=6, episodes=2, seed=3)
    assert own.payoffs == named.payoffs
    assert own.players == ("defector", "tit_for_tat")


def test_a_best_response_to_a_function_reaches_that_to_the_strategy() -> None:
    own = coplay.exploit("ipd", defector, rounds=3, samples=4)
    named = coplay.exploit("ipd", "always_defect", rounds=3)
    assert own.player == "defector"
    assert own.best_response == named.best_response


def test_a_player_object_meets_the_same_payoffs_as_its_name() -> None:
    game = coplay.make_game("ipd")
    made = coplay.make_player("grim_trigger", game, "row")
    own = coplay.cross_play(game, [made, "tit_for_tat"], rounds=6, episodes=1)
    assert own.payoffs == coplay.cross_play(game, ["grim_trigger", "tit_for_tat"], rounds=6, episodes=1).payoffs
