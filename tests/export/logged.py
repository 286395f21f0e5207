"""A small run and recorded games with messages, private deals and a reply that cannot be parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_runs import QUIET, small

from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.players.base import OneByOne
from coplay.players.named import make_player
from coplay.runs.recording import Recording
from coplay.runs.train import train


def trained(path: Path) -> Path:
    """A run of two seeds."""
    return train(small("tabular", "trials=2", "seeds=[0,1]"), path, progress=QUIET).path


class Unsure(OneByOne):
    """Cooperates in the first round and then says what is no action."""

    name = "unsure"
    memory = Memory.NONE

    def reply(self, request: Request) -> Reply:
        return Reply("C", "cooperate") if request.now.number == 0 else Reply("<b>hm</b>")


def recorded(path: Path, game: str, *players: Any, episodes: int = 3, rounds: int = 3) -> Path:
    """Recorded games."""
    rules = make_game(game).lasting(rounds)
    seated = {}
    for seat, spec in zip(rules.seats, players, strict=True):
        player: Any = spec if isinstance(spec, Unsure) else make_player(spec, rules, seat)
        seated[seat] = Occupant(player, player.name)
    asked = {
        "game": game,
        "players": {seat: one.name for seat, one in seated.items()},
        "rounds": rounds,
        "seed": 0,
        "temperature": None,
        "max_tokens": None,
    }
    Recording.begin(path, asked).play(rules, seated, episodes)
    return path
