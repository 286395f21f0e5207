"""Where a generated reply is cut off because the game has all that it asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coplay.games.base import Game
from coplay.games.records import Request
from coplay.models.sampling import Complete

_PART = "\N{REPLACEMENT CHARACTER}"
"""What a part of a character's bytes is decoded as."""


class Completion:
    """Tells of replies in the making whether their game says that they are over.

    A reply is decoded only where its newest token holds one of the characters that the game waits for.

    Args:
        game: the game.
        decode: from tokens to text.
    """

    def __init__(self, game: Game, decode: Callable[[Sequence[int]], str]) -> None:
        self.game, self._decode = game, decode
        self.ends_replies = type(game).completes is not Game.completes
        """Whether the game ever says so."""
        self._known: dict[str, dict[int, bool]] = {}

    def of(self, requests: Sequence[Request], begun: Sequence[str]) -> Complete | None:
        """What tells of the replies to these requests.

        Args:
            requests: what is asked, one a row.
            begun: the text that each reply continues, e.g. the tag of a thought with which the prompt ends.
        """
        if not self.ends_replies:
            return None
        awaited = [self.game.completing(request) for request in requests]

        def complete(row: int, tokens: Sequence[int]) -> bool:
            if awaited[row] and not self._holds(tokens[-1], awaited[row]):
                return False
            return self.game.completes(requests[row], begun[row] + self._decode(tokens))

        return complete

    def _holds(self, token: int, characters: str) -> bool:
        """Whether one of the characters is in a token, or may be in it together with its neighbours."""
        known = self._known.setdefault(characters, {})
        if token not in known:
            piece = self._decode([token])
            known[token] = _PART in piece or any(character in piece for character in characters)
        return known[token]
