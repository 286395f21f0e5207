"""Players that tell their probabilities, from a function of the request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.games import Game, make_game
from coplay.games.kuhn_hand import CARDS
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.players.base import OneByOne, Player
from coplay.players.named import make_player
from coplay.players.sampling import sample


@dataclass(frozen=True)
class Told(OneByOne):
    """Acts with the probabilities that a function gives, in the order of the choices; what is missing to 1 cannot be parsed."""

    game: Game
    probs: Callable[[Request], Sequence[float]]
    memory: Memory = Memory.NONE
    name: str = "told"
    tells_probabilities: ClassVar[bool] = True

    def reply(self, request: Request) -> Reply:
        choices, probs = self.game.choices(request), tuple(self.probs(request))
        assert choices is not None
        i = sample((*probs, 1.0 - sum(probs)), request.draw)
        if i == len(choices):
            return Reply("?", probs=probs)
        text = self.game.render_action(request, choices[i])
        return Reply(text, choices[i], logprobs=(math.log(probs[i]),), probs=probs)


@dataclass(frozen=True)
class Silent(OneByOne):
    """Acts as another player, but tells no probabilities."""

    player: OneByOne
    name: str = "silent"

    @property
    def memory(self) -> Memory:
        return self.player.memory  # type: ignore[attr-defined, no-any-return]

    def reply(self, request: Request) -> Reply:
        return self.player.reply(request)._replace(probs=None)


KUHN = make_game("kuhn")


def kuhn_player(bets: dict[str, float], memory: Memory = Memory.NONE) -> Told:
    """A policy of Kuhn poker by OpenSpiel's information states, for hands in which player-1 acts first or second."""

    def probs(request: Request) -> tuple[float, float]:
        done = "".join("b" if act.action in ("bet", "call") else "p" for act in request.now.acts)
        p = bets[f"{CARDS.index(request.now.deal.of(request.seat))}{done}"]
        return (1.0 - p, p)

    return Told(KUHN, probs, memory)


def both(game: Game, *players: str | Player, samples: int = 100) -> ActionProbabilities:
    """The probabilities of players in the seats of a game, of one in all of them."""
    of_seats = players * len(game.seats) if len(players) == 1 else players
    seated = {}
    for seat, one in zip(game.seats, of_seats, strict=True):
        player = make_player(one, game, seat)
        seated[seat] = Occupant(player, player.name)
    return ActionProbabilities(game, seated, samples=samples)
