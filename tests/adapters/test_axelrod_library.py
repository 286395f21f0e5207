"""Axelrod, both ways: the same moves as its own matches, its own tests for players, and names that are found.

Importing Axelrod takes 15 to 30 seconds, here and in the process that plays its strategies.
"""

import contextlib
import io
import math
import os
import signal
import sys
import time
import unittest
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coplay import match
from coplay.adapters.axelrod import as_axelrod
from coplay.adapters.axelrod.process import worker
from coplay.adapters.axelrod.strategies import dilemma
from coplay.api import exploit
from coplay.errors import CoplayError, UsageError
from coplay.evaluation.match import MatchResult
from coplay.games import make_game

TWINS = {
    "always_cooperate": "Cooperator",
    "always_defect": "Defector",
    "tit_for_tat": "TitForTat",
    "suspicious_tit_for_tat": "SuspiciousTitForTat",
    "tit_for_two_tats": "TitFor2Tats",
    "grim_trigger": "Grudger",
    "win_stay_lose_shift": "WinStayLoseShift",
    "alternator": "Alternator",
}
"""coplay's strategies that draw no lots, and Axelrod's of the same behaviour."""

FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def moves(result: MatchResult) -> list[list[dict[str, object]]]:
    return [[dict(one.actions("action")) for one in episode.rounds] for episode in result.episodes]


# ---------------------------------------------------------------------- without the package


@pytest.fixture
def no_axelrod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "axelrod", None)
    monkeypatch.setattr("coplay.adapters.axelrod.process._workers", [])
    monkeypatch.setattr("coplay.adapters.axelrod.process.find_spec", lambda name: None)


@pytest.mark.usefixtures("no_axelrod")
def test_without_the_package_there_is_an_install_line() -> None:
    with pytest.raises(UsageError, match=r"pip install 'coplay\[axelrod\]'"):
        match("ipd", "axelrod:TitForTat", "tit_for_tat")
    with pytest.raises(UsageError, match=r"pip install 'coplay\[axelrod\]'"):
        as_axelrod("tit_for_tat")


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("imp", "is none for row: R, S, T, P are 1, -1, -1, 1"),
        ("kuhn", "is no matrix game"),
        ("public-goods:n=3", "is no matrix game"),
    ],
)
def test_games_that_are_no_dilemmas(game: str, why: str) -> None:
    found = make_game(game)
    with pytest.raises(UsageError, match=why):
        dilemma(found, found.seats[0])


@pytest.mark.parametrize("game", ["ipd", "icg", "ish", "c-ipd", "ipd-8", "ipd-ab"])
def test_games_that_are(game: str) -> None:
    found = make_game(game)
    assert all(len(dilemma(found, seat)) == 4 for seat in found.seats)


# ---------------------------------------------------------------------- its strategies here


@pytest.fixture(scope="module")
def axelrod() -> Any:
    """The library, in this process."""
    return pytest.importorskip("axelrod", reason="needs Axelrod: pip install 'coplay[axelrod]'")


@FEW
@given(ours=st.sampled_from(sorted(TWINS)), p=st.floats(0.0, 1.0), seed=st.integers(0, 2**20))
def test_the_same_strategy_makes_the_same_moves(axelrod: Any, ours: str, p: float, seed: int) -> None:
    def played(name: str) -> list[list[dict[str, object]]]:
        return moves(match("ipd", name, f"random:{p}", rounds=12, episodes=3, seed=seed))

    assert played(f"axelrod:{TWINS[ours]}") == played(ours)


def test_any_pair_makes_the_moves_of_axelrods_own_match(axelrod: Any) -> None:
    """All strategies that draw no lots and are quick, each against the next: through the process, and in Axelrod's match."""
    kinds = axelrod.Classifiers
    quiet = [one for one in axelrod.short_run_time_strategies if not kinds["stochastic"](one())]
    r, s, t, p = dilemma(make_game("ipd"), "row")
    unknown = {"length": float("inf"), "game": axelrod.Game(r=r, s=s, t=t, p=p), "noise": 0}
    for first, second in list(pairwise(quiet))[::9]:
        native = axelrod.Match((first(), second()), turns=15, game=unknown["game"], match_attributes=unknown).play()
        ours = match("ipd", f"axelrod:{first.__name__}", f"axelrod:{second.__name__}", rounds=15, episodes=1)
        words = [tuple(str(action)[0].upper() for action in one.values()) for one in moves(ours)[0]]
        assert words == [(str(a), str(b)) for a, b in native], (first.name, second.name)


def test_chance_comes_from_the_seed(axelrod: Any) -> None:
    def played(seed: int, episodes: int = 4) -> list[list[dict[str, object]]]:
        return moves(match("ipd", "axelrod:ZD-Extort-2", "axelrod:Random", rounds=15, episodes=episodes, seed=seed))

    assert played(1) == played(1)
    assert played(1) == played(1, 8)[:4]
    assert played(1) != played(2)
    assert len({str(game) for game in played(1)}) > 1


def test_extortion_is_what_it_is_here(axelrod: Any) -> None:
    """Two implementations of one four-vector, against one that draws lots: payoffs agree within four standard errors."""
    paid = []
    for name in ("axelrod:ZD-Extort-2", "zd_extort_2"):
        result = match({**PD, "rounds": 20}, name, "random:0.6", episodes=300)
        totals = [episode.total("row") for episode in result.episodes]
        mean = sum(totals) / len(totals)
        paid.append((mean, sum((one - mean) ** 2 for one in totals) / len(totals) ** 2))
    (a, va), (b, vb) = paid
    assert abs(a - b) < 4 * (va + vb) ** 0.5


