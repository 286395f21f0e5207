"""A matrix game as a game in rounds: nothing is dealt, both seats act at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.games.matrix import MatrixGame, game_from_dict
from coplay.games.rounds import SEATS, Action, Phase, other


@dataclass(frozen=True)
class Repeated:
    """A symmetric matrix game between alice and bob.

    A reply that could not be read gets the game's null payoff, and its co-player what it would have got against the first action: so an
    unreadable reply never pays, and never harms the other.
    """

    matrix: MatrixGame
    """The payoffs, and the only source of them."""
    rounds: int = 10
    """Rounds of an episode unless a config says otherwise."""

    seats = SEATS
    draws = 0

    @property
    def name(self) -> str:
        """The matrix game's."""
        return self.matrix.name

    @property
    def description(self) -> str:
        """The matrix game's."""
        return self.matrix.description

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, the same for both seats."""
        return self.matrix.actions[self.matrix.seats[0]]

    def deal(self, chance: Sequence[float]) -> None:
        """Nothing."""

    def seen(self, deal: None, seat: str) -> None:
        """Nothing."""

    def phases(self, round: int) -> tuple[Phase, ...]:
        """One: both act."""
        return (Phase("action", SEATS),)

    def payoffs(self, deal: None, actions: Mapping[str, Action | None]) -> dict[str, float]:
        """See the class."""
        return {seat: self._payoff(seat, actions[seat], actions[other(seat)]) for seat in SEATS}

    def cooperates(self, deal: None, seat: str, action: Action | None) -> bool | None:
        """Whether it is the action called ``cooperate``."""
        return None if action is None else action == "cooperate"

    def _payoff(self, seat: str, own: Action | None, theirs: Action | None) -> float:
        if own is None:
            return self.matrix.null_payoff
        theirs = self.actions[0] if theirs is None else theirs
        row, _ = self.matrix.seats
        return self.matrix.payoff(row, own=str(own), other=str(theirs))


IPD_AB = Repeated(
    game_from_dict(
        {
            "name": "ipd-ab",
            "description": "Iterated Prisoner's Dilemma under other words: actions A and B, 3/0/5/1.",
            "actions": ["cooperate", "defect"],
            "labels": ["A", "B"],
            "payoffs": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]],
            "null_payoff": 0,
        }
    )
)
"""The paper's first game (section 4 and appendix 12); its name and its actions' names are kept from the players."""
