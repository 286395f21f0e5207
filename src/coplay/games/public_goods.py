"""The public goods game: every seat keeps its endowment or contributes it; what is contributed is multiplied and shared by all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coplay.errors import UsageError
from coplay.games.base import MOST_PAYOFF
from coplay.games.memory import Joint
from coplay.games.normal_form import NormalFormGame
from coplay.text.rendering import number

CONTRIBUTE, KEEP = "contribute", "keep"


@dataclass(frozen=True)
class PublicGoods(NormalFormGame):
    """n seats, each contributes its whole endowment or keeps it.

    With c the number of contributors, e the endowment and m the multiplier, a seat gets ``m e c / n``, and e more if it keeps. With 1 < m < n
    keeping dominates and all would be better off if everybody contributed.

    Example:
        >>> PublicGoods().joint_payoffs(("contribute", "contribute", "keep"))
        (3.0, 3.0, 6.0)
    """

    n: int = 3
    """Number of seats."""
    multiplier: float = 1.5
    """m: what is contributed is multiplied by it."""
    endowment: float = 3.0
    """e: what each seat has in every round."""
    rounds: int = 10
    """Rounds of an episode unless a config says otherwise."""
    seats: tuple[str, ...] = field(init=False)
    """``player-1`` to ``player-n``."""
    actions: Mapping[str, tuple[str, ...]] = field(init=False)
    """``contribute`` and ``keep``, for every seat."""
    labels: Mapping[str, tuple[str, ...]] = field(init=False)
    """``C`` and ``K``."""
    null_payoff: float = field(init=False)
    """One below the lowest payoff."""

    name = "public-goods"
    description = (
        "Public goods: every seat keeps its points or contributes them; contributions are multiplied and shared by all."
    )

    def __post_init__(self) -> None:
        """Name the seats; raises UsageError for impossible numbers."""
        if not 2 <= self.n <= 12:
            raise UsageError(f"public-goods: n must be 2 to 12 seats, got {self.n}")
        if not (self.multiplier > 0 and self.endowment > 0):
            raise UsageError("public-goods: multiplier and endowment must be above 0")
        if not self.endowment * (1 + self.multiplier) <= MOST_PAYOFF:
            raise UsageError(f"public-goods: endowment x (1 + multiplier) must be at most {MOST_PAYOFF:,.0f} points")
        seats = tuple(f"player-{i + 1}" for i in range(self.n))
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "actions", dict.fromkeys(seats, (CONTRIBUTE, KEEP)))
        object.__setattr__(self, "labels", dict.fromkeys(seats, ("C", "K")))
        lowest = min(self.multiplier * self.endowment / self.n, self.endowment)
        object.__setattr__(self, "null_payoff", lowest - 1.0)

    def joint_payoffs(self, joint: Joint) -> tuple[float, ...]:
        """See the class."""
        share = self.multiplier * self.endowment * joint.count(CONTRIBUTE) / self.n
        return tuple(share + (self.endowment if action == KEEP else 0.0) for action in joint)

    def payoff_rule(self, labels: Mapping[str, str]) -> str:
        """The rule in a sentence."""
        share = number(round(self.multiplier * self.endowment / self.n, 3))
        return (
            f"every player who plays {labels[CONTRIBUTE]} gives all {self.n} players {share} points;"
            f" every player who plays {labels[KEEP]} keeps {number(self.endowment)} points."
        )
