"""Policies as lists of information sets, and the player that plays them: what best responses are when they are computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from coplay.games.base import Game
from coplay.games.information import key_of_request
from coplay.games.memory import WINDOW_ROUNDS, Memory
from coplay.games.records import Reply, Request, Round
from coplay.players.base import OneByOne, player_error
from coplay.players.sampling import drawn_reply

ResponsePolicy = Mapping[str, int]
"""From an information set, by :func:`coplay.games.information.information_key`, to the place of the action among the choices."""


@dataclass(frozen=True)
class Responder(OneByOne):
    """Plays policies, each in a slot, in the seat that they were computed for.

    At an information set that a policy does not have, which the player that it responds to never led to, all choices are equally likely.
    """

    name: str
    """What to call it in tables."""
    game: Game
    """The game that is played."""
    memory: Memory
    """What the policies remember: as much as the player that they respond to."""
    window: int = WINDOW_ROUNDS
    """H, where the memory is ``Memory.WINDOW``."""
    recall: Callable[[Sequence[Round]], Hashable] | None = None
    """What the player that they respond to sums the past up as, if it does; then the policies remember that instead."""
    policies: dict[int, ResponsePolicy] = field(default_factory=dict)
    """By slot."""
    tells_probabilities: ClassVar[bool] = True

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        choices = self.game.choices(request)
        if choices is None or request.slot not in self.policies:
            raise player_error(self.name, request, "has no policy for it")
        key = key_of_request(self.game, request, self.memory, window=self.window, recall=self.recall)
        place = self.policies[request.slot].get(key)
        if place is None:
            probs = (1.0 / len(choices),) * len(choices)
        else:
            probs = tuple(float(i == place) for i in range(len(choices)))
        return drawn_reply(self.game, request, choices, probs)
