"""The exact value of a best response to a player that does not learn, by enumeration.

Within a round the responder's information sets are resolved from the last to the first: at each it takes the action with the largest sum, over the
positions that it cannot tell apart, of the probability that chance and the player lead there times the value of what follows. Across rounds, with
V_T = 0 and s what the responder remembers as the player's own memory would:

    V_t(s) = max over plans of the round of E[payoff + V_{t+1}(s')]

The player's behaviour may depend on all that its memory shows it. The responder knows s alone, so this is exact only if s decides that behaviour:
histories that are alike to the responder but not to the player must lead to equal probabilities. That is checked; else the game is refused.

See docs/howto/exploit.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coplay.evaluation.action_probabilities import ActionProbabilities, Option
from coplay.evaluation.pasts import NotExact, Past, merged
from coplay.evaluation.round_tree import Position, grow
from coplay.games.base import Game
from coplay.games.information import information_key
from coplay.games.records import Action, Occupant
from coplay.play.rules import checked_phase, checked_view, game_errors
from coplay.players.responding import ResponsePolicy

Value = tuple[float, float]
"""A value by the first and by the second half of the replies; the same twice where probabilities are told."""

EQUAL = 1e-9
"""Probabilities that differ by less are equal."""

STANDARD_ERRORS = 4.0
"""Shares of sampled replies that differ by fewer standard errors are taken for equal."""


def best_response_value(game: Game, seat: str, probabilities: ActionProbabilities, *, rounds: int) -> float:
    """What a best response in a seat gets per round against the player in the other one.

    Where the player does not tell its probabilities, the response is chosen by one half of the sampled replies and valued by the other, both ways
    round: its expectation is at most the value of a best response, while a response valued by the replies that it was chosen by gets too much.

    Args:
        game: the rules; two seats, with chance and choices that can be listed.
        seat: the responder's seat.
        probabilities: of the player in the other seat.
        rounds: T, the most rounds of an episode. Rounds that are void, or not played as the episode is over, pay nothing.

    Raises:
        NotExact: if the value cannot be enumerated, saying why.
    """
    refuse_other_seats(game)
    with game_errors(game):
        trees = _trees(game, seat, probabilities, rounds)
        values = [_value(trees, seat, by) for by in ((0, 1) if probabilities.sampled else (0,))]
    return sum(values) / len(values) / rounds


def best_response(game: Game, seat: str, probabilities: ActionProbabilities, *, rounds: int) -> ResponsePolicy:
    """A best response in a seat to the player in the other one: what it does at each information set that it can come to.

    Of actions of equal value it takes the first. It earns what :func:`best_response_value` says. To a player that does not tell its probabilities
    it is the best response to the shares of its sampled replies, all of them (``halves=False``), and approximate.

    Args:
        game: the rules; see :func:`best_response_value`.
        seat: the responder's seat.
        probabilities: of the player in the other seat.
        rounds: T, the most rounds of an episode.

    Raises:
        NotExact: if it cannot be enumerated, saying why.
    """
    refuse_other_seats(game)
    with game_errors(game):
        trees = _trees(game, seat, probabilities, rounds)
        solved: list[tuple[State, _RoundValue]] = []
        _value(trees, seat, 0, solved)
        return _policy(game, seat, solved)


def _policy(game: Game, seat: str, solved: Iterable[tuple[State, _RoundValue]]) -> ResponsePolicy:
    """The choices of all rounds, by names that a request leads to as well."""
    found: dict[str, int] = {}
    for state, one in solved:
        for information, (place, _) in one.chosen.items():
            position = one.alike[information][0]
            phase, view = checked_phase(game, position.now), checked_view(game, position.now, seat)
            assert phase is not None
            key = information_key(state, phase, view, position.own[seat])
            if found.setdefault(key, place) != place:
                raise NotExact(
                    f"in round {position.now.number + 1} of {game.name!r} a seat no longer sees what it saw before in the round, so that its best"
                    " response is not a policy of what it sees"
                )
    return found


def refuse_other_seats(game: Game) -> None:
    """Raise NotExact in games of another number of seats than two."""
    if len(game.seats) != 2:
        raise NotExact(
            f"an exact best response is to one player in a game of two seats; {game.name!r} has {len(game.seats)}"
        )


State = Hashable
"""What the responder remembers between rounds."""


@dataclass
class _Trees:
    """The trees of all rounds, and the states that their ends lead to."""

    seat: str
    """The responder's seat."""
    fixed: str
    """The seat of the player that it responds to."""
    player: Occupant
    """That player."""
    rounds: list[dict[State, list[Position]]] = field(default_factory=list)
    """For each round and state the positions after each deal."""

    def state(self, past: Past) -> State:
        """What the responder remembers, with the player's kind of memory."""
        return past.remembered(self.seat, self.player, playing=self.fixed)


