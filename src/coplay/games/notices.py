"""What a mediator can say to a seat of a game. The words belong to the game; who is addressed and when is the mediator's business.

(Learning to Mediate Equilibrium Selection in LLM Games, section 3.3 and appendices A.4 and A.8.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """How a seat stands when a mediator addresses it."""

    seat: str
    """The seat."""
    rounds_left: int
    """Rounds still to be played, the present one among them."""
    cooperation: float | None
    """Its mean cooperation in the episode so far (1 less its shortfall), from 0 to 1; None before the first round."""
    score: float
    """The sum of its payoffs in the episode so far."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message with live values."""

    description: str
    """One sentence for a person."""
    text: Callable[[Standing], str]
    """What the addressed seat reads."""
    live: bool = True
    """Whether the text depends on how the seat stands; else it is always the same."""


@dataclass(frozen=True, slots=True)
class Mediation:
    """What a game offers to a mediator. A game's mediator may be set up otherwise: see :class:`coplay.games.mediated.Mediated`."""

    notices: Mapping[str, Notice]
    """The messages by name, the mildest first."""
    targets: str = "lowest"
    """Whom a message addresses: ``lowest``, the seats with the lowest cooperation rate, or ``everyone``."""
    pays: str = "cooperation"
    """What the mediator is paid in a round: a name of :meth:`coplay.games.base.Game.collective`."""
