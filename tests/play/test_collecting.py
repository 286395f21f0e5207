"""The garbage collector runs seldom while games are played, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest
from fake_players import occupants, scripts

from coplay.evaluation.match import loop_match
from coplay.games import make_game
from coplay.games.records import Reply, Request
from coplay.play.collecting import SELDOM, seldom_collected
from coplay.players.base import OneByOne


@pytest.fixture(autouse=True)
def as_python_starts() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


class Watching(OneByOne):
    """Keeps how seldom the collector ran while it was asked, then fails."""

    name, memory, seen = "watching", "none", ()

    def reply(self, request: Request) -> Reply:
        self.seen = gc.get_threshold()
        raise RuntimeError("over")


def test_in_games_even_if_they_fail() -> None:
    game, player = make_game("ipd"), Watching()
    seated = occupants({**scripts(game, "random", "random"), "row": player})
    with pytest.raises(RuntimeError, match="over"):
        loop_match(game, seated, rounds=1, episodes=1, seed=0)
    assert player.seen == SELDOM and gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("set_before", [(0, 10, 10), (200_000, 5, 5)])
def test_whoever_set_it_apart_keeps_it(set_before: tuple[int, int, int]) -> None:
    gc.set_threshold(*set_before)
    with seldom_collected():
        assert gc.get_threshold() == set_before
