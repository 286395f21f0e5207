"""Demonstrations: which strategies show how a seat is played, beside whom and how often. Recipes declare them; experiments play them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coplay.errors import UsageError, unknown
from coplay.games.base import Game
from coplay.games.catalogue import make_game
from coplay.games.records import Action, Request
from coplay.players.named import make_player
from coplay.players.scripted import make_script
from coplay.text.rendering import join

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
    """Whom they meet, one entry an episode: a player for all other seats, or one for each of them in their order with spaces between."""
    episodes: int
    """Episodes against each opponent."""
    rounds: int | None = None
    """Rounds of an episode; None for the game's."""
    reason: Reason = own_reason
    """What a reply says before its action."""
    seats: tuple[str, ...] = ()
    """The seats that demonstrators take in turn, e.g. a mediator's; empty for all that play."""

    def seats_in(self, game: Game) -> tuple[str, ...]:
        """The seats that demonstrators take in turn."""
        return self.seats or game.playing_seats

    def beside(self, seat: str, opponent: str, game: Game) -> dict[str, str]:
        """Who sits in the other seats of an episode, by seat.

        Args:
            seat: the demonstrator's.
            opponent: an entry of :attr:`opponents`.
            game: the game.

        Raises:
            UsageError: if it names neither one player nor as many as there are other seats.

        Example:
            >>> from coplay.games import make_game
            >>> plan = Demonstrations("ipd-3+mediator", {"coin": 1.0}, ("obedient always_defect obedient",), 2, seats=("mediator",))
            >>> plan.beside("mediator", plan.opponents[0], make_game(plan.game))
            {'player-1': 'obedient', 'player-2': 'always_defect', 'player-3': 'obedient'}
        """
        others = [one for one in game.seats if one != seat]
        names = opponent.split() if len(others) > 1 else [opponent]
        if len(names) == 1:
            names *= len(others)
        if len(names) != len(others):
            raise UsageError(
                f"{opponent!r} names {len(names)} players; beside {seat} sit {join(others)}. Name one player for all of them, or one for each"
            )
        return dict(zip(others, names, strict=True))

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
        try:
            self._check_players(game)
        except UsageError as error:
            raise UsageError(f"demonstrations of {self.game}: {error}") from None
        return game

    def _check_players(self, game: Game) -> None:
        """Find who cannot sit where it is to sit; raises UsageError."""
        for seat in self.seats:
            if seat not in game.seats:
                raise unknown(f"seat of game {game.name!r}", seat, game.seats)
        for name in self.strategies:
            for seat in self.seats_in(game):
                make_script(name, game, seat)
        found = [self.beside(seat, one, game) for one in self.opponents for seat in self.seats_in(game)]
        for seat, name in dict.fromkeys(pair for others in found for pair in others.items()):
            make_player(name, game, seat)
