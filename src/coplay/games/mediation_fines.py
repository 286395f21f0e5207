"""Fines of a mediated game: what they are taken for, and what a round came to before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coplay.games.mediation_words import addressed, notice_name
from coplay.games.mediator_seat import MEDIATION, MediatorWords
from coplay.games.records import Round


class FinedGame(MediatorWords):
    """A fine changes what a seat gets, not what a round came to for all."""

    fine: float
    """Taken off the payoff of a seat that was addressed with the strongest notice: the fine times its shortfall in the round."""

    def fined(self, one: Round, seat: str) -> float:
        """The shortfall that a fine is taken for: a seat's in a round before which it read the strongest notice, else 0."""
        told = one.acts[0].action if one.acts and one.acts[0].phase == MEDIATION else None
        if not self.offered or notice_name(told) != list(self.offered)[-1] or seat not in addressed(told):
            return 0.0
        return self.game.shortfall(self.inner(one), seat) or 0.0

    def unfined(self, inner: Round) -> Round:
        """A round of the game within with payoffs before fines: what it came to for all."""
        if not self.fine or inner.payoffs is None:
            return inner
        return replace(inner, payoffs={**inner.payoffs, **self.game.payoffs(replace(inner, payoffs=None))})

    def collective(self, one: Round) -> Mapping[str, float]:
        """The game's, before fines."""
        return self.game.collective(self.unfined(self.inner(one)))
