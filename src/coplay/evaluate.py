"""Evaluation: let two players meet many times and sum up what happened.

The summary is the contract of ``coplay eval --json``. Two rules come from ShapeLLM (section 5.1): rounds in which either reply was
illegal are left out of the average payoffs, and in the state shares they are the state ``I``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.evaluation import VERSION, Aggregate, SeatSummary, Summary, aggregate
from coplay.games.matrix import COLUMN, ROW, SEATS, Joint, MatrixGame
from coplay.play import Table, play_episode
from coplay.players.base import Player
from coplay.stats import mean_ci95
from coplay.tables import seeds_table, table
from coplay.types import Episode

# with the form and the tables, so that a user needs one import
__all__ = [
    "OCCASION",
    "Aggregate",
    "MatchResult",
    "Summary",
    "aggregate",
    "evaluate_seeds",
    "legal_payoffs",
    "match",
    "match_seeds",
    "meet",
    "seeds_table",
    "summary",
    "table",
]

OCCASION = ("eval",)
"""What an evaluation is called within its seed; see :func:`coplay.play.play_episode`."""


@dataclass(frozen=True)
class MatchResult:
    """The complete games of one match."""

    game: MatrixGame
    """The rules."""
    players: dict[str, str]
    """Each seat's player, by name."""
    rounds: int
    """Rounds of a game."""
    episodes: list[Episode]
    """The games, in order."""


def match(game: MatrixGame, players: Mapping[str, Player], *, rounds: int, episodes: int, seed: int) -> MatchResult:
    """Play independent games of one pair of players, all in one batch.

    Each game is the first of a trial: nothing is remembered from one to another.

    Args:
        game: the rules.
        players: the player of each seat.
        rounds: rounds of a game.
        episodes: number of games.
        seed: the seed; the same one gives the same games.

    Raises:
        UsageError: if a seat has no player, or if ``rounds`` or ``episodes`` is less than 1.

    Example:
        >>> from coplay.games import make_game
        >>> from coplay.players.scripted import make_player
        >>> ipd = make_game("ipd")
        >>> pair = {"row": make_player("tit_for_tat", ipd, "row"), "column": make_player("always_defect", ipd, "column")}
        >>> summary(match(ipd, pair, rounds=20, episodes=2, seed=0))["seats"]["row"]["total"]
        19.0
    """
    return match_seeds(game, players, seeds=[seed], rounds=rounds, episodes=episodes)[seed]


def meet(
    game: MatrixGame,
    first: Mapping[str, Player],
    second: Mapping[str, Player],
    *,
    rounds: int,
    episodes: int,
    seed: int,
) -> tuple[list[float], list[float]]:
    """What two players get per round when they meet, game by game, each played with the first as row and again with it as column.

    Both have the same chance, so they count as one: a number is the mean of the two. A player that meets itself plays them once, and has the
    mean of both seats. Where no round was legal in one of the two, there is no number.

    Args:
        game: the rules.
        first: a player, in either seat.
        second: its co-player, perhaps the same.
        rounds: rounds of a game.
        episodes: number of games for each seating.
        seed: the seed.

    Returns:
        The first's mean payoffs in legal rounds, one number a game, and the second's.
    """

    def played(row: Mapping[str, Player], column: Mapping[str, Player]) -> list[Episode]:
        pair = {ROW: row[ROW], COLUMN: column[COLUMN]}
        return match(game, pair, rounds=rounds, episodes=episodes, seed=seed).episodes

    as_row = played(first, second)
    if first is second:
        paid = _both(as_row, ROW, as_row, COLUMN)
        return paid, paid
    as_column = played(second, first)
    return _both(as_row, ROW, as_column, COLUMN), _both(as_row, COLUMN, as_column, ROW)


def _both(some: Sequence[Episode], seat: str, others: Sequence[Episode], other_seat: str) -> list[float]:
    """A player's mean payoffs in legal rounds, game by game, as the mean of what it got in two seats."""
    pairs = [(legal_payoffs(one, seat), legal_payoffs(two, other_seat)) for one, two in zip(some, others, strict=True)]
    return [(sum(own) / len(own) + sum(also) / len(also)) / 2 for own, also in pairs if own and also]


def match_seeds(
    game: MatrixGame, players: Mapping[str, Player], *, seeds: Sequence[int], rounds: int, episodes: int
) -> dict[int, MatchResult]:
    """Play the matches of several seeds in one batch; each is what :func:`match` gives for its seed alone."""
    _check(players, rounds, episodes)
    tables = [Table(game, seed, index) for seed in dict.fromkeys(seeds) for index in range(episodes)]
    names = {seat: players[seat].name for seat in SEATS}
    results = {seed: MatchResult(game, names, rounds, []) for seed in seeds}
    if tables:
        for episode in play_episode(tables, players, rounds=rounds, occasion=OCCASION):
            results[episode.seed].episodes.append(episode)
    return results


def evaluate_seeds(
    game: MatrixGame, players: Mapping[str, Player], *, seeds: Sequence[int], rounds: int, episodes: int
) -> dict[int, Summary]:
    """Evaluate several seeds in one batch: the summary of each, as :func:`match` and :func:`summary` give it alone.

    Players tell the seeds apart by ``view.seed``; a learner's seeds are its slots.
    """
    results = match_seeds(game, players, seeds=seeds, rounds=rounds, episodes=episodes)
    return {seed: summary(result) for seed, result in results.items()}


def summary(result: MatchResult) -> Summary:
    """Sum up a match."""
    game, episodes = result.game, result.episodes
    visited = Counter(state for episode in episodes for state in episode.states)
    played: list[Joint | None] = [*game.states, None]
    return {
        "version": VERSION,
        "game": game.name,
        "rounds": result.rounds,
        "episodes": len(episodes),
        "seats": {seat: _seat_summary(result, seat) for seat in SEATS},
        "states": {game.state_name(state): _share(visited[state], visited.total()) for state in played},
    }


def legal_payoffs(episode: Episode, seat: str) -> list[float]:
    """The payoffs of ``seat`` in the rounds in which both replies were legal."""
    turns = episode.traces[seat].turns
    return [
        turn.payoff
        for turn, state in zip(turns, episode.states, strict=True)
        if state is not None and turn.payoff is not None
    ]


def _check(players: Mapping[str, Player], rounds: int, episodes: int) -> None:
    missing = [seat for seat in SEATS if seat not in players]
    if missing:
        raise UsageError(f"seat {missing[0]!r} has no player; give one for each of {', '.join(SEATS)}")
    for name, value in (("rounds", rounds), ("episodes", episodes)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")


def _seat_summary(result: MatchResult, seat: str) -> SeatSummary:
    payoffs = [legal_payoffs(episode, seat) for episode in result.episodes]
    means = [sum(own) / len(own) for own in payoffs if own]
    interval = mean_ci95(means) if means else None
    replies = [turn.move.action for episode in result.episodes for turn in episode.traces[seat].turns]
    counts = Counter(replies)
    legal = len(replies) - counts[None]
    return {
        "player": result.players[seat],
        "total": mean_ci95([sum(own) for own in payoffs]).mean,
        "per_round": interval.mean if interval else None,
        "ci95": (interval.half_width or 0.0) if interval else 0.0,
        "actions": {action: _share(counts[action], legal) for action in result.game.actions[seat]},
        "illegal": _share(counts[None], len(replies)),
    }


def _share(part: int, whole: int) -> float:
    """``part / whole``, and 0 of nothing."""
    return part / whole if whole else 0.0
