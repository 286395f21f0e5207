"""Games played in rounds of phases: chance deals, seats speak or propose, the round is settled and shown to all.

Rules only. How a phase is put to a seat in words, and how its reply is read, is :mod:`coplay.text`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

ALICE, BOB = "alice", "bob"
SEATS = (ALICE, BOB)
"""The paper's names for its two players."""

Action = str | Mapping[str, int]
"""A message, or a proposal: how many of each item a seat wants to keep."""

DealT = TypeVar("DealT")


@dataclass(frozen=True)
class Phase:
    """A moment at which seats reply. Those of one phase do so at once: none sees the others' replies before its own."""

    name: str
    """What is asked for: ``message``, ``proposal`` or ``action``."""
    seats: tuple[str, ...]
    """Who is asked."""


class RoundGame(Protocol[DealT]):
    """The rules of a game in rounds. Chance comes in as uniform numbers, so the same numbers deal the same game whoever plays it."""

    @property
    def name(self) -> str:
        """Identifier, e.g. ``"trust-and-split"``."""
        ...

    @property
    def description(self) -> str:
        """One sentence for a person."""
        ...

    @property
    def seats(self) -> tuple[str, ...]:
        """All seats, in order."""
        ...

    @property
    def rounds(self) -> int:
        """Rounds of an episode unless a config says otherwise."""
        ...

    @property
    def draws(self) -> int:
        """How many uniform numbers a deal takes."""
        ...

    def deal(self, chance: Sequence[float]) -> DealT:
        """What chance gives the seats in a round."""
        ...

    def seen(self, deal: DealT, seat: str) -> DealT:
        """The part of a deal that a seat knows before the round is over; afterwards everybody knows all of it."""
        ...

    def phases(self, round: int) -> tuple[Phase, ...]:
        """The phases of a round, counted from 0, in order."""
        ...

    def payoffs(self, deal: DealT, actions: Mapping[str, Action | None]) -> dict[str, float]:
        """What each seat gets for a round.

        Args:
            deal: what chance gave.
            actions: each seat's reply in the last phase; None for one that could not be read, which counts as asking for nothing.
        """
        ...

    def cooperates(self, deal: DealT, seat: str, action: Action | None) -> bool | None:
        """Whether a seat's reply in the last phase was cooperative; None if it could not be read, or the deal left no choice."""
        ...


def other(seat: str) -> str:
    """The seat across the table, in a game of two."""
    return BOB if seat == ALICE else ALICE
