"""The form of what was measured of mediation: of one match over its games, and of a run over its seeds."""

from __future__ import annotations

from typing import Literal, TypedDict

VERSION = 1
"""Version of the form."""


class Measured(TypedDict):
    """A mean over games, or over seeds."""

    mean: float
    """The mean."""
    ci95: float | None
    """Half-width of the 95% t-interval; None for a single value."""


class Difference(TypedDict):
    """A difference in mean cooperation, addressed rounds minus others."""

    mean: float | None
    """The difference; None where one side has no rounds."""
    low: float | None
    """Lower end of the 95% interval: of a match from samples of whole games, of a run Student's t over seeds; None where there is none."""
    high: float | None
    """Upper end of it."""


class Effect(TypedDict):
    """What a message changes in the cooperation (1 less the shortfall) of the seat that reads it."""

    notice: str
    """The notice, or ``any``."""
    lag: int
    """0: in the round of the message; 1: in the round after."""
    addressed: int
    """Rounds of a seat that read it, with a conduct that is known."""
    others: int
    """Rounds of a seat that read nothing."""
    raw: Difference
    """Without regard to the state."""
    adjusted: Difference
    """Within strata of equal states; see :mod:`coplay.evaluation.message_effects`."""
    compared: float | None
    """Share of the addressed rounds whose stratum has others to compare with; None of none."""


class MediationRecord(TypedDict):
    """What was measured of mediation: the key ``mediation`` of ``coplay eval --json``."""

    version: int
    """Version of this form."""
    unit: Literal["games", "seeds"]
    """What means and intervals are over."""
    n: int
    """How many of them."""
    mediator: str
    """The mediator's seat."""
    player: str
    """Who sat there."""
    collective: dict[str, Measured]
    """Per round, by name: what the game says a round came to for all, such as ``welfare`` and ``cooperation``."""
    welfare: Measured
    """Per game: the sum of the payoffs of all playing seats."""
    interventions: Measured
    """Per game: rounds in which somebody was addressed."""
    messages: Measured
    """Per game: messages sent, one for each seat addressed."""
    notices: dict[str, Measured]
    """Share of the rounds by what the mediator did: each notice, ``none``, and ``unreadable`` where its reply could not be parsed."""
    to_seats: dict[str, Measured]
    """Per game: messages to each seat."""
    to_players: dict[str, Measured]
    """Per game: messages to each player, wherever it sat."""
    effects: list[Effect]
    """What messages change."""
