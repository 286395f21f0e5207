"""The conformance kit passes the games of the catalogue and finds what is planted, in games with deals, phases and messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from coplay.conformance.games import check_game, failures
from coplay.games import GAMES, Game
from coplay.games.chat_matrix import IPD_AB, ChatMatrixGame
from coplay.games.memory import Joint, Observation
from coplay.games.records import Action, Outcome, Phase, Request, Round
from coplay.games.split import ALICE, SEATS, SplitDeal
from coplay.games.trust_and_split import TrustAndSplit
from coplay.text.chat import PromptParts


@pytest.mark.parametrize("name", GAMES)
def test_the_catalogue_has_no_problems(name: str) -> None:
    assert check_game(GAMES[name]) == []


class NotEverybody(TrustAndSplit):
    """Asks only one seat for the proposal that decides."""

    def next_phase(self, now: Round) -> Phase | None:
        if not now.acts:
            return Phase("message", SEATS)
        return None if now.acted("proposal") else Phase("proposal", (ALICE,))


class Strangers(TrustAndSplit):
    """Asks somebody who has no seat."""

    def next_phase(self, now: Round) -> Phase | None:
        return Phase("message", ("carol",)) if not now.acts else Phase("proposal", SEATS, 1)


class Infinite(TrustAndSplit):
    """Pays infinitely for a reply that cannot be parsed."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return {seat: float("inf") if act is None else 1.0 for seat, act in now.actions("proposal").items()}


class FailsOnOne(TrustAndSplit):
    """Cannot pay a round in which one proposal could be parsed and the other could not."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        one, two = now.actions("proposal").values()
        if (one is None) != (two is None):
            raise ArithmeticError("one is missing")
        return dict.fromkeys(SEATS, 0.0)


class PaysStrangers(TrustAndSplit):
    """Pays somebody who has no seat."""

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return {ALICE: 1.0, "carol": 1.0}


class Deaf(TrustAndSplit):
    """Cannot parse the messages it writes."""

    def parse_action(self, request: Request, text: str) -> Action | None:
        return None if request.phase.name == "message" else super().parse_action(request, text)


class Credulous(TrustAndSplit):
    """Takes whatever comes for a message."""

    def parse_action(self, request: Request, text: str) -> Action | None:
        return super().parse_action(request, text) or ("hello" if request.phase.name == "message" else None)


class Wordless(TrustAndSplit):
    """Has no words for a round that is over."""

    def recap(self, last: Round, seat: str) -> str:
        raise LookupError("no words")


class Silent(TrustAndSplit):
    """Asks nothing."""

    def rules(self, seat: str) -> str:
        return ""

    opening = question = recap = announce = lambda self, *args: " "


class HasMoods(TrustAndSplit):
    """Shows a seat another thing when it looks again."""

    def observe(self, one: Round, seat: str) -> Round:
        if one.payoffs is not None:
            return one
        return replace(one, deal=SplitDeal({} if one.deal.values else {"again": {}}, {seat: one.deal.hands[seat]}))


class Renumbers(TrustAndSplit):
    """Changes the number of the round."""

    def observe(self, one: Round, seat: str) -> Round:
        return replace(super().observe(one, seat), number=0)


class ThreeConducts(TrustAndSplit):
    """Says what three seats did."""

    def outcome(self, one: Round) -> Outcome:
        return Outcome((None, None, None))


class SecretFigures(TrustAndSplit):
    """Has figures that it does not declare."""

    def figures_of(self, one: Round, seat: str) -> Mapping[str, Sequence[float]]:
        return {**super().figures_of(one, seat), "luck": [1.0]}


class Speechless(ChatMatrixGame):
    """Cannot put into a prompt that a reply could not be parsed."""

    def prompt_parts(self, seat: str, observation: Observation, **options: Any) -> PromptParts:
        if observation.last is not None and None in observation.last:
            raise LookupError("no label")
        return super().prompt_parts(seat, observation, **options)


SPEECHLESS = object.__new__(Speechless)
SPEECHLESS.__dict__.update(vars(IPD_AB))


@pytest.mark.parametrize(
    ("game", "problem"),
    [
        (NotEverybody(), "allocation failed: KeyError: 'bob'"),
        (Strangers(), "phase 'message' asks ('carol',), which are not its seats"),
        (Infinite(), "payoffs pays alice inf, which is neither a finite number nor None, in round"),
        (FailsOnOne(), "payoffs failed: ArithmeticError: one is missing"),
        (PaysStrangers(), "pays alice, carol; its seats are alice, bob"),
        (Deaf(), "which is parsed as None"),
        (Credulous(), "phase 'message': nonsense is parsed as an action"),
        (Wordless(), "recap failed: LookupError: no words"),
        (Silent(), "a question is empty"),
        (HasMoods(), "what alice sees of a round changes when it is observed again"),
        (Renumbers(), "which is not that round, in round 2"),
        (ThreeConducts(), "the conduct (None, None, None), which is not a word or None for each of alice, bob"),
        (SecretFigures(), "figures_of gives luck, which `figures` does not declare"),
        (SPEECHLESS, "prompt_parts failed: LookupError: no label"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Game) else "found",
)
def test_what_is_planted_is_found(game: Game, problem: str) -> None:
    problems = check_game(game)
    assert any(problem in found for found in problems), problems
    assert failures(problems)


class NoExamples(TrustAndSplit):
    """Does not say what a legal reply is."""

    def conducts(self, seat: str) -> tuple[str, ...]:
        return ()

    def own_states(self, seat: str) -> list[Joint]:
        return []


def test_what_cannot_be_tried_is_warned_of() -> None:
    problems = check_game(NoExamples())
    assert failures(problems) == []
    assert "warning: phase 'message': no legal action is known to try; give some in examples()" in problems


def test_chance_of_its_own_is_found() -> None:
    numbers = iter(range(10_000))

    @dataclass(frozen=True)
    class Fickle(TrustAndSplit):
        def deal(self, chance: Sequence[float], past: Sequence[Round]) -> SplitDeal:
            deal = super().deal(chance, past)
            return replace(deal, hands={**(deal.hands or {}), "n": str(next(numbers))})

    assert "deal: the same numbers deal different things; take all chance from them" in check_game(Fickle())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": 3}, "name must be text"),
        ({"seats": ["alice", "bob"]}, "seats must be a tuple of names"),
        ({"seats": ("alice", "alice")}, "seats must differ from one another, got alice, alice"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number of at least 1, got 2.5"),
        ({"draws": -1}, "draws must be a whole number of at least 0, got -1"),
    ],
)
def test_the_form_is_checked_first(change: dict[str, Any], problem: str) -> None:
    kind = type("Malformed", (TrustAndSplit,), {k: v for k, v in change.items() if k != "rounds"})
    game = kind(rounds=change.get("rounds", 10))
    assert [found[: len(problem)] for found in check_game(game)] == [problem]
