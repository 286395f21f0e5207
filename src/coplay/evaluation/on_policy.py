"""What players that do not learn get from each other, by enumeration instead of sampling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.pasts import Past, merged
from coplay.evaluation.round_tree import grow
from coplay.games.base import Game
from coplay.games.records import Round
from coplay.play.rules import game_errors


def on_policy_values(game: Game, probabilities: ActionProbabilities, *, rounds: int) -> dict[str, float]:
    """What each of the players gets per round from the others.

    Exact where both tell their probabilities; of sampled replies the estimate has no bias.

    Args:
        game: the rules, with chance and choices that can be listed.
        probabilities: of the players in all seats.
        rounds: T, the most rounds of an episode. Rounds that are void, or not played as the episode is over, pay nothing.

    Raises:
        NotExact: if the values cannot be enumerated, saying why.
    """
    found = on_policy_means(game, probabilities, rounds=rounds, of_round=lambda one: payoffs(game, one))
    return dict(zip(game.seats, found, strict=True))


def payoffs(game: Game, of_round: Round) -> list[float]:
    """What a round paid each seat; 0 where it was void."""
    return [float((of_round.payoffs or {}).get(seat) or 0.0) for seat in game.seats]


def on_policy_means(
    game: Game, probabilities: ActionProbabilities, *, rounds: int, of_round: Callable[[Round], Sequence[float]]
) -> list[float]:
    """The expected mean over rounds of some numbers of each round, if the players meet.

    Args:
        game: as for :func:`on_policy_values`.
        probabilities: likewise.
        rounds: likewise.
        of_round: the numbers of a round that is over, always as many.

    Raises:
        NotExact: if they cannot be enumerated, saying why.
    """
    with game_errors(game):
        return [total / rounds for total in _totals(game, probabilities, rounds, of_round)]


def _totals(
    game: Game, probabilities: ActionProbabilities, rounds: int, of_round: Callable[[Round], Sequence[float]]
) -> list[float]:
    totals: list[float] = []
    pasts: dict[Hashable, Past] = {(): Past.start(game)}
    reached: dict[Hashable, float] = {(): 1.0}
    size = 0
    for number in range(rounds):
        live = {key: past for key, past in pasts.items() if number == 0 or not game.is_over(past.rounds)}
        tree = grow(game, list(live.values()), number, probabilities, free=None, before=size)
        size, before, reached, pasts = tree.size, reached, {}, {}
        for key, ends in zip(live, tree.ends, strict=True):
            for end in ends:
                assert end.after is not None
                probability = before[key] * end.reach[2]
                numbers = of_round(end.after.rounds[-1])
                totals = [a + probability * b for a, b in zip(totals or [0.0] * len(numbers), numbers, strict=True)]
                if number + 1 == rounds:
                    continue
                state = tuple(end.after.remembered(seat, probabilities.seated[seat]) for seat in game.seats)
                merged(pasts, state, end.after)
                reached[state] = reached.get(state, 0.0) + probability
    return totals
