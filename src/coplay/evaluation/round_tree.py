"""All that can happen in a round: deals and acts as a tree, for many histories at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from coplay.evaluation.action_probabilities import ActionProbabilities, Option, Question, Weights
from coplay.evaluation.pasts import NotExact, Past
from coplay.games.base import Game
from coplay.games.memory import START
from coplay.games.records import Act, Action, Phase, Round, Turn
from coplay.play.rules import checked_phase, checked_view

MOST_POSITIONS = 30_000
"""Positions of the trees of all rounds: seconds."""


@dataclass(eq=False, slots=True)
class Branch:
    """What follows a position."""

    own: Action | None
    """What the free seat did; None if it was not asked."""
    weights: Weights
    """The probability of what the fixed players did."""
    to: Position
    """Where it leads."""


@dataclass(eq=False, slots=True)
class Position:
    """A point in a round."""

    past: Past
    """The rounds before."""
    now: Round
    """The round so far, unredacted."""
    own: Mapping[str, tuple[Turn, ...]]
    """Each seat's replies so far."""
    reach: Weights
    """The probability of what chance and the fixed players did in this round to come here."""
    known: tuple[Hashable, ...] = ()
    """What the free seat was asked and did in this round: it forgets nothing."""
    information: Hashable | None = None
    """The free seat's information set; None where it is not asked."""
    branches: list[Branch] = field(default_factory=list)
    """What may follow; nothing if the round is over."""
    after: Past | None = None
    """The history with this round; None while the round is in progress."""


@dataclass(frozen=True, eq=False)
class RoundTree:
    """One round after each of several histories."""

    roots: list[list[Position]]
    """For each history the positions after each deal."""
    ends: list[list[Position]]
    """For each history the positions at which the round is over."""
    asked: list[dict[Hashable, tuple[Option, ...]]]
    """For each history what the fixed players do at each of their information sets in this round."""
    size: int
    """Positions of this tree and of those of the rounds before."""


def grow(
    game: Game, pasts: Sequence[Past], number: int, probabilities: ActionProbabilities, *, free: str | None, before: int
) -> RoundTree:
    """Enumerate a round.

    Args:
        game: the rules.
        pasts: the histories after which it is played.
        number: the round, from 0.
        probabilities: of the players whose play is fixed.
        free: the seat that may do anything; None if all players are fixed.
        before: the positions of the rounds before.

    Raises:
        NotExact: if chance or choices cannot be listed, or there are more than ``MOST_POSITIONS`` positions.
    """
    _refuse_size(game, before + len(pasts), len(pasts), number)
    roots = [_dealt(game, past, number) for past in pasts]
    place = {id(past): i for i, past in enumerate(pasts)}
    ends: list[list[Position]] = [[] for _ in pasts]
    known: list[dict[Hashable, tuple[Option, ...]]] = [{} for _ in pasts]
    frontier = [position for own in roots for position in own]
    size = before
    while frontier:
        size += len(frontier)
        _refuse_size(game, size, len(pasts), number)
        asked = []
        for position in frontier:
            phase = checked_phase(game, position.now)
            if phase is None:
                position.after = position.past.after(position.now, position.own)
                ends[place[id(position.past)]].append(position)
            else:
                asked.append((position, phase))
        _branch(game, asked, probabilities, free, known, place)
        frontier = [branch.to for position, _ in asked for branch in position.branches]
    return RoundTree(roots, ends, known, size)


def _refuse_size(game: Game, size: int, histories: int, number: int) -> None:
    if size > MOST_POSITIONS:
        shorter = f"; ask for at most --rounds {number}" if number else ""
        raise NotExact(
            f"an exact value needs more than {MOST_POSITIONS:,} positions: there are {histories:,} different histories before round"
            f" {number + 1} of {game.name!r}{shorter}"
        )


def _dealt(game: Game, past: Past, number: int) -> list[Position]:
    deals = game.deals(past.rounds)
    if deals is None:
        raise NotExact(f"game {game.name!r} cannot list what chance deals, so that its value cannot be enumerated")
    return [
        Position(past, Round(number, deal), past.own, (probability, probability, probability))
        for deal, probability in deals
        if probability > 0
    ]


def _branch(
    game: Game,
    asked: Sequence[tuple[Position, Phase]],
    probabilities: ActionProbabilities,
    free: str | None,
    known: Sequence[dict[Hashable, tuple[Option, ...]]],
    place: Mapping[int, int],
) -> None:
    """Add what may follow each position that is not the last of its round."""
    questions = [
        [Question(seat, phase, one.now, one.past, one.own[seat]) for seat in phase.seats] for one, phase in asked
    ]
    fixed = [question for own in questions for question in own if question.seat != free]
    answers = dict(zip(map(id, fixed), probabilities.of(fixed), strict=True))
    for (position, phase), own in zip(asked, questions, strict=True):
        options = []
        for question in own:
            if question.seat == free:
                position.information = (*position.known, _view(game, question))
                options.append(probabilities.choices(question))
            else:
                options.append(answers[id(question)])
                information = (question.seat, _view(game, question))
                known[place[id(position.past)]][information] = options[-1]
        for chosen in product(*options):
            position.branches.append(_step(position, phase, chosen, free))


def _view(game: Game, question: Question) -> Hashable:
    phase = question.phase
    return (phase.name, phase.turn, repr(checked_view(game, question.now, question.seat)))


def _step(position: Position, phase: Phase, chosen: Sequence[Option], free: str | None) -> Branch:
    """One combination of what the seats of a phase may do."""
    now, weights, own = position.now, (1.0, 1.0, 1.0), dict(position.own)
    known, free_action = position.known, None
    acts = []
    for seat, (reply, likely) in zip(phase.seats, chosen, strict=True):
        acts.append(Act(phase.name, phase.turn, seat, reply.action))
        weights = _times(weights, likely)
        own[seat] = (*own[seat], Turn(seat, now.number, phase.name, phase.turn, START, reply))
        if seat == free:
            free_action = reply.action
            known = (position.information, repr(reply.action))
    after = Round(now.number, now.deal, (*now.acts, *acts))
    return Branch(free_action, weights, Position(position.past, after, own, _times(position.reach, weights), known))


def _times(one: Weights, other: Weights) -> Weights:
    return (one[0] * other[0], one[1] * other[1], one[2] * other[2])