def _trees(game: Game, seat: str, probabilities: ActionProbabilities, rounds: int) -> _Trees:
    """Enumerate round after round: one history for all that are alike both to the player and to the responder."""
    (fixed,) = (one for one in game.seats if one != seat)
    player = probabilities.seated[fixed]
    found = _Trees(seat, fixed, player)
    pasts: dict[Hashable, Past] = {(): Past.start(game)}
    size = 0
    for number in range(rounds):
        live = [past for past in pasts.values() if number == 0 or not game.is_over(past.rounds)]
        tree = grow(game, live, number, probabilities, free=seat, before=size)
        size = tree.size
        states = [found.state(past) for past in live]
        _refuse_private_memory(player, number, states, tree.asked, probabilities)
        of_state: dict[State, list[Position]] = {}
        for state, roots in zip(states, tree.roots, strict=True):
            of_state.setdefault(state, roots)  # alike to the responder, and as just checked to be played alike
        found.rounds.append(of_state)
        pasts = {}
        for position in (end for ends in tree.ends for end in ends if number + 1 < rounds):
            assert position.after is not None
            merged(pasts, (position.after.remembered(fixed, player), found.state(position.after)), position.after)
    return found


def _refuse_private_memory(
    player: Occupant,
    number: int,
    states: Sequence[State],
    asked: Sequence[Mapping[Hashable, tuple[Option, ...]]],
    probabilities: ActionProbabilities,
) -> None:
    """Raise NotExact if the player behaves differently after histories that are alike to the responder."""
    slack = STANDARD_ERRORS * math.sqrt(0.5 / probabilities.samples) if probabilities.sampled else EQUAL
    expected: dict[State, Mapping[Hashable, tuple[Option, ...]]] = {}
    for state, own in zip(states, asked, strict=True):
        first = expected.setdefault(state, own)
        for information in first.keys() & own.keys():
            if _distance(first[information], own[information]) > slack:
                raise NotExact(
                    f"player {player.name!r} remembers what its co-player cannot know: in round {number + 1} it acts differently after histories"
                    " that are alike to its co-player; ask for --rounds 1, or for a player with another memory"
                )


def _distance(one: Sequence[Option], other: Sequence[Option]) -> float:
    """The largest difference between the probabilities of an action."""
    shares: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for i, options in enumerate((one, other)):
        for reply, weights in options:
            shares[repr(reply.action)][i] += weights[2]
    return max(abs(a - b) for a, b in shares.values())


def _value(trees: _Trees, seat: str, by: int, solved: list[tuple[State, _RoundValue]] | None = None) -> float:
    """The value of the response that is best by one half of the replies, by the other half; ``solved`` gets what it does in each round."""
    later: dict[State, Value] = {}
    for states in reversed(trees.rounds):
        rounds = {state: _RoundValue(trees, seat, by, later) for state in states}
        later = {state: rounds[state].of(roots) for state, roots in states.items()}
        if solved is not None:
            solved += rounds.items()
    (start,) = later.values()
    return start[1 - by]


class _RoundValue:
    """The value of one round and all that follows, for a responder that chooses by one half of the replies."""

    def __init__(self, trees: _Trees, seat: str, by: int, later: Mapping[State, Value]) -> None:
        self.trees, self.seat, self.by, self.later = trees, seat, by, later
        self.alike: dict[Hashable, list[Position]] = defaultdict(list)
        self.chosen: dict[Hashable, tuple[int, Action | None]] = {}
        self.values: dict[int, Value] = {}

    def of(self, roots: Sequence[Position]) -> Value:
        """From the deals on."""
        for root in roots:
            self._collect(root)
        parts = [(root.reach, self._at(root)) for root in roots]
        return (sum(p[0] * v[0] for p, v in parts), sum(p[1] * v[1] for p, v in parts))

    def _collect(self, position: Position) -> None:
        if position.information is not None:
            self.alike[position.information].append(position)
        for branch in position.branches:
            self._collect(branch.to)

    def _at(self, position: Position) -> Value:
        """From a position on, if the responder does its best at it and afterwards."""
        found = self.values.get(id(position))
        if found is None:
            found = self.values[id(position)] = self._computed(position)
        return found

    def _computed(self, position: Position) -> Value:
        if position.after is not None:
            paid = position.after.payoff(self.seat)
            later = self.later.get(self.trees.state(position.after), (0.0, 0.0))
            return (paid + later[0], paid + later[1])
        if position.information is None:
            return self._after(position, None)
        return self._after(position, self._choice(position.information))

    def _after(self, position: Position, own: Action | None) -> Value:
        """After the responder has done this, or nothing where it is not asked."""
        parts = [(one.weights, self._at(one.to)) for one in position.branches if one.own == own]
        return (sum(p[0] * v[0] for p, v in parts), sum(p[1] * v[1] for p, v in parts))

    def _choice(self, information: Hashable) -> Action | None:
        """The best action of an information set: of equal ones the first."""
        if information not in self.chosen:
            alike, by = self.alike[information], self.by
            actions = list({repr(branch.own): branch.own for branch in alike[0].branches}.values())
            worth = [sum(one.reach[by] * self._after(one, action)[by] for one in alike) for action in actions]
            place = max(range(len(worth)), key=worth.__getitem__)
            self.chosen[information] = (place, actions[place])
        return self.chosen[information][1]
