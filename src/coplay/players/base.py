"""The player protocol: views in, moves out, many games at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from coplay.games.memory import Memory
from coplay.types import Move, View


@runtime_checkable
class Player(Protocol):
    """Whatever fills a seat: scripted, tabular, language model.

    A player keeps no state between calls that a view does not carry, and takes all its chance from ``view.draw``: so its moves
    depend neither on the batch it is asked in nor on the games beside it.
    """

    @property
    def name(self) -> str:
        """What to call it in tables."""
        ...

    @property
    def memory(self) -> Memory:
        """What it wants to be shown of the past."""
        ...

    def act(self, views: Sequence[View]) -> list[Move]:
        """One move for each view, in order."""
        ...
