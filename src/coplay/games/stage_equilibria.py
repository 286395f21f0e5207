"""All pure Nash equilibria of a one-round game, by enumeration: what nobody would change who knows what the others do.

It needs nothing but the :class:`coplay.games.base.Game` protocol: what chance can deal, what each seat sees of it, the choices, and the payoffs. A seat's
plan is an action for everything that it may be dealt, so with private values these are the pure Bayesian equilibria::

    σ is an equilibrium  iff  for each seat i, each t that i may see, each action a:
    Σ_{d: i sees t} P(d) u_i(σ(d)) ≥ Σ_{d: i sees t} P(d) u_i(a, σ_-i(d))

What is found in the games of SEPO, each played for one round:

- ``auction``: of 81 pairs of plans three, in which both bid alike: LOW with a value of 2 and MEDIUM with 4 (``value_bid``), which pays each 0.875;
  MEDIUM always, 0.5; MEDIUM with 2 and HIGH with 4 (``truthful``), 0.375. In the last two a value of 2 never pays, whatever it bids, so
  a seat that has it does not mind helping to keep prices up.
- ``negotiation-v1``: of 81 pairs of demands, the nine (a, 10 - a). (9, 9) is none: whoever demands 1 instead gets 1.
- ``ipd-8``: mutual defection.

And in the dilemmas of three seats without talk, where a decision for each co-player makes the pairs games of their own, and one shared action ties
them together:

- ``ipd-3``: mutual defection, either way.
- ``stag-hunt-3``: each pair on its own cooperates or defects, eight equilibria; with a shared action all cooperate or all defect, two.
- ``chicken-3``: in each pair one of the two defects, eight; with a shared action exactly one seat defects, three.

An equilibrium of the round, played in every round whatever was done before, is one of the repeated game too; the repeated game may have others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.memory import START
from coplay.games.records import Act, Action, Phase, Request, Round

MOST_PROFILES = 100_000
"""Combinations of plans that are looked at."""

TOLERANCE = 1e-9
"""A gain that is smaller comes from rounding."""

Plan = tuple[Action, ...]
"""A seat's action for each thing that it may be dealt, in the order of :attr:`Stage.seen`."""


@dataclass(frozen=True)
class Stage:
    """A game's first round as a table."""

    seats: tuple[str, ...]
    """All seats, in order."""
    deals: tuple[tuple[float, tuple[int, ...]], ...]
    """All that chance can deal: its probability and, for each seat, the index of what the seat sees of it."""
    seen: tuple[tuple[Any, ...], ...]
    """What each seat may be shown of a deal."""
    choices: tuple[tuple[tuple[Action, ...], ...], ...]
    """Each seat's legal actions, for each thing that it may be shown."""
    paid: tuple[Mapping[tuple[Action, ...], tuple[float, ...]], ...]
    """For each deal, from the actions of all seats to their payoffs."""

    def plans(self, seat: int) -> Iterator[Plan]:
        """All pure plans of a seat."""
        return product(*self.choices[seat])

    def profiles(self) -> Iterator[tuple[Plan, ...]]:
        """All combinations of plans, a plan a seat."""
        return product(*(tuple(self.plans(seat)) for seat in range(len(self.seats))))

    def value(self, profile: Sequence[Plan], seat: int) -> float:
        """What a seat expects if all follow their plans."""
        return sum(
            probability * paid[_joint(profile, seen)][seat]
            for (probability, seen), paid in zip(self.deals, self.paid, strict=True)
        )

    def gains(self, profile: Sequence[Plan]) -> Iterator[float]:
        """What each seat would gain by each single change of its plan. Plans for different deals do not touch, so single changes are enough."""
        for seat in range(len(self.seats)):
            now = self.value(profile, seat)
            for index, actions in enumerate(self.choices[seat]):
                for action in actions:
                    plan = (*profile[seat][:index], action, *profile[seat][index + 1 :])
                    yield self.value([*profile[:seat], plan, *profile[seat + 1 :]], seat) - now


