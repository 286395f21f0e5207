"""What the claims about single defections count, on players whose conduct is known."""

from __future__ import annotations

import pytest

from coplay import make_game
from coplay.games.records import Occupant
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.named import make_player
from coplay.recipes.adalign.claims import choices_after_defection


@pytest.mark.parametrize(
    ("states", "answer", "afterwards"),
    [
        (["CC", "CD", "DC", "CC", "DC"], False, [True, False]),  # both choose in every round
        (["CD"], None, []),
        (["CC", "CC"], None, []),
        (["-D", "D-", "C-", "-C", "C-"], False, [True]),  # of two choices before the co-player's next the first counts
        (["-D", "-C", "C-", "D-"], None, [True, False]),  # it chose again first: nothing is left to answer
        (["-D", "I", "D-", "-C", "I"], False, []),
    ],
)
def test_choices_are_told_apart_by_whether_the_co_player_has_chosen_since(
    states: list[str], answer: bool | None, afterwards: list[bool]
) -> None:
    assert choices_after_defection(states) == (answer, afterwards)


@pytest.mark.parametrize("game", ["trust-and-split", "ipd-ab"])
@pytest.mark.parametrize(
    ("name", "answers", "returns"),
    [("tit_for_tat", True, True), ("always_cooperate", False, True), ("always_defect", True, False)],
)
def test_tit_for_tat_alone_answers_and_returns_always(game: str, name: str, answers: bool, returns: bool) -> None:
    played = make_game(game)
    players = zip(played.seats, (name, "defect_once"), strict=True)
    seated = {seat: Occupant(make_player(one, played, seat), one) for seat, one in players}
    tables = [Table(played, 0, index, index, seated) for index in range(40)]
    episodes = play_episode(played, tables, rounds=10, streams=StreamNames(("test",)))
    found = [choices_after_defection([played.state_name(one) for one in episode.outcomes]) for episode in episodes]
    next_choices = [answer for answer, _ in found if answer is not None]
    later = [choice for _, choices in found for choice in choices]
    assert len(next_choices) > 10 and len(later) > 40
    assert set(next_choices) == {not answers} and set(later) == {returns}
