"""What chance deals in a game of OpenSpiel, and what a seat knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Chance:
    """The chance of a round: its k-th chance node takes the outcome that the k-th number picks."""

    numbers: tuple[float, ...]
    """Uniform numbers in [0, 1), as many as the game can have chance nodes."""


class Known(NamedTuple):
    """What a seat knows at a moment."""

    text: str
    """OpenSpiel's information state of the seat as text; its observation where the game has no information states."""
    legal: tuple[str, ...]
    """The actions it may choose from; empty if it is not asked."""


@dataclass(frozen=True)
class SeatView:
    """What a seat may know of a round, in place of the deal."""

    known: tuple[Known, ...]
    """What it knew at each of its moves so far, then what it knows now."""