@dataclass(frozen=True)
class Equilibrium:
    """A pure equilibrium of a round."""

    plans: Mapping[str, Plan]
    """Each seat's action for each thing that it may be dealt, in the order of :attr:`Stage.seen`."""
    payoffs: Mapping[str, float]
    """What each seat expects."""


def stage_equilibria(game: Game) -> list[Equilibrium]:
    """All pure equilibria of a game's first round, Bayesian where something is private.

    Raises:
        UsageError: if chance or actions are too many to list, or seats do not act once and at the same time.

    Example:
        >>> from coplay.games import make_game
        >>> [one.plans["alice"] for one in stage_equilibria(make_game("auction"))]
        [('low', 'medium'), ('medium', 'medium'), ('medium', 'high')]
    """
    return equilibria_of(game, stage_of(game))


def equilibria_of(game: Game, stage: Stage) -> list[Equilibrium]:
    """The same, of a game whose first round is known as a table."""
    sizes = [prod(len(actions) for actions in of_seat) for of_seat in stage.choices]
    if prod(sizes) > MOST_PROFILES:
        raise UsageError(
            f"game {game.name!r} has {prod(sizes):,} combinations of plans; at most {MOST_PROFILES:,} are enumerated"
        )
    return [
        Equilibrium(
            dict(zip(stage.seats, profile, strict=True)),
            {name: stage.value(profile, seat) for seat, name in enumerate(stage.seats)},
        )
        for profile in stage.profiles()
        if all(gain <= TOLERANCE for gain in stage.gains(profile))
    ]


def stage_of(game: Game) -> Stage:
    """A game's first round as a table; raises UsageError as :func:`stage_equilibria` does."""
    dealt = game.deals([])
    if dealt is None:
        raise UsageError(
            f"game {game.name!r} does not list what chance can deal, so its equilibria cannot be enumerated"
        )
    seen: list[list[Any]] = [[] for _ in game.seats]
    choices: list[list[tuple[Action, ...]]] = [[] for _ in game.seats]
    deals, paid = [], []
    for deal, probability in dealt:
        phase = _only_phase(game, deal)
        indices = []
        for seat, name in enumerate(game.seats):
            view = game.observe(Round(0, deal), name)
            if view.deal not in seen[seat]:
                seen[seat].append(view.deal)
                choices[seat].append(_choices(game, name, phase, view))
            indices.append(seen[seat].index(view.deal))
        deals.append((probability, tuple(indices)))
        actions = [choices[seat][index] for seat, index in enumerate(indices)]
        paid.append({joint: _payoffs(game, deal, phase, joint) for joint in product(*actions)})
    return Stage(tuple(game.seats), tuple(deals), tuple(map(tuple, seen)), tuple(map(tuple, choices)), tuple(paid))


def _only_phase(game: Game, deal: object) -> Phase:
    phase = game.next_phase(Round(0, deal))
    if phase is None or set(phase.seats) != set(game.seats):
        raise UsageError(
            f"equilibria are enumerated of games in which all seats act at the same time; {game.name!r} is none"
        )
    return phase


def _choices(game: Game, seat: str, phase: Phase, view: Round) -> tuple[Action, ...]:
    request = Request(0, 0, seat, phase, view, (), (), START, None, (), 0.0)
    listed = game.choices(request)
    if not listed:
        raise UsageError(
            f"game {game.name!r} does not list the actions of {seat}, so its equilibria cannot be enumerated"
        )
    return tuple(listed)


def _payoffs(game: Game, deal: object, phase: Phase, joint: Sequence[Action]) -> tuple[float, ...]:
    acts = tuple(Act(phase.name, phase.turn, seat, action) for seat, action in zip(game.seats, joint, strict=True))
    over = Round(0, deal, acts)
    if game.next_phase(over) is not None:
        raise UsageError(f"equilibria are enumerated of games in which all seats act once; {game.name!r} is none")
    paid = game.payoffs(over)
    return tuple(paid[seat] or 0.0 for seat in game.seats)


def _joint(profile: Sequence[Plan], seen: Sequence[int]) -> tuple[Action, ...]:
    """What all do when each is shown what has this index for it."""
    return tuple(plan[index] for plan, index in zip(profile, seen, strict=True))