PD = {"name": "pd", "actions": ["cooperate", "defect"], "payoffs": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]}


@pytest.mark.parametrize(
    "name", ["Win-Stay Lose-Shift", "win stay lose shift", "WinStayLoseShift", "winstay_loseshift"]
)
def test_names_are_read_with_good_will(axelrod: Any, name: str) -> None:
    assert match("ipd", f"axelrod:{name}", "tit_for_tat", episodes=1).players["row"] == f"axelrod:{name}"


def test_an_unknown_name_has_a_near_one(axelrod: Any) -> None:
    with pytest.raises(
        UsageError, match=r"Axelrod has no strategy 'ZD Extrot 2'. Did you mean 'axelrod:ZD-Extort-2'\?"
    ):
        match("ipd", "axelrod:ZD Extrot 2", "tit_for_tat")


def test_what_draws_no_lots_can_be_enumerated(axelrod: Any) -> None:
    assert (
        exploit("ipd", "axelrod:TitForTat", rounds=4).to_dict()["best_response"]
        == (exploit("ipd", "tit_for_tat", rounds=4).to_dict()["best_response"])
    )


def test_the_process_ends_with_an_error_and_is_started_again(axelrod: Any) -> None:
    match("ipd", "axelrod:TitForTat", "tit_for_tat", rounds=2, episodes=1)
    one = worker()
    one.process.send_signal(signal.SIGKILL)
    with pytest.raises(CoplayError, match="the process that plays Axelrod's strategies has ended"):
        one.ask({"names": True})
    assert worker() is not one


def test_the_process_ends_with_its_input(axelrod: Any) -> None:
    one = worker()
    assert one.process.stdin is not None
    one.process.stdin.close()
    for _ in range(200):
        if one.process.poll() is not None:
            break
        time.sleep(0.1)
    assert one.process.poll() == 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(one.process.pid, 0)
        pytest.fail("it is still there")


# ---------------------------------------------------------------------- players there


@FEW
@given(
    ours=st.sampled_from(sorted(TWINS)), seed=st.integers(0, 2**20), noise=st.sampled_from([0.0, 0.1]), data=st.data()
)
def test_ours_makes_theirs_moves_in_their_match(axelrod: Any, ours: str, seed: int, noise: float, data: Any) -> None:
    opponent = data.draw(
        st.sampled_from([*axelrod.demo_strategies, axelrod.ZDExtort2, axelrod.Adaptive, axelrod.Gradual])
    )

    changed = 0.0 if ours == "alternator" else noise  # Axelrod's goes by its own last move, ours by the round

    def played(player: Any) -> object:
        return axelrod.Match((player, opponent()), turns=20, seed=seed, noise=changed).play()

    assert played(as_axelrod(ours, stochastic=False)) == played(getattr(axelrod, TWINS[ours])())


def test_a_tournament_pays_ours_what_it_pays_theirs(axelrod: Any) -> None:
    opponents = [axelrod.Cooperator(), axelrod.Defector(), axelrod.Alternator(), axelrod.Grudger()]
    scores = []
    for player in (as_axelrod("tit_for_tat", stochastic=False), axelrod.TitForTat()):
        tournament = axelrod.Tournament([player, *opponents], turns=10, repetitions=2, seed=1)
        scores.append(tournament.play(progress_bar=False).scores)
    assert scores[0] == scores[1]


@pytest.mark.parametrize("name", ["tit_for_tat", "random:0.4", "generous_tit_for_tat"])
def test_axelrods_own_tests_for_players(axelrod: Any, name: str) -> None:
    from axelrod.tests.strategies.test_player import TestPlayer

    class TestOurs(TestPlayer):  # type: ignore[misc]
        player = staticmethod(lambda: as_axelrod(name))
        expected_class_classifier = expected_classifier = as_axelrod(name).classifier

    TestOurs.name = name
    passes(TestOurs)


def passes(tests: type[unittest.TestCase]) -> None:
    told = io.StringIO()
    found = unittest.TextTestRunner(told).run(unittest.defaultTestLoader.loadTestsFromTestCase(tests))
    assert found.wasSuccessful() and found.testsRun >= 8, told.getvalue()


STRATEGY_TESTS = {
    "always_cooperate": ("test_cooperator", "TestCooperator"),
    "always_defect": ("test_defector", "TestDefector"),
    "tit_for_tat": ("test_titfortat", "TestTitForTat"),
    "suspicious_tit_for_tat": ("test_titfortat", "TestSuspiciousTitForTat"),
    "tit_for_two_tats": ("test_titfortat", "TestTitFor2Tats"),
    "grim_trigger": ("test_grudger", "TestGrudger"),
    "win_stay_lose_shift": ("test_memoryone", "TestWinStayLoseShift"),
    "alternator": ("test_alternator", "TestAlternator"),
}
"""coplay's strategies, and Axelrod's own tests of the same strategies."""


@pytest.mark.parametrize("ours", STRATEGY_TESTS)
def test_axelrods_own_tests_for_the_same_strategy(axelrod: Any, ours: str) -> None:
    """All of them; that it remembers all that was played is what we declare of any player."""
    module, name = STRATEGY_TESTS[ours]
    theirs = getattr(import_module(f"axelrod.tests.strategies.{module}"), name)

    class TestOurs(theirs):  # type: ignore[misc]
        player = staticmethod(lambda: as_axelrod(ours, stochastic=False))
        expected_classifier: ClassVar = {**theirs.expected_classifier, "memory_depth": math.inf}

    TestOurs.name = ours
    passes(TestOurs)
