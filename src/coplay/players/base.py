"""The player protocol: requests in, replies out, many games at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from coplay.errors import CoplayError
from coplay.games.memory import WINDOW_ROUNDS, Memory
from coplay.games.records import Reply, Request


@runtime_checkable
class Player(Protocol):
    """Whatever fills a seat: scripted, tabular, language model, endpoint, person.

    A player keeps no state between calls that a request does not carry, and takes all its chance from the request (``draw``, or a stream that
    ``rng_path`` names): so its replies depend neither on the batch it is asked in nor on the games beside it. A class attribute
    ``tells_probabilities = True`` promises that replies carry ``probs``: then learners with exact gradients may ask it hypothetical questions.
    """

    @property
    def name(self) -> str:
        """What to call it in tables."""

    @property
    def memory(self) -> Memory:
        """What it wants to be shown of the past."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply to each request, in order, with the action that it was parsed as."""


class Engine(Protocol):
    """What answers several players in one call, such as a model whose weights they share.

    A player says so by the attribute ``shared_engine``. Its replies must be those that it gives when it is asked by itself.
    """

    def answer(self, asked: Sequence[tuple[Player, Sequence[Request]]]) -> list[list[Reply]]:
        """For each of these players one reply to each of its requests, in order."""


class OneByOne(ABC):
    """A player that answers each request by itself."""

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """The reply to one request."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """See :class:`Player`."""
        return [self.reply(request) for request in requests]


@dataclass(frozen=True)
class PlayerWrapper:
    """What a player around another one says of itself: all as the other does."""

    player: Player
    """The other player."""

    @property
    def name(self) -> str:
        """See :class:`Player`."""
        return self.player.name

    @property
    def memory(self) -> Memory:
        """See :class:`Player`."""
        return self.player.memory

    @property
    def window(self) -> int:
        """H, where the memory is ``Memory.WINDOW``."""
        return getattr(self.player, "window", WINDOW_ROUNDS)

    @property
    def tells_probabilities(self) -> bool:
        """See :class:`Player`."""
        return bool(getattr(self.player, "tells_probabilities", False))


def player_error(name: str, request: Request, what: str) -> CoplayError:
    """The error of a player that fails or returns the wrong thing: one line that names it, its seat and the round.

    Args:
        name: the player, as it was asked for.
        request: what it was asked.
        what: what it did, e.g. ``"failed: ..."`` or ``"returned ..."``.
    """
    return CoplayError(f"player {name!r} ({request.seat}, round {request.now.number + 1}) {what}")
