"""What seats know in numbers: as many for every request, by name, and nothing that the seat may not know."""

from __future__ import annotations

import math

import pytest

from coplay.games import GAMES, make_game
from coplay.games.base import Game
from coplay.games.features import features_in_words
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.named import make_player

EVERY = [*GAMES, "ipd-3:talk=0+mediator", "stag-hunt-3+mediator"]


class Asked:
    """Plays like another, and keeps what it was asked."""

    def __init__(self, game: Game, seat: str, memory: Memory, player: str = "uniform") -> None:
        self.name, self.memory, self.window = "asked", memory, 2
        self.player, self.requests = make_player(player, game, seat), list[Request]()

    def act(self, requests: tuple[Request, ...]) -> list[Reply]:
        self.requests += requests
        return self.player.act(requests)


def requests_of(game: Game, memory: Memory, *, rounds: int = 3) -> list[Request]:
    who = "always_cooperate" if game.name in ("split-no-comm", "trust-and-split") else "uniform"
    players = {seat: Asked(game, seat, memory, who) for seat in game.seats}
    seated = {seat: Occupant(player, "asked") for seat, player in players.items()}
    play_episode(game, [Table(game, 0, 0, 0, seated)], rounds=rounds, streams=StreamNames(("test",)))
    return [request for player in players.values() for request in player.requests]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(("memory", "window"), [(Memory.NONE, 0), (Memory.LAST_ROUND, 1), (Memory.WINDOW, 2)])
def test_every_request_has_as_many_features_as_there_are_names(name: str, memory: Memory, window: int) -> None:
    game = make_game(name)
    for request in requests_of(game, memory):
        features = game.features(request, window=window)
        names = game.feature_names(request.seat, window=window)
        assert len(features) == len(names) == len(set(names))
        assert all(isinstance(one, float) and math.isfinite(one) for one in features)
        assert features_in_words(names, features)


def test_features_by_hand() -> None:
    game = make_game("public-goods:n=3")
    players = {"player-1": "always:keep", "player-2": "always:contribute", "player-3": "always:keep"}
    seen = {seat: Asked(game, seat, Memory.WINDOW, player) for seat, player in players.items()}
    seated = {seat: Occupant(player, "asked") for seat, player in seen.items()}
    play_episode(game, [Table(game, 0, 0, 0, seated)], rounds=3, streams=StreamNames(("test",)))
    for number, request in enumerate(seen["player-2"].requests):
        named = dict(zip(game.feature_names("player-2", window=2), game.features(request, window=2), strict=True))
        shown = {name for name, value in named.items() if value}
        expected = {"round"} if number else set()
        for ago in range(1, min(number, 2) + 1):
            expected |= {f"{ago} ago", f"{ago} ago player-2 contribute"}
            expected |= {f"{ago} ago {seat} keep" for seat in ("player-1", "player-3")}
        assert named["round"] == number / game.rounds
        assert named["payoff"] == (
            math.log1p(1.5) if number else 0.0
        )  # a contribution of 3, times 1.5, shared by three
        assert shown == expected | ({"payoff"} if number else set())
        first = game.feature_names("player-2", window=2)[2]
        assert first.startswith("1 ago player-2")  # the own seat first


def test_the_round_in_progress_is_told_apart_but_not_what_is_hidden() -> None:
    """In Kuhn poker by the own card and what was done, never by the other's card."""
    game = make_game("kuhn")
    codes: dict[str, set[tuple[float, ...]]] = {}
    for seed in range(12):
        players = {seat: Asked(game, seat, Memory.NONE) for seat in game.seats}
        seated = {seat: Occupant(player, "asked") for seat, player in players.items()}
        play_episode(game, [Table(game, seed, 0, 0, seated)], rounds=4, streams=StreamNames(("test",)))
        for player in players.values():
            for request in player.requests:
                known = repr((request.phase.name, request.phase.turn, request.now.deal, request.now.acts))
                codes.setdefault(known, set()).add(game.features(request, window=0)[2:])
    assert len(codes) > 6 and all(len(found) == 1 for found in codes.values())
    assert len(set.union(*codes.values())) == len(codes)
