"""Games that both coplay and OpenSpiel have: from a state of OpenSpiel to the same point of coplay's game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from coplay.adapters.openspiel.chance import numbers_of
from coplay.adapters.openspiel.game import SpielGame, actions_of
from coplay.adapters.openspiel.package import pyspiel
from coplay.adapters.openspiel.pyspiel_games import as_pyspiel
from coplay.adapters.openspiel.views import Chance
from coplay.adapters.openspiel.walk import Walk
from coplay.games.base import Game
from coplay.games.kuhn import KuhnPoker
from coplay.games.kuhn_hand import CARDS, KuhnDeal

class Twin(Protocol):
    """A game of coplay with its like in OpenSpiel. Legal actions stand in the same order in both."""

    game: Game
    """In coplay."""
    rounds: int
    """Rounds of an episode."""
    spiel: Any
    """The ``pyspiel.Game``."""

    def walk(self, state: Any) -> Walk:
        """The point of coplay's game that a ``pyspiel.State`` is."""


@dataclass(frozen=True)
class SpielTwin:
    """A game of OpenSpiel as coplay plays it."""

    game: SpielGame
    """In coplay."""
    rounds: int = 1
    """OpenSpiel plays one."""

    @property
    def spiel(self) -> Any:
        """See :class:`Twin`."""
        return self.game.spiel

    def walk(self, state: Any) -> Walk:
        """See :class:`Twin`."""
        walk = Walk.start(self.game, 1).dealt(Chance(numbers_of(state, self.game.draws)))
        moves = _moves(state)
        while walk.phase is not None and walk.now is not None:
            at = self.game.point(walk.now.deal, walk.now.acts).state
            entries = [next(moves, None) for _ in (range(at.num_players()) if at.is_simultaneous_node() else (0,))]
            if None in entries:
                break
            chosen = {}
            for player, action in (entry for entry in entries if entry is not None):
                seat = self.game.seats[player]
                if seat in walk.phase.seats:  # the others are recorded with action 0
                    place = list(actions_of(at, player).values()).index(action)
                    chosen[seat] = walk.options(seat)[place]
            walk = walk.after(chosen)
        return walk


@dataclass(frozen=True)
class KuhnTwin:
    """A hand of Kuhn poker: OpenSpiel's player 0 acts first, as ``player-1`` does in the first hand here. Folding is passing there, calling betting."""

    game: Game
    """In coplay."""
    rounds: int = 1
    """OpenSpiel plays one."""

    @property
    def spiel(self) -> Any:
        """See :class:`Twin`."""
        return pyspiel().load_game("kuhn_poker")

    def walk(self, state: Any) -> Walk:
        """See :class:`Twin`."""
        first, second = (one.action for one in state.full_history()[:2])
        walk = Walk.start(self.game, 1).dealt(KuhnDeal((CARDS[first], CARDS[second])))
        for player, action in _moves(state):
            seat = self.game.seats[player]
            walk = walk.after({seat: walk.options(seat)[action]})
        return walk


@dataclass(frozen=True)
class ExportedTwin:
    """A game of coplay that OpenSpiel plays by coplay's rules."""

    game: Game
    """In coplay."""
    rounds: int
    """Rounds of an episode."""

    @property
    def spiel(self) -> Any:
        """See :class:`Twin`."""
        return as_pyspiel(self.game, rounds=self.rounds)

    def walk(self, state: Any) -> Walk:
        """See :class:`Twin`."""
        return Walk.along(self.game, self.rounds, state.history())


def twin_of(game: Game, rounds: int) -> Twin:
    """OpenSpiel's like of a game of coplay: its own game where it has one, else the same rules exported to it."""
    if isinstance(game, SpielGame) and rounds == 1:
        return SpielTwin(game)
    if isinstance(game, KuhnPoker) and rounds == 1:
        return KuhnTwin(game)
    return ExportedTwin(game, rounds)


def _moves(state: Any) -> Iterator[tuple[int, int]]:
    """What players did, in order."""
    return ((one.player, one.action) for one in state.full_history() if one.player >= 0)

