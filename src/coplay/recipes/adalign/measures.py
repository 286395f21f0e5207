"""What the claims about social strategies measure by: payoffs beside those of the hard-coded agents, and thresholds.

The cooperative and the defecting payoff that a statement compares with are what the hard-coded agents get from each other in the very games
(deals included) in which the trained ones are measured. A reward is *normalised* if mutual defection is 0 and mutual cooperation is 1.
"""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Count, Measure, difference, share_of, versus
from coplay.evaluation.rules import Rule
from coplay.recipes.adalign.figures import COOPERATE, DEFECT

NEAR_DEFECTION = 0.10
"""A learner defects if its normalised reward with itself is at most this."""

NEAR_COOPERATION = {"ipd-ab": 0.9, "split-no-comm": 0.8}
"""Shares of the cooperative payoff that an aligned agent is to reach with itself."""

NEGLIGIBLE = 0.05
"""A share of the cooperative payoff that counts as no gain."""


def own(player: str) -> Measure:
    """A player's payoff a round with itself."""
    return versus(player, player)


def normalised(value: Measure) -> Measure:
    """A payoff on the scale from mutual defection, 0, to mutual cooperation, 1, seed by seed."""
    defection = own(DEFECT)
    return share_of(difference(value, defection), difference(own(COOPERATE), defection))


def share_of_cooperation(value: Measure) -> Measure:
    """A payoff as a share of mutual cooperation's, seed by seed."""
    return share_of(value, own(COOPERATE))


def claim(
    id: str,
    place: str,
    text: str,
    measure: Measure,
    rule: Rule,
    *,
    published: float | None = None,
    counted: Count | None = None,
) -> Claim:
    """A claim of this paper; ``place`` is the figure or section in it."""
    paper = f"Learning Robust Social Strategies with Large Language Models, {place}"
    return Claim(id, paper, text, published, measure, rule, counted)
