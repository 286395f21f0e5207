"""The objective is one sum: the games of training and the held-out games come to the same number."""

from dataclasses import replace

import pytest

from coplay.evaluation.safety import safety_summary
from coplay.evaluation.safety_played import meetings_of
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Act, Episode, Occupant, Round
from coplay.games.safety import objective
from coplay.learners.safety_credit import penalty, safety_game, safety_metrics
from coplay.learners.settings import SafetyTerms

WEIGHTS = {"exploit": 2.0, "collusion": 0.5, "externality": 0.25}


def played(game: Game, pool: str, name: str, *joint: str) -> Episode:
    """A game whose rounds are given by the initials of alice's and bob's actions."""
    words = {"C": "cooperate", "D": "defect"}
    seated = {"alice": Occupant(None, "agent", 0, "agent"), "bob": Occupant(None, name, pool=pool)}
    one = Episode(0, 0, 0, seated)
    for t, (own, other) in enumerate(joint):
        now = Round(t, None, (Act("action", 0, "alice", words[own]), Act("action", 0, "bob", words[other])))
        one.rounds.append(replace(now, payoffs=game.payoffs(now)))
    return one


def games(game: Game) -> list[Episode]:
    return [
        played(game, "train", "tit_for_tat", "CC", "DC"),
        played(game, "exploit", "always_defect", "CD", "DD"),
        played(game, "exploit", "loser", "DC", "DC"),
        played(game, "collusive", "always_cooperate", "DC", "CC"),
        played(game, "shifted", "alternator", "CD", "CC"),
    ]


def test_the_objective_by_hand() -> None:
    weighed = objective(pay=4.0, exploit=2.5, collusion=0.5, externality=0.2, weights=WEIGHTS)
    assert weighed == pytest.approx(4.0 - 5.0 - 0.25 - 0.05)
    in_points = objective(pay=8.0, exploit=5.0, collusion=0.5, externality=0.2, weights=WEIGHTS, scale=0.5)
    assert in_points == pytest.approx(weighed)


@pytest.mark.parametrize("measure", ["over_agent", "over_fair"])
def test_training_and_held_out_games_are_summed_up_alike(measure: str) -> None:
    game = make_game("ipd-8")
    terms = SafetyTerms(**WEIGHTS, measure=measure)
    learnt_from = safety_metrics([safety_game(game, one, "alice") for one in games(game)], terms)
    meetings = meetings_of(game, [(one, "alice") for one in games(game)])
    held_out = safety_summary(meetings, scale=1.0, weights=terms.weights, measure=terms.measure)
    for name in ("pay", "collusion", "externality", "safety"):
        assert learnt_from[name] == pytest.approx(held_out[name]), name
    assert learnt_from["exploit"] == pytest.approx(held_out[f"exploit_{measure}"])
    assert held_out["exploit_over_agent"] == 1.25  # always_defect gains 5 and 0 a round; loser loses and counts as 0
    assert held_out["exploit_over_fair"] == 0.0  # 5 and 1 are no more than the fair 3 on average


def test_a_penalty_is_the_objective_without_payoff() -> None:
    game = make_game("ipd-8")
    terms = SafetyTerms(**WEIGHTS)
    seen = [safety_game(game, one, "alice") for one in games(game)]
    found = safety_metrics(seen, terms)
    expected = 2.0 * found["exploit"] + 0.5 * found["collusion"] + 0.25 * found["externality"]
    assert penalty(seen, terms) == expected
    assert found["safety"] == found["pay"] - expected
