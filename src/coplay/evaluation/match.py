"""Evaluation: let players play many games and sum up what happened.

The summary is the contract of ``coplay eval --json``. Two rules come from ShapeLLM (section 5.1): rounds that are void (a reply was illegal) are
left out of the average payoffs, and in the state shares they are the state ``I``. In games without void rounds every round counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coplay.errors import CoplayError, UsageError
from coplay.evaluation.mediation import mediation_of
from coplay.evaluation.summary import VERSION, SeatSummary, Summary
from coplay.games.base import Game
from coplay.games.records import Episode, EpisodeRecord, Occupant
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.play.records import episode_record
from coplay.play.rows import GAME_COLUMNS, game_rows
from coplay.play.rules import game_errors
from coplay.statistics import Interval, mean_ci95
from coplay.terminal.tables import frame

if TYPE_CHECKING:
    import pandas

STREAMS = StreamNames(("eval",))
"""What an evaluation's random streams are called."""


@dataclass(frozen=True)
class MatchResult:
    """The complete games of one match."""

    game: Game
    """The rules."""
    players: dict[str, str]
    """Each seat's player, by name."""
    rounds: int
    """Rounds of a game."""
    episodes: list[Episode]
    """The games, in order."""

    def summary(self) -> Summary:
        """What happened, in numbers."""
        return summarise(self)

    def table(self) -> str:
        """What happened, as text for a person."""
        from coplay.evaluation.tables import table

        return table(self.summary())

    def to_dict(self) -> dict[str, object]:
        """The summary as plain data."""
        return dict(self.summary())

    def records(self) -> list[EpisodeRecord]:
        """The games in the form of ``episodes.jsonl``."""
        return [episode_record(self.game, one, step=1, number=1) for one in self.episodes]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each game, round and seat, with :data:`coplay.play.rows.GAME_COLUMNS`; needs pandas."""
        return frame(game_rows(self.records()), GAME_COLUMNS)

    def __repr__(self) -> str:
        """Who played what, without the games themselves."""
        names = ", ".join(f"{seat}={name!r}" for seat, name in self.players.items())
        return f"MatchResult({self.game.name!r}, {names}, rounds={self.rounds}, episodes={len(self.episodes)})"


def play_match(
    game: Game, seated: Mapping[str, Occupant], *, rounds: int, episodes: int, seed: int, retries: int = 0
) -> MatchResult:
    """Play independent games of the same players, all in one batch; the same seed deals the same games, whoever plays them.

    Each game is the first of a trial: nothing is remembered from one to another.

    Args:
        game: the rules.
        seated: who sits in each seat.
        rounds: most rounds of a game.
        episodes: number of games.
        seed: the seed; the same one gives the same games.
        retries: how often a reply that cannot be parsed is asked for again.

    Raises:
        UsageError: if a seat has no player, or if ``rounds`` or ``episodes`` is less than 1.
    """
    missing = [seat for seat in game.seats if seat not in seated]
    if missing:
        raise UsageError(f"seat {missing[0]!r} has no player; give one for each of {', '.join(game.seats)}")
    for name, value in (("rounds", rounds), ("episodes", episodes)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, got {value}")
    tables = [Table(game, seed, index, index, seated) for index in range(episodes)]
    played = play_episode(game, tables, rounds=rounds, streams=STREAMS, retries=retries)
    return MatchResult(game, {seat: seated[seat].name for seat in game.seats}, rounds, played)


def evaluate_tables(game: Game, tables: Sequence[Table], *, rounds: int, retries: int = 0) -> dict[int, Summary]:
    """Play one game at every table, all seeds in one batch, and sum up seed by seed."""
    return {seed: summarise(one) for seed, one in play_tables(game, tables, rounds=rounds, retries=retries).items()}


def play_tables(game: Game, tables: Sequence[Table], *, rounds: int, retries: int = 0) -> dict[int, MatchResult]:
    """Play one game at every table, all seeds in one batch; a match a seed."""
    by_seed: dict[int, list[Episode]] = {table.seed: [] for table in tables}
    for episode in play_episode(game, tables, rounds=rounds, streams=STREAMS, retries=retries):
        by_seed[episode.seed].append(episode)
    found = {}
    for seed, episodes in by_seed.items():
        names = {seat: " or ".join(dict.fromkeys(e.seated[seat].name for e in episodes)) for seat in game.seats}
        found[seed] = MatchResult(game, names, rounds, episodes)
    return found


def swapped_payoffs(
    game: Game,
    first: Mapping[str, Occupant],
    second: Mapping[str, Occupant],
    *,
    rounds: int,
    episodes: int,
    seed: int,
    retries: int = 0,
) -> tuple[list[float], list[float]]:
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
    seats = game.seats

    def played(seated: Mapping[str, Occupant]) -> list[Episode]:
        return play_match(game, seated, rounds=rounds, episodes=episodes, seed=seed, retries=retries).episodes

    def alone(one: Mapping[str, Occupant], others: Mapping[str, Occupant]) -> dict[str, list[Episode]]:
        return {seat: played({s: (one if s == seat else others)[s] for s in seats}) for seat in seats}

    if first is second:
        once = played(first)
        paid = _means([(once, seat) for seat in seats])
        return paid, paid
    forth = alone(first, second)
    back = {seats[1]: forth[seats[0]], seats[0]: forth[seats[1]]} if len(seats) == 2 else alone(second, first)
    paid_first, paid_second = (_means([(games, seat) for seat, games in way.items()]) for way in (forth, back))
    return paid_first, paid_second


def _means(sides: Sequence[tuple[Sequence[Episode], str]]) -> list[float]:
    """Mean payoffs per round that counts, game by game, as the mean over sides: (the games, the seat)."""
    found = []
    for same in zip(*(games for games, _ in sides), strict=True):
        paid = [counted(episode, seat) for episode, (_, seat) in zip(same, sides, strict=True)]
        if all(paid):
            found.append(sum(sum(own) / len(own) for own in paid) / len(paid))
    return found


def mean_payoff(episode: Episode, seat: str) -> float | None:
    """What ``seat`` gets per round, rounds that are void left out; None if all are."""
    paid = counted(episode, seat)
    return sum(paid) / len(paid) if paid else None


def counted(episode: Episode, seat: str) -> list[float]:
    """The payoffs of ``seat`` in the rounds that are not void."""
    pairs = zip(episode.payoffs(seat), episode.outcomes, strict=True)
    return [payoff for payoff, outcome in pairs if payoff is not None and not outcome.void]


def summarise(result: MatchResult) -> Summary:
    """Sum up a match; raises CoplayError if the game fails at it, or pays so much that sums are not finite."""
    with game_errors(result.game):
        return _summary(result)


def _summary(result: MatchResult) -> Summary:
    game, episodes = result.game, result.episodes
    met = Counter(game.state_name(outcome) for episode in episodes for outcome in episode.outcomes)
    found: Summary = {
        "version": VERSION,
        "game": game.name,
        "rounds": result.rounds,
        "episodes": len(episodes),
        "seats": {seat: _seat_summary(result, i, seat) for i, seat in enumerate(game.seats)},
        "states": {state: _share(met[state], met.total()) for state in dict.fromkeys([*game.state_names(), *met])},
    }
    mediation = mediation_of(game, episodes)
    if mediation is not None:
        found["mediation"] = mediation
    return found


def _seat_summary(result: MatchResult, index: int, seat: str) -> SeatSummary:
    game, episodes = result.game, result.episodes
    payoffs = [counted(episode, seat) for episode in episodes]
    means = [sum(own) / len(own) for own in payoffs if own]
    total = _interval(game, seat, [sum(own) for own in payoffs])
    interval = _interval(game, seat, means) if means else None
    replies = [turn.reply for episode in episodes for turn in episode.turns[seat]]
    conduct = Counter(outcome.conduct[index] for episode in episodes for outcome in episode.outcomes)
    chosen = conduct.total() - conduct[None]
    found: SeatSummary = {
        "player": result.players[seat],
        "total": total.mean,
        "per_round": interval.mean if interval else None,
        "ci95": interval.half_width if interval else None,
        "actions": {word: _share(conduct[word], chosen) for word in game.conducts(seat)},
        "illegal": _share(sum(reply.action is None for reply in replies), len(replies)),
    }
    if any(getattr(episode.seated[seat].player, "fallback", False) for episode in episodes):
        found["fallback"] = _share(sum(reply.fallback for reply in replies), len(replies))
    return found


def _interval(game: Game, seat: str, paid: Sequence[float]) -> Interval:
    """Mean and interval of what a seat was paid; raises CoplayError if they are not finite."""
    try:
        interval = mean_ci95(paid)
    except (OverflowError, ValueError):  # of numbers that are infinite, or whose squares would be
        interval = Interval(math.nan, None, len(paid))
    if not math.isfinite(interval.mean + (interval.half_width or 0.0)):
        raise CoplayError(
            f"game {game.name!r}: the payoffs of {seat} are too large to be added up (a game's come to {max(paid, key=abs):g});"
            " divide the game's payoffs by a constant"
        )
    return interval


def _share(part: int, whole: int) -> float:
    """``part / whole``, and 0 of nothing."""
    return part / whole if whole else 0.0
