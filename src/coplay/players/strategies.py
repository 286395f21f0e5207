"""Scripted strategies from the literature on repeated games.

A strategy is a rule: the past in, the probability of cooperating out. A game says what cooperating is (``Game.conducts``): in a matrix game a
seat's *first* action, so the names also work where nothing is cooperative: in the Stag Hunt ``always_defect`` hunts the hare, in Matching
Pennies ``alternator`` shows heads, tails, heads, ... In games that are bargained in words the game itself knows how to cooperate and how to be
greedy (``Game.perform``). With more than two seats the co-player cooperated if all others did. Void rounds are not part of the past.

Behaviours are those of Axelrod (Knight et al., 2016, "An open framework for the reproducible study of the iterated prisoner's
dilemma", Journal of Open Research Software 4:e35), whose names they keep where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from coplay.games.base import Game
from coplay.games.matrix import MatrixGame

Past = Sequence[tuple[bool, bool]]
"""The rounds of the episode so far, in order, as (own, co-player's): True for cooperating, or for having had no choice."""

Rule = Callable[[Past], float]
"""A strategy: the past in, the probability of cooperating out."""

GENEROSITY = 1 / 3
"""How often ``generous_tit_for_tat`` forgives where the payoffs are not a Prisoner's Dilemma; right for T, R, P, S = 5, 3, 1, 0."""


def always_cooperate(past: Past) -> float:
    """Cooperate always."""
    return 1.0


def always_defect(past: Past) -> float:
    """Defect always."""
    return 0.0


def tit_for_tat(past: Past) -> float:
    """Cooperate first, then do what the co-player did last (Rapoport; Axelrod, 1984)."""
    return float(not past or past[-1][1])


def suspicious_tit_for_tat(past: Past) -> float:
    """Defect first, then do what the co-player did last (Boyd & Lorberbaum, 1987)."""
    return float(bool(past) and past[-1][1])


def tit_for_two_tats(past: Past) -> float:
    """Defect only after two defections of the co-player in a row (Axelrod, 1984)."""
    return float(len(past) < 2 or past[-1][1] or past[-2][1])


def generous_tit_for_tat(forgiveness: float) -> Rule:
    """Tit for tat, but cooperate with probability ``forgiveness`` after a defection (Nowak & Sigmund, 1992)."""

    def rule(past: Past) -> float:
        """Cooperate first; forgive now and then."""
        return 1.0 if not past or past[-1][1] else forgiveness

    return rule


def grim_trigger(past: Past) -> float:
    """Cooperate until the co-player's first defection, then defect for ever (Friedman, 1971; Axelrod's ``Grudger``)."""
    return float(all(theirs for _, theirs in past))


def win_stay_lose_shift(past: Past) -> float:
    """Cooperate first and after rounds in which both did the same (Pavlov: Kraines & Kraines, 1989; Nowak & Sigmund, 1993)."""
    return float(not past or past[-1][0] == past[-1][1])


def alternator(past: Past) -> float:
    """Cooperate first, then alternate (Axelrod's ``Alternator``; Mittal & Deb, 2009)."""
    return float(len(past) % 2 == 0)


def alternator_defect_first(past: Past) -> float:
    """Defect first, then alternate."""
    return float(len(past) % 2 == 1)


ZD_EXTORT_2 = {(True, True): 8 / 9, (True, False): 1 / 2, (False, True): 1 / 3, (False, False): 0.0}
"""P(cooperate) after each round of (own, co-player's) move. For T, R, P, S = 5, 3, 1, 0: extortion factor 2, baseline P."""


def zd_extort_2(past: Past) -> float:
    """Cooperate first, then by the four-vector that takes twice the co-player's surplus over P (Stewart & Plotkin, 2012)."""
    return ZD_EXTORT_2[past[-1]] if past else 1.0


def defect_once(past: Past) -> float:
    """Cooperate, but for one round: the second, or the first after it in which there is a choice."""
    return float(not past or not all(own for own, _ in past))


def forgiveness(game: Game, seat: str) -> float:
    """How often ``generous_tit_for_tat`` forgives: ``min(1 - (T - R)/(R - S), (R - P)/(T - P))``, at least 0.

    The most that can be forgiven without inviting defection (Molander, 1985; Nowak & Sigmund, 1992). Where ``seat`` does not face a two-seat
    Prisoner's Dilemma, T > R > P > S, the formula means nothing and :data:`GENEROSITY` is returned.
    """
    if not isinstance(game, MatrixGame):
        return GENEROSITY
    (first, second), (their_first, their_second) = game.actions[seat], game.actions[game.other(seat)]
    reward = game.payoff(seat, own=first, other=their_first)
    sucker = game.payoff(seat, own=first, other=their_second)
    temptation = game.payoff(seat, own=second, other=their_first)
    punishment = game.payoff(seat, own=second, other=their_second)
    if not temptation > reward > punishment > sucker:
        return GENEROSITY
    keep_honest = 1 - (temptation - reward) / (reward - sucker)
    resist_defectors = (reward - punishment) / (temptation - punishment)
    return max(0.0, min(keep_honest, resist_defectors))


SUMS_UP: Mapping[Rule, Callable[[Past], Hashable]] = {
    grim_trigger: lambda past: all(theirs for _, theirs in past),
    tit_for_two_tats: lambda past: tuple(theirs for _, theirs in past[-2:]),
    alternator: lambda past: len(past) % 2,
    alternator_defect_first: lambda past: len(past) % 2,
    defect_once: lambda past: (not past, all(own for own, _ in past)),
}
"""What rules that read the whole past need of it: pasts with the same are followed by the same conduct, whatever comes. So exact values need not tell them apart."""
