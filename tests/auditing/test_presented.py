"""Conduct in other presentations of a game: nothing changes for players that go by names, and what a model does with letters and numbers is found."""

from pathlib import Path

import pytest

import coplay
from coplay.auditing.presented import PRESENTED, disguises, number_of_presentations
from coplay.auditing.record import Measure
from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response_value
from coplay.games import GAMES, Game, make_game
from coplay.games.matrix import NUMBERS, MatrixGame
from coplay.games.records import Occupant
from coplay.players.named import make_player


def measured(player: object, game: str = "ipd", kind: str = "relabelled") -> dict[str, Measure]:
    found = coplay.audit(game, player, against=[kind], rounds=4, episodes=6)  # type: ignore[arg-type]
    return {one.name: one for one in found.audit.measures}


def test_a_model_is_read_under_three_other_labellings() -> None:
    """The embedded model's first policies differ by labels, by its build."""
    found = measured("tiny")
    assert list(found) == ["relabelled/D/C", "relabelled/J/F", "relabelled/N/Y"]
    assert all(
        one.effective_n == 12 and one.ci95 is not None for one in found.values()
    )  # two seats: a model may look at its own
    assert any(abs(one.value or 0.0) > 0.05 for one in found.values())


def test_a_model_is_read_with_two_other_sets_of_numbers() -> None:
    found = measured("tiny", kind="disguised")
    assert list(found) == ["disguised/x10", "disguised/+5"]
    assert all(one.effective_n == 12 and one.ci95 is not None for one in found.values())
    assert any(abs(one.value or 0.0) > 0.05 for one in found.values())


@pytest.mark.parametrize("game", [name for name, one in GAMES.items() if isinstance(one, MatrixGame)])
def test_disguises_leave_preferences_as_they_are(game: str) -> None:
    """To a player that goes by what was done, a best response is worth what the disguise makes of it."""
    rules = make_game(game)

    def value(one: Game) -> float:
        own, other = one.seats
        player = {other: Occupant(make_player("random:0.3", one, other), "random")}
        return best_response_value(one, own, ActionProbabilities(one, player), rounds=2)

    for (factor, more), one in zip(NUMBERS.values(), disguises(rules).values(), strict=True):
        assert value(one) == pytest.approx(factor * value(rules) + more)


@pytest.mark.parametrize("kind", PRESENTED)
def test_players_that_go_by_names_are_left_out(kind: str) -> None:
    assert measured("tit_for_tat", kind=kind) == {}
    assert measured(lambda request: "cooperate", kind=kind) == {}


def test_games_without_presentations_say_so() -> None:
    found = coplay.audit("kuhn", "tiny-reason", against=["relabelled"], rounds=1, episodes=1)
    assert not found.audit.measures and "is no matrix game of two actions" in found.audit.notes[0]
    found = coplay.audit("auction", "tiny-reason", against=["disguised"], rounds=1, episodes=1)
    assert not found.audit.measures and "has no disguises" in found.audit.notes[0]
    numbers = {game: number_of_presentations(make_game(game), "disguised") for game in ("auction", "ipd", "kuhn")}
    assert numbers == {"auction": 0, "ipd": 2, "kuhn": 1}


def test_a_model_plays_poker_with_tiles(tmp_path: Path) -> None:
    """Who chooses among replies plays on; who has to write a word that it never learnt is told of as such."""
    one = measured("choose:tiny", "kuhn", "disguised")["disguised/tiles"]
    assert one.effective_n == 12 and one.ci95 is not None
    found = coplay.audit("kuhn", "tiny-reason", against=["disguised"], rounds=1, episodes=1, out=tmp_path)
    assert "changes by  tiles unknown (no legal reply)" in found.table()
    assert "\nrandom" not in found.table()  # no row for a co-player of whom nothing is told
    card = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "unknown (no legal reply)" in card and "What co-players take" not in card
