"""Demonstrations: which strategies show how a game is played, against whom and how often. Recipes declare them; experiments play them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.catalogue import make_game
from coplay.games.records import Action, Request
from coplay.players.scripted import make_script

Reason = Callable[[Game, Request, str, Action], str]
"""From the game, what the seat knows, the strategy's name and the action that it chose to a sentence that gives the reason."""

MOST_DECISIONS = 200_000
"""Of one game, one a round: 25 times SEPO's. All are kept in memory."""


def own_reason(game: Game, request: Request, strategy: str, action: Action) -> str:
    """What the game's own strategy says of its action; empty if it says nothing: the reply is the action alone."""
    found = game.strategies.get(strategy.partition(":")[0])
    return "" if found is None or found.reason is None else found.reason(request, action)


@dataclass(frozen=True)
class Demonstrations:
    """A game as its demonstrators play it. One strategy is drawn at the start of an episode and kept for all its rounds."""

    game: str
    """The game."""
    strategies: Mapping[str, float]
    """The demonstrators' strategies, each with its probability; they sum to 1."""
    opponents: tuple[str, ...]
    """The players they meet, one an episode."""
    episodes: int
    """Episodes against each opponent."""
    rounds: int | None = None
    """Rounds of an episode; None for the game's."""
    reason: Reason = own_reason
    """What a reply says before its action."""

    def checked(self) -> Game:
        """The game, once everything fits it.

        Raises:
            UsageError: for an unknown game, strategy or opponent, or weights that are no probabilities.
        """
        game = make_game(self.game)
        if game.one_token:
            raise UsageError(
                f"demonstrations are for games whose replies are text; models reply to {self.game!r} with one token. Use coplay align"
            )
        for name, weight in self.strategies.items():
            if not 0 < weight <= 1 or not math.isfinite(weight):
                raise UsageError(
                    f"demonstrations of {self.game}: {name} has the weight {weight:g}, not one from 0 to 1"
                )
        total = sum(self.strategies.values())
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            raise UsageError(f"demonstrations of {self.game}: the weights of the strategies sum to {total:g}, not to 1")
        if not self.opponents:
            raise UsageError(f"demonstrations of {self.game}: there is no opponent; name one at least")
        rounds = self.rounds or game.rounds
        for number, what in ((self.episodes, "episodes"), (rounds, "rounds")):
            if number < 1:
                raise UsageError(f"demonstrations of {self.game}: {what} must be at least 1, got {number}")
        decisions = self.episodes * len(self.opponents) * rounds
        if decisions > MOST_DECISIONS:
            raise UsageError(f"demonstrations of {self.game}: {decisions:,} decisions are more than {MOST_DECISIONS:,}")
        for name in (*self.strategies, *self.opponents):
            try:
                for seat in game.seats:
                    make_script(name, game, seat)
            except UsageError as error:
                raise UsageError(f"demonstrations of {self.game}: {error}") from None
        return game
