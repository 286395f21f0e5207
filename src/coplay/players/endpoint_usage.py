"""Tokens of endpoints: what a request may take at most, and what an answer has used.

A token of a text is at least one byte of it, so a request takes no more tokens than it has bytes and ``max_tokens``: that much is reserved before it
is sent. What the endpoint then reports is believed, unless it is less than a token for every ``BYTES_A_TOKEN`` bytes of visible text. Where an
endpoint reports nothing, or what cannot be, the whole reservation counts: never too little, and for the text that is asked at most
``BYTES_A_TOKEN`` times too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coplay.players.endpoint_settings import EndpointSettings

BYTES_A_TOKEN = 8
"""Of UTF-8. English has four to five, and no language that people write has more."""

_PRICED = 1_000_000
"""Prices are for so many tokens."""

_UNBELIEVABLE = 2**31
"""No request uses so many tokens, whatever an endpoint says."""


@dataclass(frozen=True)
class Spent:
    """Tokens that have been used, or may be."""

    tokens_in: int
    """Tokens read."""
    tokens_out: int
    """Tokens written."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.tokens_in + self.tokens_out

    def money(self, settings: EndpointSettings) -> float:
        """What that costs."""
        return (self.tokens_in * settings.price_in + self.tokens_out * settings.price_out) / _PRICED


NOTHING = Spent(0, 0)
"""What a request has used that was not sent, or was refused."""


def fewest_tokens(text: str) -> int:
    """Fewest tokens that a text is believed to have."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_A_TOKEN)


def spent_by(completion: object, asked: str, reply: str, reserved: Spent) -> Spent:
    """What an answer has used.

    Args:
        completion: the answer, as JSON.
        asked: all text that was asked.
        reply: the text that came; empty if it has none.
        reserved: what counts where the answer does not say, or says what cannot be.
    """
    least = Spent(fewest_tokens(asked), fewest_tokens(reply))
    tokens_in = _reported(completion, "prompt_tokens", least=least.tokens_in)
    tokens_out = _reported(completion, "completion_tokens", least=least.tokens_out)
    return Spent(
        max(reserved.tokens_in, least.tokens_in) if tokens_in is None else tokens_in,
        max(reserved.tokens_out, least.tokens_out) if tokens_out is None else tokens_out,
    )


def _reported(completion: object, kind: str, *, least: int) -> int | None:
    """Tokens of a kind as the endpoint counts them; None if it does not, or not believably."""
    match completion:
        case {"usage": {**usage}}:
            tokens = usage.get(kind)
            return tokens if type(tokens) is int and least <= tokens < _UNBELIEVABLE else None
    return None
