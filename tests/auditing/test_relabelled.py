"""Conduct under other labels: nothing changes for players that go by names, and what a model does with letters is found."""

import coplay
from coplay.auditing.record import Measure


def measured(player: object, game: str = "ipd") -> dict[str, Measure]:
    found = coplay.audit(game, player, against=["relabelled"], rounds=4, episodes=6)  # type: ignore[arg-type]
    return {one.name: one for one in found.audit.measures}


def test_a_model_is_read_under_three_other_labellings() -> None:
    """The embedded model's first policies differ by labels, by its build."""
    found = measured("tiny")
    assert list(found) == ["relabelled/D/C", "relabelled/J/F", "relabelled/N/Y"]
    assert all(
        one.effective_n == 12 and one.ci95 is not None for one in found.values()
    )  # two seats: a model may look at its own
    assert any(abs(one.value or 0.0) > 0.05 for one in found.values())


def test_players_that_go_by_names_are_left_out() -> None:
    assert measured("tit_for_tat") == {}
    assert measured(lambda request: "cooperate") == {}


def test_games_without_labels_say_so() -> None:
    found = coplay.audit("kuhn", "tiny-reason", against=["relabelled"], rounds=1, episodes=1)
    assert not found.audit.measures and "is no matrix game of two actions" in found.audit.notes[0]
