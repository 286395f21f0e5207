"""What is worked out of rounds that are over once each: a rule that looks at a whole past asks anew in every round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from coplay.games.records import Round

ValueT = TypeVar("ValueT")

MOST_ROUNDS = 2**14
"""Kept at a time; then all are forgotten, and worked out again where they are asked for."""


class PerRound(Generic[ValueT]):
    """A function of a round, asked once for each.

    Args:
        function: gives the same for the same round.
    """

    def __init__(self, function: Callable[[Round], ValueT]) -> None:
        self._function = function
        self._kept: dict[int, tuple[Round, ValueT]] = {}

    def __call__(self, one: Round) -> ValueT:
        """The function's value; rounds are told apart as objects, which is much faster than by what is in them."""
        found = self._kept.get(id(one))
        if found is None or found[0] is not one:
            if len(self._kept) >= MOST_ROUNDS:
                self._kept.clear()
            found = self._kept[id(one)] = (one, self._function(one))
        return found[1]
