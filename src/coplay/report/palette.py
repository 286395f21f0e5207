"""Colours, once: figures, tables and the replay all name them here.

Told apart by readers with protanopia, deuteranopia and tritanopia (least CIE76 distance 18 within a family, simulated after
Machado et al. 2009), and never the only sign: lines carry labels or dashes, cells carry letters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shade:
    """A colour on a light and on a dark page."""

    light: str
    """On white; also the colour in print and in saved figures."""
    dark: str
    """On a dark page."""


SEATS = (
    Shade("#1767a8", "#6db3f2"),  # blue
    Shade("#c8500a", "#ff9d5c"),  # vermilion
    Shade("#6d4a97", "#b99be0"),
    Shade("#3d7a3a", "#83c77f"),
)
"""A colour for each seat, in order."""

STATES = (
    Shade("#0b8a6a", "#3fc79b"),  # both play their first action: teal
    Shade("#c08a00", "#f0c24a"),  # amber
    Shade("#8a4fc4", "#a67de8"),  # purple
    Shade("#3f444c", "#cdd2d9"),  # slate
    Shade("#2a8fc0", "#67c2ee"),
    Shade("#b8437a", "#ee84b4"),
    Shade("#7a6a2c", "#c9b86c"),
    Shade("#58700f", "#a9c85a"),
    Shade("#9a5b44", "#d99e88"),
)
"""A colour for each joint action, in the game's order; they repeat after the ninth."""

ILLEGAL_STATE = Shade("#868c93", "#7f858e")
"""The state of a round with an illegal reply."""

DENSITY = ("#dcecf9", "#5aa2dc", SEATS[0].light, "#071f36")
"""The scale of heat maps in print, from few to many."""

INK = Shade("#1d1f23", "#e9e7e2")
"""Text."""
MUTED = Shade("#62666d", "#a3a7ae")
"""Axis numbers, captions."""
RULE = Shade("#e3e2de", "#33363c")
"""Grid lines and borders."""
PAPER = Shade("#ffffff", "#1b1d21")
"""The ground of figures and cards."""


def seat_colour(index: int) -> str:
    """The print colour of the seat with this index."""
    return SEATS[index % len(SEATS)].light


def state_colour(index: int | None) -> str:
    """The print colour of the state with this index; None is the illegal one."""
    return ILLEGAL_STATE.light if index is None else STATES[index % len(STATES)].light


def variables() -> dict[str, Shade]:
    """Every colour under its CSS variable's name."""
    named = {f"--seat-{i}": shade for i, shade in enumerate(SEATS)}
    named |= {f"--state-{i}": shade for i, shade in enumerate(STATES)}
    return named | {"--state-x": ILLEGAL_STATE, "--ink": INK, "--muted": MUTED, "--rule": RULE, "--card": PAPER}
