"""What two players get from each other, in every seat: the games of a cross-play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coplay.evaluation.at_once import AtOnce, Lineup, Moves
from coplay.evaluation.cross_play import Meetings, Payoffs
from coplay.evaluation.match import STREAMS, MatchResult, loop_match
from coplay.games.base import Game
from coplay.games.records import Occupant

Seated = Mapping[str, Occupant]
"""Who sits in each seat."""


@dataclass(frozen=True)
class Pair:
    """Two players who are to meet."""

    first: Seated
    """A player, in any seat."""
    second: Seated
    """Its co-player; the same object if it meets itself."""
    seed: int
    """The seed of their games."""

    def lineups(self, seats: Sequence[str]) -> list[Seated]:
        """Each alone in one seat with the other in all others, in turn for every seat; of two seats each way is both's."""
        if self.first is self.second:
            return [self.first]
        found = [_alone(seat, self.first, self.second) for seat in seats]
        return found if len(seats) == 2 else [*found, *(_alone(seat, self.second, self.first) for seat in seats)]


def _alone(seat: str, one: Seated, others: Seated) -> Seated:
    return {**others, seat: one[seat]}


def meetings_of(
    game: Game,
    occupant: Callable[[int, int, str], Occupant],
    *,
    rounds: int,
    episodes: int,
    seed: Callable[[int], int],
) -> Meetings:
    """The meetings of a cross-play.

    Args:
        game: the rules.
        occupant: from a player's number, the replicate and a seat to who sits there.
        rounds: rounds of a game.
        episodes: number of games for each seating.
        seed: from the replicate to the seed of its games.
    """

    def play(asked: Sequence[tuple[int, int, int]]) -> Iterable[Payoffs]:
        known: dict[tuple[int, int], Seated] = {}
        for first, second, replicate in asked:
            for one in (first, second):
                if (one, replicate) not in known:
                    known[one, replicate] = {seat: occupant(one, replicate, seat) for seat in game.seats}
        pairs = [Pair(known[i, replicate], known[j, replicate], seed(replicate)) for i, j, replicate in asked]
        return meetings(game, pairs, rounds=rounds, episodes=episodes)

    return play


def meetings(game: Game, pairs: Sequence[Pair], *, rounds: int, episodes: int, retries: int = 0) -> Iterator[Payoffs]:
    """What pairs of players get per round from each other; see :func:`swapped_payoffs`. Games that can be are played together, of all pairs."""
    at_once = AtOnce(game, rounds=rounds, streams=STREAMS)
    together = at_once.play(
        Lineup(seated, pair.seed, episodes)
        for pair in pairs
        for seated in pair.lineups(game.seats)
        if at_once.covers(seated)
    )

    def games(seated: Seated, seed: int) -> MatchResult | Moves:
        if at_once.covers(seated):
            return next(together)
        return loop_match(game, seated, rounds=rounds, episodes=episodes, seed=seed, retries=retries)

    for pair in pairs:
        yield _payoffs(game.seats, [games(seated, pair.seed) for seated in pair.lineups(game.seats)])


def swapped_payoffs(
    game: Game,
    first: Seated,
    second: Seated,
    *,
    rounds: int,
    episodes: int,
    seed: int,
    retries: int = 0,
) -> Payoffs:
    """What two players get per round from each other, game by game: each alone in one seat with the other in all others, in turn for every seat.

    The games of all seatings have the same chance, so they count as one: a number is the mean over them. In games of two seats that is each
    pair once with seats swapped. A player that meets itself plays them once, and has the mean of all seats. Where every round is void in one of
    them, there is no number.

    Args:
        game: the rules.
        first: a player, in any seat.
        second: its co-player, perhaps the same.
        rounds: rounds of a game.
        episodes: number of games for each seating.
        seed: the seed.
        retries: how often a reply that cannot be parsed is asked for again.

    Returns:
        What the first gets alone among seconds, one number a game, and what the second gets alone among firsts.
    """
    pairs = [Pair(first, second, seed)]
    return next(meetings(game, pairs, rounds=rounds, episodes=episodes, retries=retries))


def _payoffs(seats: Sequence[str], played: Sequence[MatchResult | Moves]) -> Payoffs:
    """What both players get, from the games of :meth:`Pair.lineups`."""
    if len(played) == 1:
        paid = _means([played[0].payoffs(seat) for seat in seats])
        return paid, paid
    forth = list(zip(seats, played, strict=False))
    back = (
        [(seats[1], played[0]), (seats[0], played[1])]
        if len(seats) == 2
        else zip(seats, played[len(seats) :], strict=True)
    )
    return _means([games.payoffs(seat) for seat, games in forth]), _means([games.payoffs(seat) for seat, games in back])


def _means(sides: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """Mean payoffs per round that counts, game by game, as the mean over sides, each of which has what it was paid in every game."""
    means = [[sum(own) / len(own) if own else None for own in paid] for paid in sides]
    return [sum(same) / len(same) for same in zip(*means, strict=True) if None not in same]
