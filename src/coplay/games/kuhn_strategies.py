"""Scripted players of Kuhn poker: how often each card bets and calls (SEPO, Tables 6, 13 and 14; those without a definition there are ours)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coplay.games.kuhn_hand import ANSWER, BET, CALL, CARDS, FOLD, PASS, first_seat
from coplay.games.memory import Memory
from coplay.games.records import Action, Request
from coplay.games.strategy import GameRule, GameStrategy

Frequencies = tuple[float, float, float]
"""A probability for each card, J, Q and K."""

Plan = tuple[Frequencies, Frequencies]
"""How often a seat bets, and how often it calls a bet."""

ALPHA = 1 / 3
"""How often the equilibrium of SEPO's appendix F bluffs, the largest value that is an equilibrium."""


def plan_rule(plan: Callable[[bool, float | None], Plan]) -> GameRule:
    """The rule of a plan, which depends on whether the seat acts first and on the parameter."""

    def rule(request: Request, parameter: float | None) -> Mapping[Action, float]:
        """The plan's entry for the card that the seat holds."""
        bets, calls = plan(request.seat == first_seat(request.now.number), parameter)
        card = CARDS.index(request.now.deal.of(request.seat))
        if request.phase.name == ANSWER:
            return {FOLD: 1.0 - calls[card], CALL: calls[card]}
        return {PASS: 1.0 - bets[card], BET: bets[card]}

    return rule


def nash_plan(first: bool, alpha: float | None) -> Plan:
    """Kuhn's equilibria: one for each alpha from 0 to 1/3 of the first seat, and one strategy of the second seat."""
    if not first:
        return (1 / 3, 0.0, 1.0), (0.0, 1 / 3, 1.0)
    alpha = ALPHA if alpha is None else alpha
    return (alpha, 0.0, min(1.0, 3 * alpha)), (0.0, min(1.0, alpha + 1 / 3), 1.0)


def _always_pass_queen(first: bool, parameter: float | None) -> Plan:
    (bets_j, _, bets_k), (calls_j, _, calls_k) = nash_plan(first, ALPHA)
    return (bets_j, 0.0, bets_k), (calls_j, 0.0, calls_k)


def _plain(description: str, bets: Frequencies, calls: Frequencies) -> GameStrategy:
    """The same plan in both positions, without a parameter."""
    return GameStrategy(description, plan_rule(lambda first, parameter: (bets, calls)), memory=Memory.NONE)


STRATEGIES: Mapping[str, GameStrategy] = {
    "nash": GameStrategy(
        "The equilibrium of Kuhn poker with bluffing rate ALPHA: first to act J bets with probability ALPHA, Q passes and calls with ALPHA + 1/3,"
        " K bets with 3 ALPHA and calls; second J bets with 1/3 and folds, Q passes and calls with 1/3, K bets and calls.",
        plan_rule(nash_plan),
        parameter="the bluffing rate alpha, from 0 to 1/3",
        most=ALPHA,
        default=ALPHA,
        memory=Memory.NONE,
    ),
    "tight_passive": _plain("Never bet, and call with K alone.", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "loose_aggressive": _plain("Bet any card, and call with Q and K.", (1.0, 1.0, 1.0), (0.0, 1.0, 1.0)),
    "always_bet": _plain("Bet and call any card.", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "always_pass": _plain("Pass and fold any card.", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "tight_value": _plain("Bet and call with K alone: never bluff.", (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "pot_control": _plain(
        "Keep the pot small with all but K: bet K alone, and call with Q and K.", (0.0, 0.0, 1.0), (0.0, 1.0, 1.0)
    ),
    "always_pass_queen": GameStrategy(
        "Play nash:1/3, but with Q always pass and fold.", plan_rule(_always_pass_queen), memory=Memory.NONE
    ),
}
"""By name."""
