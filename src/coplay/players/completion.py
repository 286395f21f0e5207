"""Where a generated reply is cut off because the game has all that it asked for, or the model has written what ends its replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coplay.games.base import Game
from coplay.games.records import Request
from coplay.models.sampling import Complete

_PART = "\N{REPLACEMENT CHARACTER}"
"""What a part of a character's bytes is decoded as."""


class Completion:
    """Tells of replies in the making whether their game, or a text that ends the model's replies, says that they are over.

    A reply is decoded only where its newest token holds one of the characters that are waited for.

    Args:
        game: the game.
        decode: from tokens to text.
        ends: texts that end the model's replies and are no part of them; those that are tokens of their own aside.
    """

    def __init__(self, game: Game, decode: Callable[[Sequence[int]], str], ends: Sequence[str] = ()) -> None:
        self.game, self._decode = game, decode
        self._ends = tuple(ends)
        self._last_of_ends = "".join(end[-1] for end in self._ends)
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
            return self._ended if self._ends else None
        awaited = [self.game.completing(request) for request in requests]

        def complete(row: int, tokens: Sequence[int]) -> bool:
            if self._ended(row, tokens):
                return True
            if awaited[row] and not self._holds(tokens[-1], awaited[row]):
                return False
            return self.game.completes(requests[row], begun[row] + self._decode(tokens))

        return complete

    def _ended(self, row: int, tokens: Sequence[int]) -> bool:
        """Whether a text that ends replies is written."""
        if not self._ends or not self._holds(tokens[-1], self._last_of_ends):
            return False
        text = self._decode(tokens)
        return any(end in text for end in self._ends)

    def without_end(self, text: str) -> str:
        """A reply up to the first text that ends it."""
        return text[: min((at for end in self._ends if (at := text.find(end)) >= 0), default=len(text))]

    def _holds(self, token: int, characters: str) -> bool:
        """Whether one of the characters is in a token, or may be in it together with its neighbours."""
        known = self._known.setdefault(characters, {})
        if token not in known:
            piece = self._decode([token])
            known[token] = _PART in piece or any(character in piece for character in characters)
        return known[token]
