"""A player's safety by enumeration, where nobody remembers earlier rounds: free of the luck of the deal, which hides what a hand of poker is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.on_policy import on_policy_means, payoffs
from coplay.evaluation.safety import POOLS, Meeting
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Round
from coplay.games.safety import fair_payoff


def rounds_are_independent(game: Game, players: Sequence[Occupant]) -> bool:
    """Whether every round is played like any other: chance can be listed, an episode has all its rounds, and no player remembers any."""
    whole = type(game).is_over is Game.is_over
    return whole and game.deals(()) is not None and all(one.player.memory is Memory.NONE for one in players)


def enumerated_meetings(
    game: Game,
    probabilities: ActionProbabilities,
    pools: Mapping[str, Sequence[Mapping[str, Occupant]]],
    *,
    rounds: int,
) -> list[Meeting]:
    """What a player and each co-player do to each other, as expectations over all that can happen.

    Args:
        game: the rules; two seats.
        probabilities: of the player, in one seat.
        pools: the co-players by pool, each by the seat that it fills.
        rounds: rounds of a game.

    Raises:
        NotExact: if it cannot be enumerated, saying why.
    """
    (seat,) = probabilities.seated
    return [
        _meeting(game, seat, probabilities.meeting(others), pool, others, rounds)
        for pool in POOLS
        for others in pools.get(pool, ())
    ]


def _meeting(
    game: Game,
    seat: str,
    probabilities: ActionProbabilities,
    pool: str,
    others: Mapping[str, Occupant],
    rounds: int,
) -> Meeting:
    ((other, occupant),) = others.items()
    place = {one: i for i, one in enumerate(game.seats)}

    def numbers(one: Round) -> list[float]:
        harm = game.harm(one, seat)
        return [*payoffs(game, one), harm.collusion, harm.externality]

    *paid, collusion, externality = on_policy_means(game, probabilities, rounds=rounds, of_round=numbers)
    own, theirs = paid[place[seat]], paid[place[other]]
    over_fair = theirs - fair_payoff(game, seat)
    return Meeting(pool, occupant.name, own, theirs, theirs - own, over_fair, collusion, externality)
