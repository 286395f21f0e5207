"""The mediators by rule of appendices A.5 and A.6, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from mediated_by_hand import MEDIATOR, asked, mediated, past, played

from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import Message, addressed
from coplay.games.records import Round


def speaks(game: Mediated, rule: str, rounds: Sequence[Round], parameter: float | None = None) -> dict[str, float]:
    """The probability of each notice, silence included."""
    found: dict[str, float] = {}
    for action, p in game.strategies[rule].rule(asked(game, rounds), parameter).items():
        found[cast(Message, action)[0]] = found.get(cast(Message, action)[0], 0.0) + p
    return found


@pytest.mark.parametrize(
    ("rule", "rounds", "expected"),
    [
        ("never", ["DD DD DD"], False),
        ("always_intervene", [], True),
        ("always_intervene", ["CC CC CC"], True),
        ("coop_thresh", [], True),
        ("coop_thresh", ["CC CC CC"], False),
        ("coop_thresh", ["CD CD CD"], False),  # exactly one half is not below
        ("coop_thresh", ["CD CD DD"], True),
        ("coop_thresh", ["CC CC CC", "DD DD DD"], False),
        ("coop_thresh", ["CC CC CC", "DD DD DD", "CD CD DD"], True),
        ("defector", [], False),
        ("defector", ["CC CC CD"], True),
        ("defector", ["DD DD DD", "CC CC CC"], False),
        ("payoff_thresh", [], False),
        ("payoff_thresh", ["DD DD DD"], True),  # 2 a seat; the threshold is 3, half of what all get who cooperate
        ("payoff_thresh", ["CC CC CC"], False),
        ("payoff_thresh", ["DD DD DD", "CC CC CC"], False),  # 4
    ],
)
def test_rules_of_social_dilemmas(rule: str, rounds: list[str], expected: bool) -> None:
    game = mediated("ipd-3:talk=0+mediator")
    assert speaks(game, rule, past(game, *rounds)) == {"intervene" if expected else "none": 1.0}


def test_thresholds_can_be_set() -> None:
    game = mediated("ipd-3:talk=0+mediator")
    seen = past(game, "CD CD CD")
    assert speaks(game, "coop_thresh", seen, 0.51) == {"intervene": 1.0}
    assert speaks(game, "payoff_thresh", seen, 100.0) == {"intervene": 1.0}


@pytest.mark.parametrize(
    ("rule", "names", "expected"),
    [
        ("never", ("monopoly", "monopoly"), {"none": 1.0}),
        ("always_intervene", ("nash", "nash"), {"strong": 1.0}),
        ("gain_thresh", ("monopoly", "monopoly"), {"strong": 1.0}),
        ("gain_thresh", ("nash", "nash"), {"none": 1.0}),
        ("coin", ("nash", "nash"), {"none": 0.5, "mild": 0.25, "strong": 0.25}),
    ],
)
def test_rules_of_bertrand(rule: str, names: tuple[str, str], expected: dict[str, float]) -> None:
    game = mediated("bertrand+mediator")
    (episode,) = played("bertrand+mediator", *names, "never", rounds=2)
    seen = tuple(game.observe(one, MEDIATOR) for one in episode.rounds)
    assert speaks(game, rule, seen) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mediator", "cooperated"),
    [("never", [0, 0, 0]), ("always_intervene", [1, 1, 1]), ("coop_thresh", [1, 1, 1])],
)
@pytest.mark.parametrize("spec", ["ipd-3:talk=0,shared=true+mediator", "stag-hunt-3:talk=0+mediator"])
def test_players_that_are_persuaded_go_on_by_themselves(spec: str, mediator: str, cooperated: list[float]) -> None:
    (one,) = played(f"{spec}:targets=everyone", *["persuadable"] * 3, mediator, rounds=3)
    game = make_game(f"{spec}:targets=everyone")
    assert [game.collective(done)["cooperation"] for done in one.rounds] == cooperated
    spoke = [bool(addressed(done.acts[0].action)) for done in one.rounds]
    assert spoke == {"never": [False] * 3, "always_intervene": [True] * 3}.get(mediator, [True, False, False])
    (two,) = played(f"{spec}:targets=everyone", "persuadable", "persuadable", "always_defect", "coop_thresh", rounds=3)
    assert [bool(addressed(done.acts[0].action)) for done in two.rounds] == [True, False, True]
    assert [game.collective(done)["cooperation"] > 0 for done in two.rounds] == [True, False, True]


def test_always_mild_and_random_as_printed() -> None:
    """``always:mild``, and the paper's random-50 %, which draws each of three actions with one third."""
    episodes = played("bertrand+mediator", "nash", "nash", "always:mild", rounds=3)
    assert [cast(Message, one.acts[0].action)[0] for one in episodes[0].rounds] == ["mild"] * 3
    said = [
        cast(Message, one.acts[0].action)[0]
        for episode in played("bertrand+mediator", "nash", "nash", "uniform", rounds=10, tables=30)
        for one in episode.rounds
    ]
    assert all(abs(said.count(name) / 300 - 1 / 3) < 0.1 for name in ("none", "mild", "strong"))
