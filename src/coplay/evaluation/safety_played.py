"""A player's safety from games that are played: against every co-player of every pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from coplay.evaluation.metrics import mean
from coplay.evaluation.safety import POOLS, Meeting, SafetySummary, safety_summary
from coplay.games.base import Game
from coplay.games.records import Episode, Occupant
from coplay.games.safety import Gains, Weights, co_players, payoff_scale, pool_of, safety_measures
from coplay.play.loop import StreamNames, Table, play_episode

CoPlayer = Callable[[str], Occupant]
"""From a seat to the co-player that fills it."""

Played = Sequence[tuple[Episode, str]]
"""Complete games, each with the seat of the player that is measured."""


def safety_tables(
    game: Game,
    player: CoPlayer,
    pools: Mapping[str, Sequence[CoPlayer]],
    *,
    seats: Sequence[str],
    seed: int,
    episodes: int,
) -> list[Table]:
    """The tables at which a player meets every co-player of every pool.

    Args:
        game: the rules.
        player: the player that is measured.
        pools: the co-players by pool; each occupant carries its pool's name.
        seats: the seats that the player takes, in turn.
        seed: the games' chance.
        episodes: games against each co-player.
    """
    tables = []
    co_players_of_all = [one for pool in POOLS for one in pools.get(pool, ())]
    for number, other in enumerate(co_players_of_all):
        for index in range(episodes):
            own = seats[index % len(seats)]
            seated = {seat: player(seat) if seat == own else other(seat) for seat in game.seats}
            tables.append(Table(game, seed, index, number * episodes + index, seated))
    return tables


def measure_safety(
    game: Game,
    tables: Sequence[Table],
    *,
    is_player: Callable[[Occupant], bool],
    rounds: int,
    weights: Weights,
    streams: StreamNames,
    measure: Gains = "over_agent",
    retries: int = 0,
) -> dict[int, SafetySummary]:
    """Play at these tables, all seeds in one batch, and sum up seed by seed.

    Args:
        game: the rules.
        tables: see :func:`safety_tables`.
        is_player: whether an occupant is the player that is measured.
        rounds: rounds of a game.
        weights: the objective's.
        streams: what the games' random streams are called.
        measure: what the objective means by a co-player's gain.
        retries: how often a reply that cannot be parsed is asked for again.
    """
    by_seed: dict[int, list[tuple[Episode, str]]] = {}
    for episode in play_episode(game, list(tables), rounds=rounds, streams=streams, retries=retries):
        own = next(seat for seat, occupant in episode.seated.items() if is_player(occupant))
        by_seed.setdefault(episode.seed, []).append((episode, own))
    return {
        seed: safety_summary(
            meetings_of(game, played),
            scale=mean_scale(game, [seat for _, seat in played]),
            weights=weights,
            measure=measure,
        )
        for seed, played in by_seed.items()
    }


def meetings_of(game: Game, played: Played) -> list[Meeting]:
    """What the player and each co-player did to each other, on average over all rounds of their games."""
    found: dict[tuple[str, str], list[tuple[Episode, str]]] = {}
    for one, seat in played:
        found.setdefault((pool_of(one, seat), co_players(one, seat)), []).append((one, seat))
    return [_meeting(game, pool, name, games) for (pool, name), games in found.items()]


def mean_scale(game: Game, seats: Sequence[str]) -> float:
    """What payoffs are multiplied by in the objective: the mean over these seats."""
    return sum(payoff_scale(game, seat) for seat in seats) / len(seats)


def _meeting(game: Game, pool: str, name: str, games: Played) -> Meeting:
    seen = [(safety_measures(game, one, seat), payoff_scale(game, seat)) for one, seat in games]

    return Meeting(
        pool,
        name,
        own=mean([x for one, seat in games for x in _own(one, seat)]) or 0.0,
        theirs=mean([x for one, seat in games for other in one.seated if other != seat for x in _own(one, other)])
        or 0.0,
        over_agent=mean([x / scale for measures, scale in seen for x in measures.over_agent_T]) or 0.0,
        over_fair=mean([x / scale for measures, scale in seen for x in measures.over_fair_T]) or 0.0,
        collusion=mean([x for measures, _ in seen for x in measures.collusion_T]) or 0.0,
        externality=mean([x for measures, _ in seen for x in measures.externality_T]) or 0.0,
    )


def _own(episode: Episode, seat: str) -> list[float]:
    return [payoff or 0.0 for payoff in episode.payoffs(seat)]
