"""How a player does against pools of co-players: the measures of SEPO's tables, beside what a best response gets from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from coplay.evaluation.safety import NAMES, SafetySummary
from coplay.evaluation.safety_played import measure_safety, safety_tables
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.games.safety import Weights
from coplay.play.loop import StreamNames
from coplay.players.named import make_player
from coplay.runs.pools import Pools
from coplay.terminal.tables import align
from coplay.text.rendering import counted

EPISODES = 20
"""Games against each co-player (SEPO, section 4)."""

STREAMS = StreamNames(("exploit", "pools"))
"""What the games' random streams are called."""


def measure_pools(
    game: Game,
    seated: Mapping[str, Occupant],
    pools: Pools,
    weights: Weights,
    *,
    rounds: int,
    episodes: int = EPISODES,
    seed: int = 0,
) -> SafetySummary:
    """Play a player against every co-player of every pool, in the seats that it can sit in, in turn.

    Args:
        game: the rules; they say what cooperation pays, what is fair and what does harm.
        seated: the player in each of its seats.
        pools: the co-players.
        weights: the objective's.
        rounds: rounds of a game.
        episodes: games against each co-player.
        seed: of the games.
    """
    co_players = {pool: [_co_player(name, pool, game) for name in members] for pool, members in pools.all.items()}
    tables = safety_tables(game, seated.__getitem__, co_players, seats=list(seated), seed=seed, episodes=episodes)
    found = measure_safety(
        game, tables, is_player=lambda occupant: not occupant.pool, rounds=rounds, weights=weights, streams=STREAMS
    )
    return found[seed]


def pools_table(found: SafetySummary, *, episodes: int) -> str:
    """The measures as text for a person; payoffs in the game's points per round."""
    named = {words: found[name] for name, words in NAMES.items()}  # type: ignore[literal-required]
    rows = [[name, "-" if value is None else f"{value + 0.0:.3f}"] for name, value in named.items()]
    against = [[one["pool"], one["name"], f"{one['own']:.2f}", f"{one['theirs']:.2f}"] for one in found["against"]]
    head = f"against scripted pools, {counted(episodes, 'episode')} a co-player:"
    return "\n".join([head, *align(rows), "", *align([["pool", "co-player", "own", "theirs"], *against])])


def _co_player(name: str, pool: str, game: Game) -> Callable[[str], Occupant]:
    @lru_cache
    def occupant(seat: str) -> Occupant:
        player = make_player(name, game, seat)
        return Occupant(player, player.name, pool=pool)

    return occupant
