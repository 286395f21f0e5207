"""Strategies of the literature for dilemmas in pairs: a rule for two, played with each co-player by itself.

With one shared action a seat treats all its co-players as one, who cooperated if all of them did. What could not be parsed counts as defection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from coplay.games.memory import Memory
from coplay.games.records import Action, Request, Round
from coplay.games.strategy import GameStrategy

COOPERATE, DEFECT = "cooperate", "defect"
"""What a seat does with a co-player."""

DECISION = "action"
"""The phase of the decisions; the others are messages."""

Past = Sequence[tuple[bool, bool]]
"""The rounds of the episode so far as (own, co-player's): True for cooperating."""

PairRule = Callable[[Past, float], float]
"""From the past with one co-player, and the parameter, to the probability of cooperating with it."""

PROMISE, THREAT = "Let us all cooperate.", "I play to win."
"""What a strategy says before its decision: the first if it begins by cooperating, else the second."""


class _Rule(NamedTuple):
    """A rule for two, and what it needs."""

    description: str
    rule: PairRule
    memory: Memory = Memory.TRANSCRIPT
    parameter: str = ""
    default: float | None = None


RULES: Mapping[str, _Rule] = {
    "always_cooperate": _Rule("Cooperate with everybody always.", lambda past, p: 1.0, Memory.NONE),
    "always_defect": _Rule("Defect against everybody always.", lambda past, p: 0.0, Memory.NONE),
    "tit_for_tat": _Rule(
        "With each co-player: cooperate first, then do what it did last.",
        lambda past, p: float(not past or past[-1][1]),
        Memory.LAST_ROUND,
    ),
    "suspicious_tit_for_tat": _Rule(
        "With each co-player: defect first, then do what it did last.",
        lambda past, p: float(bool(past) and past[-1][1]),
        Memory.LAST_ROUND,
    ),
    "generous_tit_for_tat": _Rule(
        "Tit for tat with each co-player that forgives a defection with probability P, by default 1/3.",
        lambda past, p: 1.0 if not past or past[-1][1] else p,
        Memory.LAST_ROUND,
        "the probability of forgiving, from 0 to 1",
        1 / 3,
    ),
    "win_stay_lose_shift": _Rule(
        "With each co-player: cooperate first and after rounds in which both did the same.",
        lambda past, p: float(not past or past[-1][0] == past[-1][1]),
        Memory.LAST_ROUND,
    ),
    "grim_trigger": _Rule(
        "With each co-player: cooperate until it defects, then defect for ever.",
        lambda past, p: float(all(theirs for _, theirs in past)),
    ),
    "random": _Rule(
        "Cooperate with each co-player with probability P, by default 1/2.",
        lambda past, p: p,
        Memory.NONE,
        "the probability of cooperating, from 0 to 1",
        0.5,
    ),
}
"""The rules by name."""


def strategies(seats: Sequence[str], *, shared: bool) -> dict[str, GameStrategy]:
    """The strategies of a game: what :data:`RULES` has, for these seats.

    Args:
        seats: all seats, in order.
        shared: whether a decision is one action for all co-players.
    """
    return {name: _strategy(rule, tuple(seats), shared) for name, rule in RULES.items()}


def _strategy(one: _Rule, seats: Sequence[str], shared: bool) -> GameStrategy:
    recent = {Memory.NONE: 0, Memory.LAST_ROUND: 1}.get(one.memory)

    def play(request: Request, value: float | None) -> Mapping[Action, float]:
        """Speak, or decide with each co-player."""
        p = value if value is not None else one.default or 0.0
        if request.phase.name != DECISION:
            return {PROMISE if one.rule([], p) > 0.0 else THREAT: 1.0}
        rounds = request.past if recent is None else request.past[len(request.past) - recent :] if recent else ()
        pasts = _pasts(rounds, request.seat, seats)
        if shared:
            chance = one.rule(_as_one(list(pasts.values())), p)
            return {COOPERATE: chance, DEFECT: 1.0 - chance}
        return _product({other: one.rule(past, p) for other, past in pasts.items()})

    return GameStrategy(one.description, play, parameter=one.parameter, default=one.default, memory=one.memory)


def cooperates(action: Action | None, other: str) -> bool:
    """Whether a decision cooperates with a co-player."""
    return (other, COOPERATE) in action if isinstance(action, tuple) else action == COOPERATE


def _pasts(rounds: Sequence[Round], seat: str, seats: Sequence[str]) -> dict[str, list[tuple[bool, bool]]]:
    """The past with each co-player."""
    found: dict[str, list[tuple[bool, bool]]] = {one: [] for one in seats if one != seat}
    for one in rounds:
        did = one.actions(DECISION)
        for other, past in found.items():
            past.append((cooperates(did[seat], other), cooperates(did[other], seat)))
    return found


def _as_one(pasts: Sequence[Past]) -> Past:
    """All co-players as one."""
    return [(all(own for own, _ in one), all(theirs for _, theirs in one)) for one in zip(*pasts, strict=True)]


def _product(chances: Mapping[str, float]) -> dict[Action, float]:
    """Decisions with each co-player by itself; those of probability 0 are left out."""
    if all(p in (0.0, 1.0) for p in chances.values()):  # one decision; the same as below, sooner
        return {tuple((other, COOPERATE if p else DEFECT) for other, p in chances.items()): 1.0}
    each = [[(word, q) for word, q in ((COOPERATE, p), (DEFECT, 1.0 - p)) if q > 0.0] for p in chances.values()]
    return {
        tuple((other, word) for other, (word, _) in zip(chances, combination, strict=True)): prod(
            q for _, q in combination
        )
        for combination in product(*each)
    }
