"""The exact value of a best reply of one seat to fixed players in all others, in games of any number of seats.

The replier knows all that it was shown and remembers it. Histories that it cannot tell apart form a group, and it does the same after all of them:

    V(g) = max over what it may do at each of its information sets of Σ_{h in g} P(h) E[payoff + V(the group that follows)],

with P(h) the probability of what chance and the others did. Unlike :mod:`coplay.evaluation.best_response`, the others may know more than the replier,
as a mediator does that has written to somebody else. The replier may also be one that does not read its messages: then its information is what
the game without the mediator shows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.pasts import Past
from coplay.evaluation.round_tree import Position, grow
from coplay.games.mediated import Mediated
from coplay.games.records import Action, Round
from coplay.play.rules import checked_phase, checked_view, game_errors

Value = tuple[float, float]
"""What is still paid, and how much shortfall of it will have been fined."""


@dataclass(frozen=True)
class Deviation:
    """What a best reply gets."""

    value: float
    """The expected sum of its payoffs over the game."""
    fined: float
    """The expected sum of the shortfalls that it is fined for: the value falls at this rate as the fine rises."""
    first: tuple[Action | None, ...]
    """What it does at each of its information sets of the first round, in the order in which they come up."""


@dataclass
class _Level:
    """One round after all histories."""

    groups: list[list[int]]
    """The histories that the replier cannot tell apart, as places in ``weights``."""
    weights: list[float]
    """The probability of each history, as far as chance and the others decide it."""
    roots: list[list[Position]]
    """For each history the positions after each deal."""
    places: dict[int, int] = field(default_factory=dict)
    """From the identity of a history after this round to its place in the next level."""


def best_deviation(
    game: Mediated, seat: str, probabilities: ActionProbabilities, *, rounds: int, hears: bool = True
) -> Deviation:
    """The value of a best reply of a seat to the players of all others.

    Args:
        game: the rules, with chance and choices that can be listed.
        seat: the replier's seat.
        probabilities: of the players in all other seats; they must tell them.
        rounds: T, the most rounds of an episode.
        hears: whether the replier reads the messages to it.

    Raises:
        NotExact: if the value cannot be enumerated, saying why.
    """
    with game_errors(game):
        levels = list(_levels(game, seat, probabilities, rounds, hears))
        later: dict[int, Value] = {}
        round_one: list[Action | None] = []
        for number, level in reversed(list(enumerate(levels))):
            later, chosen = _solve(game, seat, level, later, hears)
            if number == 0:
                round_one = chosen
    value, fined = later[0]
    return Deviation(value, fined, tuple(round_one))


def _levels(
    game: Mediated, seat: str, probabilities: ActionProbabilities, rounds: int, hears: bool
) -> Iterator[_Level]:
    pasts, weights, size = [Past.start(game)], [1.0], 0
    for number in range(rounds):
        live = [i for i, past in enumerate(pasts) if number == 0 or not game.is_over(past.rounds)]
        pasts, weights = [pasts[i] for i in live], [weights[i] for i in live]
        tree = grow(game, pasts, number, probabilities, free=seat, before=size)
        size = tree.size
        grouped: dict[Hashable, list[int]] = defaultdict(list)
        for i, past in enumerate(pasts):
            known = past.texts[seat] if hears else tuple(repr(_deaf(game, one, seat)) for one in past.rounds)
            grouped[known].append(i)
        level = _Level(list(grouped.values()), weights, tree.roots)
        following: list[Past] = []
        reached: list[float] = []
        for i, ends in enumerate(tree.ends):
            for end in ends:
                assert end.after is not None
                if end.reach[2] > 0.0 and not (number + 1 < rounds and game.is_over(end.after.rounds)):
                    level.places[id(end.after)] = len(following)
                    following.append(end.after)
                    reached.append(weights[i] * end.reach[2])
        yield level
        pasts, weights = following, reached


def _deaf(game: Mediated, one: Round, seat: str) -> Round:
    """A round as a seat sees it that reads no messages."""
    return checked_view(game.game, game.inner(one), seat)


def _solve(
    game: Mediated, seat: str, level: _Level, later: dict[int, Value], hears: bool
) -> tuple[dict[int, Value], list[Action | None]]:
    """The value of each history if the replier does its best in this round and afterwards, and what it does in this round."""
    found: dict[int, Value] = {}
    done: list[Action | None] = []
    for group in level.groups:
        one = _Group(game, seat, level, later, hears, group)
        found |= {i: one.value(i) for i in group}
        done += one.chosen.values()
    return found, done


class _Group:
    """One round after histories that the replier cannot tell apart."""

    def __init__(
        self, game: Mediated, seat: str, level: _Level, later: dict[int, Value], hears: bool, group: Sequence[int]
    ) -> None:
        self.game, self.seat, self.level, self.later, self.hears = game, seat, level, later, hears
        self.alike: dict[Hashable, list[tuple[float, Position]]] = defaultdict(list)
        self.names: dict[int, Hashable] = {}
        self.chosen: dict[Hashable, Action | None] = {}
        self.known: dict[int, Value] = {}
        for i in group:
            for root in level.roots[i]:
                self._collect(root, level.weights[i])

    def value(self, history: int) -> Value:
        """Of one of the histories."""
        return _sum((root.reach[2], self._at(root)) for root in self.level.roots[history])

    def _collect(self, position: Position, weight: float) -> None:
        if position.information is not None:
            self.names[id(position)] = name = self._information(position)
            self.alike[name].append((weight * position.reach[2], position))
        for branch in position.branches:
            self._collect(branch.to, weight)

    def _information(self, position: Position) -> Hashable:
        """What the replier knows of the round at a position, with what it did itself."""
        if self.hears:
            return position.information
        phase = checked_phase(self.game, position.now)
        assert phase is not None
        own = [repr(turn.reply.action) for turn in position.own[self.seat] if turn.round == position.now.number]
        return (phase.name, phase.turn, repr(_deaf(self.game, position.now, self.seat)), *own)

    def _at(self, position: Position) -> Value:
        found = self.known.get(id(position))
        if found is None:
            found = self.known[id(position)] = self._computed(position)
        return found

    def _computed(self, position: Position) -> Value:
        if position.after is not None:
            place = self.level.places.get(id(position.after))
            rest = (0.0, 0.0) if place is None else self.later.get(place, (0.0, 0.0))
            last = position.after.rounds[-1]
            return (position.after.payoff(self.seat) + rest[0], self.game.fined(last, self.seat) + rest[1])
        if position.information is None:
            return self._after(position, None)
        return self._after(position, self._choice(self.names[id(position)]))

    def _after(self, position: Position, own: Action | None) -> Value:
        """After the replier has done this, or nothing where it is not asked."""
        return _sum((one.weights[2], self._at(one.to)) for one in position.branches if one.own == own)

    def _choice(self, name: Hashable) -> Action | None:
        """The best action of an information set: of equal ones the first."""
        if name not in self.chosen:
            alike = self.alike[name]
            actions = list({repr(branch.own): branch.own for branch in alike[0][1].branches}.values())
            worth = [sum(weight * self._after(one, action)[0] for weight, one in alike) for action in actions]
            best = max(worth)
            self.chosen[name] = next(a for a, w in zip(actions, worth, strict=True) if w >= best - 1e-12)
        return self.chosen[name]


def _sum(parts: Iterator[tuple[float, Value]]) -> Value:
    """The weighted sum of values."""
    total, fined = 0.0, 0.0
    for weight, value in parts:
        total += weight * value[0]
        fined += weight * value[1]
    return (total, fined)
