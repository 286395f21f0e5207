"""Scripted players that belong to one game, by name (:class:`coplay.games.strategy.GameStrategy`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.games.strategy import GameStrategy, Recall
from coplay.players.base import OneByOne
from coplay.players.sampling import drawn_reply, sample
from coplay.text.rendering import join


@dataclass(frozen=True)
class GamePlayer(OneByOne):
    """A strategy that belongs to one game."""

    name: str
    """As it was asked for, e.g. ``"nash:0.2"``."""
    game: Game
    """The game that is played."""
    strategy: GameStrategy
    """What it does."""
    parameter: float | None
    """The number behind the colon, or the strategy's default."""
    tells_probabilities: ClassVar[bool] = True

    @property
    def memory(self) -> Memory:
        """The strategy's."""
        return self.strategy.memory

    @property
    def recalls(self) -> Recall | None:
        """The strategy's."""
        return self.strategy.recalls

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`; where the game lists its choices, the reply tells their probabilities."""
        distribution = self.strategy.rule(request, self.parameter)
        choices = self.game.choices(request)
        if choices is None:
            actions = list(distribution)
            action = actions[sample(list(distribution.values()), request.draw)]
            return Reply(self.game.render_action(request, action), action)
        listed = [0.0] * len(choices)
        for action, p in distribution.items():
            if action in choices:
                listed[choices.index(action)] = float(p)
        probs = tuple(listed)
        return drawn_reply(self.game, request, choices, probs)


def game_player(spec: str, game: Game, seat: str) -> GamePlayer:
    """The scripted player of a game that ``spec`` names, for one of its seats; raises UsageError for a seat or a parameter that it cannot have."""
    name, colon, rest = spec.partition(":")
    strategy = game.strategies[name]
    if strategy.seats and seat not in strategy.seats:
        raise UsageError(f"player {spec!r} is for {join(strategy.seats, 'or')} of game {game.name!r}, not for {seat}")
    if not colon:
        return GamePlayer(spec, game, strategy, strategy.default)
    if not strategy.parameter:
        raise UsageError(f"player {spec!r}: {name!r} takes no parameter. Write {name!r}.")
    try:
        parameter = float(rest)
    except ValueError:
        parameter = math.nan
    if not strategy.least <= parameter <= strategy.most:
        raise UsageError(f"player {spec!r}: {rest!r} is not {strategy.parameter}")
    return GamePlayer(spec, game, strategy, parameter)
