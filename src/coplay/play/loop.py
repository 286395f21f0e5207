"""Play: one loop for every game, many tables at once, every seat with its own memory and its own random streams.

Chance that belongs to the game is drawn by group: games of one group are dealt the same (common random numbers), so that their returns differ by
what the players did alone. Names of streams are a contract: a change of them changes every published number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.play.collecting import seldom_collected
from coplay.play.in_progress import EpisodeInProgress, chance_of, make_request
from coplay.play.rules import game_errors
from coplay.play.table import StreamNames, Table
from coplay.rng import draws

__all__ = ["Asked", "RoundClock", "StreamNames", "Table", "ask_once", "chance_of", "make_request", "play_episode"]

RoundClock = Callable[[int, Sequence[Episode]], None]
"""Called after each round with the round's number, from 0, and the games so far."""


def play_episode(
    game: Game,
    tables: Sequence[Table],
    *,
    rounds: int,
    streams: StreamNames,
    retries: int = 0,
    after_round: RoundClock | None = None,
) -> list[Episode]:
    """Play one episode at every table, all tables in step, asking each player once for all its replies of a phase.

    Args:
        game: the rules.
        tables: where to play, of one seed or several; their histories grow, and a new episode begins in each.
        rounds: T, the most rounds of an episode.
        streams: names the random streams: the same names give the same games whatever else is played beside them.
        retries: how often a reply that cannot be parsed is asked for again. What stands is then no longer what the player would have replied,
            but that on condition that it can be parsed; each reply tells how many were discarded.
        after_round: called after each round; learners that update so often do it here.

    Returns:
        One complete episode a table, in order.

    Raises:
        CoplayError: if the game or a player breaks its protocol or fails, saying which and how.
    """
    playing = [EpisodeInProgress(game, table, streams, rounds=rounds) for table in tables]
    live = playing
    with seldom_collected(), game_errors(game):
        while live := [one for one in live if not one.over]:
            _deal(live)
            _play_round(live, retries)
            if after_round is not None:
                after_round(live[0].now.number, [one.episode for one in live])
    return [one.episode for one in playing]


def _deal(live: Sequence[EpisodeInProgress]) -> None:
    """Begin a round at these tables."""
    dealt: dict[tuple[int, int], tuple[float, ...]] = {}
    for one in live:
        key = (one.table.seed, one.table.group)
        if key not in dealt:
            dealt[key] = chance_of(one.game, *key, len(one.episode.rounds), one.streams)
        one.begin_round(dealt[key])


def _play_round(live: Sequence[EpisodeInProgress], retries: int) -> None:
    """Phase by phase, until the round is over at every table."""
    waiting = live
    while waiting := [one for one in waiting if one.next_phase()]:
        asked = [(one, request) for one in waiting for request in one.requests()]
        replies = _ask([(one.table.seated[request.seat], request) for one, request in asked], retries)
        for (one, request), reply in zip(asked, replies, strict=True):
            one.take(request, reply)
        for one in waiting:
            one.end_phase()


Asked = tuple[Occupant, Request]
"""Who is asked what."""


def _ask(asked: Sequence[Asked], retries: int) -> list[Reply]:
    """The reply to every request; what cannot be parsed is asked for again, so often."""
    replies = ask_once(asked)
    requests = [request for _, request in asked]
    for attempt in range(1, retries + 1):
        failed = [i for i, reply in enumerate(replies) if reply.action is None]
        if not failed:
            break
        again = [(asked[i][0], _again(requests[i], attempt)) for i in failed]
        for i, reply in zip(failed, ask_once(again), strict=True):
            replies[i] = reply._replace(retries=attempt)
    return replies


def _again(request: Request, attempt: int) -> Request:
    """The same request once more, with a stream of its own."""
    path = (*request.rng_path, "again", attempt)
    return replace(request, rng_path=path, draw=float(draws(request.seed, "play", *path, n=1)[0]), attempt=attempt)


def ask_once(asked: Sequence[Asked]) -> list[Reply]:
    """Ask each player for all its replies in one call, players in the order in which they come up; those of a shared engine in one call too."""
    places: dict[int, list[int]] = {}
    for i, (occupant, _) in enumerate(asked):
        places.setdefault(id(occupant.player), []).append(i)
    engines: dict[int, list[list[int]]] = {}
    for player_id, own in places.items():
        engine = getattr(asked[own[0]][0].player, "shared_engine", None)
        engines.setdefault(player_id if engine is None else id(engine), []).append(own)
    replies: dict[int, Reply] = {}
    for together in engines.values():
        players = [(asked[own[0]][0].player, tuple(asked[i][1] for i in own)) for own in together]
        first = players[0][0]
        answers = first.shared_engine.answer(players) if len(players) > 1 else [first.act(players[0][1])]
        for own, (player, requests), given in zip(together, players, answers, strict=True):
            if len(given) != len(own):
                where = f"player {player.name!r} ({requests[0].seat}, round {requests[0].now.number + 1})"
                raise CoplayError(f"{where} gave {len(given)} replies to {len(own)} requests")
            replies.update(zip(own, given, strict=True))
    return [replies[i] for i in range(len(asked))]
