"""The message that a mediator of a pairwise dilemma sends (Learning to Mediate, appendix A.4)."""

from __future__ import annotations

from typing import NamedTuple

from coplay.games.notices import Notice, Standing
from coplay.text.rendering import number


class PairPayoffs(NamedTuple):
    """What a pair is paid (Table 3): each number is of one seat."""

    reward: float
    """R: both cooperate."""
    sucker: float
    """S: the one who cooperates alone."""
    temptation: float
    """T: the one who defects alone."""
    punishment: float
    """P: both defect."""


URGENT_ROUNDS = 2
"""With so many rounds left, or fewer, the message says that they are few."""

RARELY, SELDOM = 0.3, 0.5
"""Cooperation rates below which the message speaks of the seat's own play."""


def analysis(pay: PairPayoffs) -> Notice:
    """The strategic analysis with a game's payoffs; the rest is filled in from how the seat stands."""

    def text(standing: Standing) -> str:
        k = standing.rounds_left
        if k <= URGENT_ROUNDS:
            horizon = f"URGENT: Only {k} round(s) remaining. Mutual cooperation yields the highest guaranteed outcome."
        else:
            more = number((pay.reward - pay.punishment) * k)
            horizon = f"With {k} rounds left, consistent mutual cooperation could earn you up to {more} MORE points than mutual defection."
        said = [
            "STRATEGIC ANALYSIS: Based on game theory analysis of the current situation:",
            f"- Mutual Action 0 (cooperation): {number(pay.reward)} points EACH",
            f"- Mutual Action 1 (defection): {number(pay.punishment)} points EACH",
            f"- If you defect alone: you get {number(pay.temptation)}, but risk retaliation",
            horizon,
        ]
        if standing.cooperation is not None and standing.cooperation < RARELY:
            said.append(
                "Your defection rate is high. Switching to Action 0 can rebuild trust and lead to higher total scores."
            )
        if standing.cooperation is not None and standing.cooperation < SELDOM:
            said.append(
                f"Your current score is {number(standing.score)}."
                " Choosing Action 0 consistently from now will maximize your final score."
            )
        said.append("RECOMMENDATION: Choose Action 0 with all opponents this round to maximize your score.")
        return "\n".join(said)

    return Notice("What cooperation and defection pay, and the advice to cooperate with everybody.", text)
