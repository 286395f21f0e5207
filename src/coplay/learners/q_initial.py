"""What a Q-learner's values are at the start: constant, or the payoffs against co-players that choose uniformly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from coplay.errors import UsageError
from coplay.games.base import Game
from coplay.games.memory import START
from coplay.games.records import Act, Action, Phase, Request, Round

MOST_ENDINGS = 200_000
"""Ways in which a round may go of which the mean is taken."""


def values_against_uniform(game: Game, seat: str, *, discount: float) -> tuple[float, ...]:
    """Each choice's payoff, for ever, if all other seats choose uniformly: ``Q_0(s, a) = E[r | a] / (1 - gamma)``, the same in every state.

    (Calvano et al., 2020, equation 8; docs/theory/bertrand.md.) The first round stands for all.

    Args:
        game: the rules; every request of a round lists its choices, and the seat has one in a round.
        seat: whose values they are.
        discount: gamma, below 1.

    Raises:
        UsageError: if the game's rounds are too many or too open to be listed.
    """
    deals = game.deals(())
    if deals is None:
        raise _refused(game, "what chance deals in it cannot be listed")
    total: dict[int, float] = {}
    weight: dict[int, float] = {}
    for i, (deal, likely) in enumerate(deals):
        if i >= MOST_ENDINGS:
            raise _refused(game, f"a round can go in more than {MOST_ENDINGS:,} ways")
        for own, payoff, probability in _endings(game, seat, Round(0, deal)):
            total[own] = total.get(own, 0.0) + likely * probability * payoff
            weight[own] = weight.get(own, 0.0) + likely * probability
    return tuple(total[own] / weight[own] / (1.0 - discount) for own in sorted(total))


def _endings(game: Game, seat: str, start: Round) -> Iterator[tuple[int, float, float]]:
    """Every way in which a round may go: the seat's choice by number, its payoff, and how likely it is."""
    waiting: list[tuple[Round, int | None, float]] = [(start, None, 1.0)]
    ended = 0
    while waiting:
        now, own, probability = waiting.pop()
        phase = game.next_phase(now)
        if phase is None:
            payoff = game.payoffs(now)[seat]
            if own is None or payoff is None:
                raise _refused(game, f"{seat} has rounds in which it does not choose or is not paid")
            ended += 1
            yield own, payoff, probability
            continue
        listed = {one: _choices(game, now, phase, one) for one in phase.seats}
        ways = prod(map(len, listed.values()))
        if ended + len(waiting) + ways > MOST_ENDINGS:
            raise _refused(game, f"a round can go in more than {MOST_ENDINGS:,} ways")
        if own is not None and seat in listed:
            raise _refused(game, f"{seat} chooses more than once in a round")
        waiting += [
            _step(now, phase, listed, numbers, seat, own, probability / ways)
            for numbers in product(*map(range, map(len, listed.values())))
        ]


def _step(
    now: Round,
    phase: Phase,
    listed: Mapping[str, list[Action]],
    numbers: tuple[int, ...],
    seat: str,
    own: int | None,
    probability: float,
) -> tuple[Round, int | None, float]:
    """The round after one combination of choices."""
    chosen = dict(zip(listed, numbers, strict=True))
    acts = tuple(Act(phase.name, phase.turn, one, listed[one][i]) for one, i in chosen.items())
    return Round(now.number, now.deal, (*now.acts, *acts)), chosen.get(seat, own), probability


def _choices(game: Game, now: Round, phase: Phase, seat: str) -> list[Action]:
    request = Request(
        seed=0,
        game=0,
        seat=seat,
        phase=phase,
        now=game.observe(now, seat),
        past=(),
        own=(),
        observation=START,
        slot=None,
        rng_path=(),
        draw=0.0,
    )
    choices = game.choices(request)
    if not choices:
        raise _refused(game, f"phase {phase.name!r} lists no choices for {seat}")
    return list(choices)


def _refused(game: Game, why: str) -> UsageError:
    return UsageError(
        f"initial_values=against_uniform does not fit game {game.name!r}: {why}. Use initial_values=constant"
    )
