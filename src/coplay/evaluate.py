"""Evaluation: let two players meet many times and sum up what happened.

The summary is the contract of ``coplay eval --json``. Two rules come from ShapeLLM (section 5.1): rounds in which either reply was
illegal are left out of the average payoffs, and in the state shares they are the state ``I``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from coplay.errors import UsageError
from coplay.games.matrix import COLUMN, ROW, SEATS, Joint, MatrixGame
from coplay.play import Table, play_episode
from coplay.players.base import Player
from coplay.stats import Interval, mean_ci95
from coplay.types import Episode

VERSION = 1
"""Version of the summary's form."""

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


class SeatSummary(TypedDict):
    """What one seat did and got."""

    player: str
    """Name of its player."""
    total: float
    """Mean over episodes of its payoffs summed over the rounds in which both replies were legal."""
    per_round: float | None
    """Mean over episodes of its mean payoff in those rounds; None if there were none at all."""
    ci95: float
    """Half-width of the 95% t-interval of ``per_round`` over episodes. 0 if all are equal, and if there is but one."""
    actions: dict[str, float]
    """Share of each action among its legal replies."""
    illegal: float
    """Share of illegal replies among its replies."""


class Summary(TypedDict):
    """What ``coplay eval --json`` prints."""

    version: int
    """Version of this form."""
    game: str
    """Name of the game."""
    rounds: int
    """Rounds of an episode."""
    episodes: int
    """Number of episodes."""
    seats: dict[str, SeatSummary]
    """One entry a seat."""
    states: dict[str, float]
    """Share of each joint action (``CD``: row's label first) among all rounds; ``I`` for rounds with an illegal reply."""


class Estimate(TypedDict):
    """A mean over seeds."""

    mean: float
    """Mean over seeds."""
    ci95: float | None
    """Half-width of the 95% t-interval over seeds; None for a single seed."""
    n: int
    """Number of seeds."""


class SeatEstimate(TypedDict):
    """What one seat did and got, over seeds."""

    player: str
    """Name of its player."""
    total: Estimate
    """See :class:`SeatSummary`."""
    per_round: Estimate | None
    """See :class:`SeatSummary`. Seeds without a single legal round are left out; None if no seed is left."""
    actions: dict[str, Estimate]
    """See :class:`SeatSummary`."""
    illegal: Estimate
    """See :class:`SeatSummary`."""


class Aggregate(TypedDict):
    """A summary over seeds: :class:`Summary` with every number replaced by its mean over seeds and the interval of that mean.

    This is the form of a run's ``eval.json``.
    """

    version: int
    """Version of this form."""
    game: str
    """Name of the game."""
    rounds: int
    """Rounds of an episode."""
    episodes: int
    """Number of episodes of each seed."""
    seeds: dict[str, Summary]
    """The summary of each seed."""
    seats: dict[str, SeatEstimate]
    """One entry a seat."""
    states: dict[str, Estimate]
    """See :class:`Summary`."""


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


def aggregate(summaries: Mapping[int, Summary]) -> Aggregate:
    """Sum up over seeds: the mean of each number and its 95% t-interval, one value a seed.

    The intervals of the summaries themselves (over episodes of one seed) are not used: the seed is the unit of replication.

    Raises:
        ValueError: if there are no summaries.
    """
    if not summaries:
        raise ValueError("there is nothing to aggregate: no summaries were given")
    every = list(summaries.values())
    first = every[0]
    return {
        "version": VERSION,
        "game": first["game"],
        "rounds": first["rounds"],
        "episodes": first["episodes"],
        "seeds": {str(seed): one for seed, one in summaries.items()},
        "seats": {seat: _seat_estimate([one["seats"][seat] for one in every]) for seat in first["seats"]},
        "states": {state: _estimate([one["states"][state] for one in every]) for state in first["states"]},
    }


def table(report: Summary) -> str:
    """The summary of one match as text for a person."""
    rows = [_summary_row(seat, s, report["episodes"]) for seat, s in report["seats"].items()]
    return _table(_head(report) + "; ± is the 95% interval over episodes", rows, report["states"])


def seeds_table(report: Aggregate) -> str:
    """The summary over seeds as text for a person."""
    head = f"{_head(report)} x {len(report['seeds'])} seeds; ± is the 95% interval over seeds"
    rows = [_estimate_row(seat, s) for seat, s in report["seats"].items()]
    return _table(head, rows, {state: estimate["mean"] for state, estimate in report["states"].items()})


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


def _seat_estimate(every: Sequence[SeatSummary]) -> SeatEstimate:
    per_round = [one["per_round"] for one in every if one["per_round"] is not None]
    return {
        "player": every[0]["player"],
        "total": _estimate([one["total"] for one in every]),
        "per_round": _estimate(per_round) if per_round else None,
        "actions": {action: _estimate([one["actions"][action] for one in every]) for action in every[0]["actions"]},
        "illegal": _estimate([one["illegal"] for one in every]),
    }


def _estimate(values: Sequence[float]) -> Estimate:
    interval = mean_ci95(values)
    return {"mean": interval.mean, "ci95": interval.half_width, "n": interval.n}


def _head(report: Summary | Aggregate) -> str:
    return f"{report['game']}, {report['rounds']} rounds, {report['episodes']} episodes"


def _table(head: str, rows: Sequence[Sequence[str]], states: Mapping[str, float]) -> str:
    columns = ["seat", "player", "per round", "total", "illegal", "actions"]
    return "\n".join([head, "", *align([columns, *rows]), "", "states  " + _shares(states)])


def _summary_row(seat: str, s: SeatSummary, episodes: int) -> list[str]:
    ci95 = s["ci95"] if episodes > 1 else None
    per_round = "-" if s["per_round"] is None else str(Interval(s["per_round"], ci95, episodes))
    return [seat, s["player"], per_round, f"{s['total']:.2f}", f"{s['illegal']:.1%}", _shares(s["actions"])]


def _estimate_row(seat: str, s: SeatEstimate) -> list[str]:
    per_round = "-" if s["per_round"] is None else _written(s["per_round"])
    shares = _shares({action: estimate["mean"] for action, estimate in s["actions"].items()})
    return [seat, s["player"], per_round, _written(s["total"]), f"{s['illegal']['mean']:.1%}", shares]


def _written(estimate: Estimate) -> str:
    return str(Interval(estimate["mean"], estimate["ci95"], estimate["n"]))


def _shares(shares: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {share:.1%}" for name, share in shares.items())


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table as text: every column padded to its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
