"""The conformance kit for games in rounds passes ours and finds what is planted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from coplay.games.rounds import ALICE, SEATS, Action, Phase
from coplay.games.split import TrustAndSplit
from coplay.rounds.check import check_round_game
from coplay.text.rounds import WORDED, Worded, WordedTrust


@pytest.mark.parametrize("game", WORDED)
def test_ours_pass(game: str) -> None:
    assert check_round_game(WORDED[game]) == []


@dataclass(frozen=True)
class NotEverybody(TrustAndSplit):
    def phases(self, round: int) -> tuple[Phase, ...]:
        return (Phase("message", SEATS), Phase("proposal", (ALICE,)))


@dataclass(frozen=True)
class Strangers(TrustAndSplit):
    def phases(self, round: int) -> tuple[Phase, ...]:
        return (Phase("message", ("carol",)), Phase("proposal", SEATS))


@dataclass(frozen=True)
class Infinite(TrustAndSplit):
    def payoffs(self, deal: Any, actions: Mapping[str, Action | None]) -> dict[str, float]:
        return {seat: float("inf") if actions[seat] is None else 1.0 for seat in SEATS}


@dataclass(frozen=True)
class Deaf(WordedTrust):
    def read(self, situation: Any, text: str) -> Action | None:
        return None if situation.phase == "message" else super().read(situation, text)


@dataclass(frozen=True)
class Wordless(WordedTrust):
    def summary(self, past: Any, seat: str) -> str:
        raise LookupError("no words")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (WordedTrust(NotEverybody()), "does not ask everybody"),
        (WordedTrust(Strangers()), "carol, who has no seat"),
        (WordedTrust(Infinite()), "gets {'alice': inf"),
        (Deaf(TrustAndSplit()), "which is read as None"),
        (Wordless(TrustAndSplit()), "cannot be written"),
    ],
)
def test_what_is_planted_is_found(words: Worded, said: str) -> None:
    assert any(said in problem for problem in check_round_game(words))


def test_chance_of_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10_000))
    game = TrustAndSplit()
    monkeypatch.setattr(
        TrustAndSplit, "deal", lambda self, chance: replace(WORDED_DEAL, hands={**HANDS, "n": next(numbers)})
    )
    assert any("different things" in problem for problem in check_round_game(WordedTrust(game)))


HANDS = {"alice": "rock", "bob": "paper"}
WORDED_DEAL = TrustAndSplit().deal([0.1])
