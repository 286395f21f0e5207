"""How numbers are written for a reader."""

from __future__ import annotations

from coplay.report.values import Record, is_number


def decided(claim: Record) -> bool | None:
    """Whether a claim holds, from its ``verdict`` or, in files older than that, its ``holds``; None if it is undecided."""
    holds = claim.get("holds")
    return None if holds is None or claim.get("verdict") == "undecided" else bool(holds)


def figure(value: object, digits: int = 2) -> str:
    """A number with a true minus sign and no negative zero."""
    if value is None:
        return "\u2013"
    if is_number(value):
        rounded = round(float(value), digits) + 0.0
        return f"{rounded:.{digits}f}".replace("-", "\u2212")
    return str(value)


def short(value: float) -> str:
    """A number of unknown size, three significant digits."""
    return f"{value:.3g}".replace("-", "\u2212")


def percent(share: float) -> str:
    """A share as a whole percentage; ``<1%`` for a small one that is not zero."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
