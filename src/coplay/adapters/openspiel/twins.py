"""Games that both coplay and OpenSpiel have: from a state of OpenSpiel to the same point of coplay's game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coplay.adapters.openspiel.chance import Chance, numbers_of
from coplay.adapters.openspiel.game import SpielGame, actions_of
from coplay.adapters.openspiel.package import pyspiel
from coplay.adapters.openspiel.pyspiel_games import as_pyspiel
from coplay.adapters.openspiel.walk import Walk
from coplay.errors import UsageError
from coplay.evaluation.action_probabilities import Question
from coplay.evaluation.pasts import Past
from coplay.games.base import Game
from coplay.games.kuhn import KuhnPoker
from coplay.games.kuhn_hand import CARDS, KuhnDeal
from coplay.games.memory import START
from coplay.games.records import Act, Action, Reply, Round, Turn


class Twin(Protocol):
    """A game of coplay with its like in OpenSpiel. Legal actions stand in the same order in both."""

    @property
    def game(self) -> Game:
        """In coplay."""

    @property
    def rounds(self) -> int:
        """Rounds of an episode."""

    @property
    def spiel(self) -> Any:
        """The ``pyspiel.Game``."""

    def asked(self, state: Any, seat: str) -> tuple[Question, Sequence[Action | None]]:
        """What a seat is asked in coplay's game where a ``pyspiel.State`` asks it, and what it may do."""


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

    def asked(self, state: Any, seat: str) -> tuple[Question, Sequence[Action | None]]:
        """See :class:`Twin`."""
        game, acts = self.game, tuple[Act, ...]()
        deal = Chance(numbers_of(state, game.draws))
        moves = list(reversed([(one.player, one.action) for one in state.full_history() if one.player >= 0]))
        own: list[Turn] = []
        while True:
            phase, at = game.next_phase(Round(0, deal, acts)), game.point(deal, acts).state.state
            wanted = at.num_players() if at.is_simultaneous_node() else 1
            if phase is None or len(moves) < wanted:
                break
            for player, number in (moves.pop() for _ in range(wanted)):
                if game.seats[player] in phase.seats:  # the others are recorded with action 0
                    words = {known: word for word, known in actions_of(at, player).items()}
                    acts = (*acts, Act(phase.name, phase.turn, game.seats[player], words[number]))
            if seat in phase.seats:
                word = next(str(act.action) for act in reversed(acts) if act.seat == seat)
                own.append(Turn(seat, 0, phase.name, phase.turn, START, Reply(game.label(seat, word), word)))
        if phase is None or seat not in phase.seats:
            raise UsageError(f"{seat} is not asked in this state of {game.name!r}")
        return Question(seat, phase, Round(0, deal, acts), Past.start(game), tuple(own)), list(
            actions_of(at, game.seats.index(seat))
        )


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

    def asked(self, state: Any, seat: str) -> tuple[Question, Sequence[Action | None]]:
        """See :class:`Twin`."""
        first, second = (one.action for one in state.full_history()[:2])
        walk = Walk.start(self.game, 1).dealt(KuhnDeal((CARDS[first], CARDS[second])))
        for one in state.full_history()[2:]:
            acting = self.game.seats[one.player]
            walk = walk.after({acting: walk.options(acting)[one.action]})
        return _asked(walk, seat)


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

    def asked(self, state: Any, seat: str) -> tuple[Question, Sequence[Action | None]]:
        """See :class:`Twin`."""
        return _asked(Walk.along(self.game, self.rounds, state.history()), seat)


def _asked(walk: Walk, seat: str) -> tuple[Question, Sequence[Action | None]]:
    return walk.question(seat), [option.reply.action for option in walk.options(seat)]


def twin_of(game: Game, rounds: int) -> Twin:
    """OpenSpiel's like of a game of coplay: its own game where it has one, else the same rules exported to it."""
    if isinstance(game, SpielGame) and rounds == 1:
        return SpielTwin(game)
    if isinstance(game, KuhnPoker) and rounds == 1:
        return KuhnTwin(game)
    return ExportedTwin(game, rounds)
