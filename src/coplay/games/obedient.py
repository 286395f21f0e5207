"""A player that follows the mediator: what a message asks for is the cooperative conduct."""

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
        conducts = game.conducts(request.seat)
        told = any(act.phase == MEDIATION for act in request.now.acts)  # a seat is shown no message but its own
        p = 1.0 if told else silent or 0.0
        cooperate, defect = (game.perform(word, request) for word in (conducts[0], conducts[-1]))
        return {cooperate: 1.0} if cooperate == defect else {cooperate: p, defect: 1.0 - p}

    return GameStrategy(
        "Cooperates in the rounds in which it reads a message of the mediator, else with probability P, by default never.",
        play,
        parameter="the probability of cooperation without a message, from 0 to 1",
        default=0.0,
        memory=Memory.NONE,
    )
