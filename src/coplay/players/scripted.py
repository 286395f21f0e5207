"""Scripted strategies from the literature on repeated games.

In a game with two actions a strategy is a rule: the past in, the probability of cooperating out. "Cooperate" is a seat's *first*
action and "defect" its second, so the names also work where nothing is cooperative: in the Stag Hunt ``always_defect`` hunts the
hare, in Matching Pennies ``alternator`` shows heads, tails, heads, ... Rounds voided by an illegal reply are not part of the past.

Behaviours are those of Axelrod (Knight et al., 2016, "An open framework for the reproducible study of the iterated prisoner's
dilemma", Journal of Open Research Software 4:e35), whose names they keep where it has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coplay.errors import UsageError, unknown
from coplay.games.matrix import SEATS, MatrixGame, other
from coplay.games.memory import Memory, Observation
from coplay.players.base import Player
from coplay.types import Move, View

Past = Sequence[tuple[bool, bool]]
"""The rounds of the episode so far, in order, as (own move, co-player's move): True for the first action."""

Rule = Callable[[Past], float]
"""A strategy for two actions: the past in, the probability of the first action out."""

Policy = Callable[[Observation], tuple[float, ...]]
"""What a seat knows in, the probability of each of its actions out."""

GENEROSITY = 1 / 3
"""How often ``generous_tit_for_tat`` forgives where the payoffs are not a Prisoner's Dilemma; right for T, R, P, S = 5, 3, 1, 0."""


# --- Rules --------------------------------------------------------------------------------------------------------------------


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


def forgiveness(game: MatrixGame, seat: str) -> float:
    """How often ``generous_tit_for_tat`` forgives: ``min(1 - (T - R)/(R - S), (R - P)/(T - P))``, at least 0.

    The most that can be forgiven without inviting defection (Molander, 1985; Nowak & Sigmund, 1992). Where ``seat`` does not face a
    Prisoner's Dilemma, T > R > P > S, the formula means nothing and :data:`GENEROSITY` is returned.
    """
    (first, second), (their_first, their_second) = game.actions[seat], game.actions[other(seat)]
    reward = game.payoff(seat, own=first, other=their_first)
    sucker = game.payoff(seat, own=first, other=their_second)
    temptation = game.payoff(seat, own=second, other=their_first)
    punishment = game.payoff(seat, own=second, other=their_second)
    if not temptation > reward > punishment > sucker:
        return GENEROSITY
    keep_honest = 1 - (temptation - reward) / (reward - sucker)
    resist_defectors = (reward - punishment) / (temptation - punishment)
    return max(0.0, min(keep_honest, resist_defectors))


# --- Players ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScriptedPlayer:
    """A player that follows a fixed policy over its seat's actions."""

    name: str
    """The strategy as it was asked for, e.g. ``"random:0.3"``."""
    memory: Memory
    """The least that the strategy needs: ``none``, ``last_round`` or ``transcript``."""
    actions: tuple[str, ...]
    """The seat's actions, in the game's order."""
    labels: tuple[str, ...]
    """What it replies: the game's label of each action."""
    policy: Policy
    """What it knows in, the probability of each action out."""

    def act(self, views: Sequence[View]) -> list[Move]:
        """One move for each view, in order."""
        return [self._move(view) for view in views]

    def _move(self, view: View) -> Move:
        probs = self.policy(view.observation)
        i = sample(probs, view.draw)
        return Move(action=self.actions[i], reply=self.labels[i], logprob=math.log(probs[i]), probs=probs)


def sample(probs: Sequence[float], draw: float) -> int:
    """The index that a uniform ``draw`` in [0, 1) picks from a distribution, by inverting its cumulative sum.

    Never picks an index of probability 0, however the sum was rounded.
    """
    total = 0.0
    last = 0
    for i, p in enumerate(probs):
        if p > 0.0:
            total += p
            last = i
            if draw < total:
                return i
    return last


# --- Registry -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Script:
    """An entry of the registry: a strategy by name, before it knows its game and seat."""

    description: str
    """One sentence for a person."""
    build: Callable[[MatrixGame, str, str | None], Policy]
    """(game, seat, parameter) -> policy; raises UsageError where the strategy cannot be played or the parameter is not allowed."""
    memory: Memory = Memory.TRANSCRIPT
    """What it needs to be shown of the past."""
    parameter: str = ""
    """What may follow the colon, for a person; empty if nothing may."""


def _script(rule: Rule, memory: Memory = Memory.TRANSCRIPT) -> Script:
    """The entry of a rule without parameters, described by its docstring."""
    description = " ".join((rule.__doc__ or "").split())
    return Script(description, lambda game, seat, parameter: two_action_policy(rule, game, seat), memory)


def two_action_policy(rule: Rule, game: MatrixGame, seat: str) -> Policy:
    """Play a rule in a game with two actions a seat; raises UsageError in any other."""
    if any(len(game.actions[s]) != 2 for s in SEATS):
        raise UsageError(
            f"this strategy is for two actions a seat; game {game.name!r} has"
            f" {' x '.join(str(len(game.actions[s])) for s in SEATS)}. Use 'random' or 'always:ACTION'."
        )
    own_first, their_first = game.actions[seat][0], game.actions[other(seat)][0]

    def policy(observation: Observation) -> tuple[float, ...]:
        """The rule's probability for the first action, the rest for the second."""
        rounds = observation.transcript or ((observation.last,) if observation.last else ())
        past = [(own == own_first, theirs == their_first) for own, theirs in rounds]
        p = rule(past)
        return (p, 1.0 - p)

    return policy


def _constant(probs: tuple[float, ...]) -> Policy:
    return lambda observation: probs


def _generous(game: MatrixGame, seat: str, parameter: str | None) -> Policy:
    """``generous_tit_for_tat[:P]``."""
    two_action_policy(tit_for_tat, game, seat)  # raises in games of other sizes, before their payoffs are looked at
    p = forgiveness(game, seat) if parameter is None else _probability(parameter)
    return two_action_policy(generous_tit_for_tat(p), game, seat)


def _random(game: MatrixGame, seat: str, parameter: str | None) -> Policy:
    """``random[:P]``."""
    n = len(game.actions[seat])
    if parameter is None:
        return _constant((1.0 / n,) * n)
    if n != 2:
        raise UsageError(
            f"a probability fits two actions, seat {seat!r} of game {game.name!r} has {n}. Write 'random'."
        )
    p = _probability(parameter)
    return _constant((p, 1.0 - p))


def _always(game: MatrixGame, seat: str, parameter: str | None) -> Policy:
    """``always:ACTION``."""
    if parameter is None:
        raise UsageError(f"an action is missing. Write for example 'always:{game.actions[seat][0]}'.")
    action = game.action_named(seat, parameter)
    return _constant(tuple(float(a == action) for a in game.actions[seat]))


def _probability(parameter: str) -> float:
    try:
        value = float(parameter)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{parameter!r} is not a probability. Write a number from 0 to 1, e.g. 0.3.")
    return value


PLAYERS: dict[str, Script] = {
    "always_cooperate": _script(always_cooperate, Memory.NONE),
    "always_defect": _script(always_defect, Memory.NONE),
    "tit_for_tat": _script(tit_for_tat, Memory.LAST_ROUND),
    "generous_tit_for_tat": Script(
        "Tit for tat that forgives a defection as often as the payoffs allow, or with probability P (Nowak & Sigmund, 1992).",
        _generous,
        Memory.LAST_ROUND,
        parameter="the probability of forgiving, from 0 to 1",
    ),
    "suspicious_tit_for_tat": _script(suspicious_tit_for_tat, Memory.LAST_ROUND),
    "tit_for_two_tats": _script(tit_for_two_tats),
    "grim_trigger": _script(grim_trigger),
    "win_stay_lose_shift": _script(win_stay_lose_shift, Memory.LAST_ROUND),
    "alternator": _script(alternator),
    "alternator_defect_first": _script(alternator_defect_first),
    "zd_extort_2": _script(zd_extort_2, Memory.LAST_ROUND),
    "random": Script(
        "Play at random: all actions equally often, or random:P the first of two with probability P.",
        _random,
        Memory.NONE,
        parameter="the probability of the first of two actions, from 0 to 1",
    ),
    "always": Script(
        "always:ACTION plays one action, given by its name or label, in a game of any size.",
        _always,
        Memory.NONE,
        parameter="an action of the seat",
    ),
}
"""The scripted players, by name. A colon introduces a parameter: ``random:0.3``."""


def make_player(spec: str, game: MatrixGame, seat: str) -> Player:
    """Build the scripted player that ``spec`` names, for one seat of a game.

    Args:
        spec: a name of :data:`PLAYERS`, with a parameter after a colon where it takes one: ``"tit_for_tat"``,
            ``"random:0.3"``, ``"always:heads"``.
        game: the game to be played.
        seat: the seat to be filled.

    Raises:
        UsageError: for an unknown name or seat, a parameter that is not allowed, or a strategy for two actions in a game with
            more.

    Example:
        >>> from coplay.games import make_game
        >>> make_player("random:0.3", make_game("ipd"), "row").name
        'random:0.3'
    """
    name, colon, rest = spec.partition(":")
    parameter = rest if colon else None
    if name not in PLAYERS:
        raise unknown("player", name, PLAYERS, listed="players")
    if seat not in SEATS:
        raise unknown("seat", seat, SEATS)
    script = PLAYERS[name]
    if colon and not script.parameter:
        raise UsageError(f"player {spec!r}: {name!r} takes no parameter. Write {name!r}.")
    try:
        policy = script.build(game, seat, parameter)
    except UsageError as error:
        raise UsageError(f"player {spec!r}: {error}") from None
    return ScriptedPlayer(spec, script.memory, game.actions[seat], game.labels[seat], policy)
