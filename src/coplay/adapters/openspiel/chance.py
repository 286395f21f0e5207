"""Chance of OpenSpiel's games: from uniform numbers to outcomes, and all that can come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from typing import Any

from coplay.errors import CoplayError
from coplay.players.sampling import sample

MOST_NODES = 12_000
"""Nodes of a game in which all that chance can deal is looked for: a second."""

MOST_DEALS = 2_000
"""Different deals that are listed."""

UNUSED = 0.5
"""The number of a chance node that does not come."""

DIGITS = 12
"""Ends of ranges that agree to so many digits are the same: they are sums of probabilities."""


@dataclass(frozen=True)
class Chance:
    """The chance of a round: its k-th chance node takes the outcome that the k-th number picks."""

    numbers: tuple[float, ...]
    """Uniform numbers in [0, 1), as many as the game can have chance nodes."""


def next_chance(state: Any, numbers: Sequence[float], used: int) -> int:
    """Let chance act until a player is to act or the game is over; the state itself is changed.

    Args:
        state: the ``pyspiel.State``.
        numbers: a uniform number for each of the game's chance nodes.
        used: how many of them came before.

    Returns:
        How many have come now.

    Raises:
        CoplayError: if there are more chance nodes than the game said.
    """
    while state.is_chance_node():
        if used >= len(numbers):
            raise CoplayError(f"{state.get_game()} has more than the {len(numbers)} chance nodes it announces")
        state.apply_action(_outcome(state, numbers[used]))
        used += 1
    return used


def numbers_of(state: Any, draws: int) -> tuple[float, ...]:
    """The uniform numbers that lead chance to a state: of each outcome the middle of those that pick it.

    Args:
        state: the ``pyspiel.State``.
        draws: how many numbers are wanted.
    """
    replayed, found = state.get_game().new_initial_state(), []
    pending: dict[int, int] = {}
    for one in state.full_history():
        if replayed.is_chance_node():
            outcomes = replayed.chance_outcomes()
            found.append(_middle([p for _, p in outcomes], [action for action, _ in outcomes].index(one.action)))
            replayed.apply_action(one.action)
        elif replayed.is_simultaneous_node():
            pending[one.player] = one.action
            if len(pending) == replayed.num_players():
                replayed.apply_actions([pending[player] for player in sorted(pending)])
                pending = {}
        else:
            replayed.apply_action(one.action)
    return (*found, *(UNUSED for _ in range(draws - len(found))))


def chance_of_game(game: Any) -> Sequence[tuple[Chance, float]] | None:
    """All that chance can deal in a game, each with its probability; None if that is too much.

    Numbers stand for ranges of numbers that pick the same outcomes wherever players have led the game. So chance may depend on what they do, as in an
    auction where ties alone are broken by lot.

    Args:
        game: the ``pyspiel.Game``.
    """
    draws = game.max_chance_nodes_in_history()
    if draws == 0:
        return [(Chance(()), 1.0)]
    seen = 0
    found: list[tuple[tuple[float, ...], float]] = []
    open_: list[tuple[list[Any], tuple[float, ...], float]] = [([game.new_initial_state()], (), 1.0)]
    while open_:
        states, numbers, probability = open_.pop()
        nodes = []
        for state in states:  # grows
            seen += 1
            if seen > MOST_NODES:
                return None
            if state.is_chance_node():
                nodes.append(state)
            elif not state.is_terminal():
                states += _after_moves(state)
        if not nodes:
            found.append(((*numbers, *(UNUSED for _ in range(draws - len(numbers)))), probability))
            if len(found) > MOST_DEALS:
                return None
        for lower, upper in _ranges(nodes):
            middle = (lower + upper) / 2
            after = [node.child(_outcome(node, middle)) for node in nodes]
            open_.append((after, (*numbers, middle), probability * (upper - lower)))
    return [(Chance(numbers), probability) for numbers, probability in reversed(found)]


def _ranges(nodes: Sequence[Any]) -> list[tuple[float, float]]:
    """The ranges of numbers that pick the same outcome at each of these chance nodes."""
    if not nodes:
        return []
    ends = sorted(
        {round(end, DIGITS) for node in nodes for end in accumulate(p for _, p in node.chance_outcomes())} | {0.0, 1.0}
    )
    return list(pairwise(ends))


def _outcome(node: Any, number: float) -> int:
    """The outcome that a number picks."""
    outcomes = node.chance_outcomes()
    action: int = outcomes[sample([p for _, p in outcomes], number)][0]
    return action


def _after_moves(state: Any) -> list[Any]:
    """The states after all that players may do."""
    if not state.is_simultaneous_node():
        return [state.child(action) for action in state.legal_actions()]
    moves = [state.legal_actions(player) or [0] for player in range(state.num_players())]
    return [_joined(state, joint) for joint in product(*moves)]


def _joined(state: Any, joint: Sequence[int]) -> Any:
    after = state.clone()
    after.apply_actions(list(joint))
    return after


def _middle(probabilities: Sequence[float], i: int) -> float:
    return sum(probabilities[:i]) + probabilities[i] / 2
