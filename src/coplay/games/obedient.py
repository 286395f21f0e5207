"""Players that follow the mediator: what a message asks for is the cooperative conduct."""

from __future__ import annotations

from collections.abc import Mapping

from coplay.games.base import Game
from coplay.games.mediator_seat import MEDIATION
from coplay.games.memory import Memory
from coplay.games.records import Action, Request
from coplay.games.strategy import GameStrategy


def obedient(game: Game) -> GameStrategy:
    """Cooperates in the rounds in which it reads a message, and in others with probability P."""

    def play(request: Request, silent: float | None) -> Mapping[Action, float]:
        """What it does in one phase of a round."""
        return _cooperating(game, request, 1.0 if _told(request) else silent or 0.0)

    return GameStrategy(
        "Cooperates in the rounds in which it reads a message of the mediator, else with probability P, by default never.",
        play,
        parameter="the probability of cooperation without a message, from 0 to 1",
        default=0.0,
        memory=Memory.NONE,
    )


def persuadable(game: Game) -> GameStrategy:
    """Cooperates in the rounds in which it reads a message, and after rounds in which all others cooperated."""

    def play(request: Request, parameter: float | None) -> Mapping[Action, float]:
        """What it does in one phase of a round."""
        others = [seat for seat in game.playing_seats if seat != request.seat]
        goes_on = bool(request.past) and all(game.shortfall(request.past[-1], seat) == 0.0 for seat in others)
        return _cooperating(game, request, float(_told(request) or goes_on))

    return GameStrategy(
        "Cooperates in the rounds in which it reads a message of the mediator, and after rounds in which all others cooperated.",
        play,
        memory=Memory.LAST_ROUND,
    )


def _told(request: Request) -> bool:
    """Whether the seat reads a message in this round: it is shown none but its own."""
    return any(act.phase == MEDIATION for act in request.now.acts)


def _cooperating(game: Game, request: Request, p: float) -> Mapping[Action, float]:
    """Cooperation with probability ``p``, where the phase asks for it."""
    conducts = game.conducts(request.seat)
    cooperate, defect = (game.perform(word, request) for word in (conducts[0], conducts[-1]))
    return {cooperate: 1.0} if cooperate == defect else {cooperate: p, defect: 1.0 - p}
