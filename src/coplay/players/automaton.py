"""Players as finite automata: what a player does in a game in normal form, as arrays that many games at once are played by.

Shapes: Q states, A actions of the seat, J joint actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from coplay.games.memory import START, Joint, Memory, Observation

MOST_STATES = 4096
"""A player that needs more of them is asked request by request."""

T = TypeVar("T")


@dataclass(frozen=True)
class Automaton:
    """A player in one seat. It begins in state 0, and goes on to the next state by what all did."""

    actions: tuple[str, ...]
    """The seat's actions, in the order of its probabilities."""
    edges_QA: npt.NDArray[np.float64]
    """Where each action's part of [0, 1) ends: a draw picks the first action whose edge is above it. From the last that can be picked on, infinity."""
    next_QJ: npt.NDArray[np.intp]
    """The state after each joint action, in the order of the seat's :meth:`coplay.games.base.Game.own_states`."""

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether no draw matters."""
        return bool(np.isin(self.edges_QA, (0.0, np.inf)).all())


class Automatic(Protocol):
    """A player that can say itself as an automaton.

    The automaton must act as ``act`` does in any game whose rounds are one simultaneous choice: a test holds them equal, action by action.
    """

    def automaton(self, seat: str, slot: int | None, joints: Sequence[Joint]) -> Automaton | None:
        """The player as an automaton.

        Args:
            seat: where it sits.
            slot: the slot of its parameters; None for players without slots.
            joints: what a round can come to, own action first.

        Returns:
            The automaton; None if there is none, or none that is small.
        """


def says_automaton(player: object) -> TypeGuard[Automatic]:
    """Whether a player's class itself says what automaton it is: one that inherits that may act otherwise."""
    return "automaton" in vars(type(player))


def edges_of(probs: Sequence[float]) -> tuple[float, ...]:
    """The edges of a distribution as :func:`coplay.players.sampling.sample` inverts it."""
    last = max(i for i, p in enumerate(probs) if p > 0.0)
    return tuple(math.inf if i >= last else edge for i, edge in enumerate(accumulate(probs)))


def automaton_of(
    actions: Sequence[str],
    joints: Sequence[Joint],
    start: T,
    *,
    after: Callable[[T, Joint], T],
    same: Callable[[T], Hashable],
    edges: Callable[[T], Sequence[float]],
) -> Automaton | None:
    """Go through all states that a player can come to.

    Args:
        actions: the seat's actions.
        joints: what a round can come to, own action first.
        start: what the player has at the start.
        after: what it has after a further round.
        same: what is equal of what is followed by the same conduct, whatever comes: the states of the automaton.
        edges: see :class:`Automaton`.

    Returns:
        The automaton; None if it has too many states.
    """
    states: dict[Hashable, int] = {same(start): 0}
    held, following = [start], []
    for one in held:  # grows while it is gone through
        found = [after(one, joint) for joint in joints]
        for after_it in found:
            if states.setdefault(same(after_it), len(held)) == len(held):
                held.append(after_it)
        if len(held) > MOST_STATES:
            return None
        following.append([states[same(after_it)] for after_it in found])
    return Automaton(tuple(actions), np.array([edges(one) for one in held]), np.array(following, dtype=np.intp))


def shown(memory: Memory, joints: Sequence[Joint]) -> list[Observation] | None:
    """What a seat that remembers a round at most can be shown: at the start, and after each joint action; None for other memories."""
    if memory is Memory.NONE:
        return [START]
    return [START, *(Observation(last=joint) for joint in joints)] if memory is Memory.LAST_ROUND else None


def memory_one(actions: Sequence[str], joints: Sequence[Joint], edges: Sequence[Sequence[float]]) -> Automaton:
    """The automaton whose states are the observations that :func:`shown` lists, with the edges of each."""
    states_J = np.arange(1, 1 + len(joints)) if len(edges) > 1 else np.zeros(len(joints), dtype=np.intp)
    return Automaton(tuple(actions), np.array(edges), np.tile(states_J, (len(edges), 1)))
