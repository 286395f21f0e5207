"""Gymnasium's spaces of observations and actions."""

from __future__ import annotations

import math
import string
from typing import Any

import numpy as np
from gymnasium import spaces

from coplay.adapters.encodings import DiscreteEncoding, Encoding
from coplay.games.base import MOST_PAYOFF, Game

MOST_CHARACTERS = 2**20
"""Of a prompt."""

REPLY_CHARACTERS = 2**12
"""Of a reply that is drawn from the space; longer ones are read too."""


class AnyText(spaces.Text):  # type: ignore[misc]
    """Text of any characters; what is sampled is printable ASCII.

    Args:
        max_length: most characters that are sampled.
    """

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        """Whether it is text: other players may write any characters."""
        return isinstance(x, str)


def observation_space(encoding: Encoding, seat: str, *, masked: bool = True) -> Any:
    """The space of a seat's observations.

    Args:
        encoding: how it is asked.
        seat: the seat.
        masked: whether features come with an ``action_mask``.
    """
    if not isinstance(encoding, DiscreteEncoding):
        return AnyText(MOST_CHARACTERS)
    most = math.log1p(MOST_PAYOFF) if type(encoding.game).features is Game.features else math.inf
    features = spaces.Box(-most, most, (len(encoding.names[seat]),), np.float32)
    if not masked:
        return features
    return spaces.Dict({"observation": features, "action_mask": spaces.MultiBinary(encoding.sizes[seat])})


def action_space(encoding: Encoding, seat: str) -> Any:
    """The space of a seat's actions."""
    if not isinstance(encoding, DiscreteEncoding):
        return AnyText(REPLY_CHARACTERS)
    return spaces.Discrete(encoding.sizes[seat])
