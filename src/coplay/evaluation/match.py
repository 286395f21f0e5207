"""Evaluation: let players play many games and sum up what happened.

The summary is the contract of ``coplay eval --json``. Two rules come from ShapeLLM (section 5.1): rounds that are void (a reply was illegal) are
left out of the average payoffs, and in the state shares they are the state ``I``. In games without void rounds every round counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from coplay.errors import CoplayError, UsageError
from coplay.evaluation.at_once import AtOnce, Lineup, Moves
from coplay.evaluation.mediation import mediation_of
from coplay.evaluation.summary import VERSION, SeatSummary, Summary
from coplay.games.base import Game
from coplay.games.records import Episode, EpisodeRecord, Occupant, Outcome, Reply
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
    episodes: Sequence[Episode]
    """The games, in order. Where numbers come from arrays, the loop plays the same games when one of them is first asked for."""
    at_once: Callable[[], Moves] | None = field(default=None, compare=False, repr=False)
    """Plays the games as arrays; None where that is not possible."""

    @cached_property
    def moves(self) -> Moves | None:
        """What was done, as arrays; None where that is not possible."""
        return None if self.at_once is None else self.at_once()

    def payoffs(self, seat: str) -> list[list[float]]:
        """What a seat was paid, game by game, in the rounds that are not void."""
        return [counted(one, seat) for one in self.episodes] if self.moves is None else self.moves.payoffs(seat)

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
        return [episode_record(self.game, one) for one in self.episodes]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each game, round and seat, with :data:`coplay.play.rows.GAME_COLUMNS`; needs pandas."""
        return frame(game_rows(self.records()), GAME_COLUMNS)

    def __repr__(self) -> str:
        """Who played what, without the games themselves."""
        names = ", ".join(f"{seat}={name!r}" for seat, name in self.players.items())
        return f"MatchResult({self.game.name!r}, {names}, rounds={self.rounds}, episodes={len(self.episodes)})"


class _Replayed(Sequence[Episode]):
    """Games that are played when the first of them is asked for."""

    def __init__(self, number: int, play: Callable[[], list[Episode]]) -> None:
        self._number, self._play = number, play

    @cached_property
    def _episodes(self) -> list[Episode]:
        return self._play()

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...
    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        return self._episodes[index]

    def __eq__(self, other: object) -> bool:
        return self._episodes == (other._episodes if isinstance(other, _Replayed) else other)

    __hash__ = None  # type: ignore[assignment]


def play_match(
    game: Game, seated: Mapping[str, Occupant], *, rounds: int, episodes: int, seed: int, retries: int = 0
) -> MatchResult:
    """Play independent games of the same players, all in one batch; the same seed deals the same games, whoever plays them.

    Each game is the first of a trial: nothing is remembered from one to another. Players of games in normal form that are finite automata are
    played as arrays, with the same result; see :mod:`coplay.evaluation.at_once`.

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
    at_once = AtOnce(game, rounds=rounds, streams=STREAMS)

    def by_loop() -> MatchResult:
        return loop_match(game, seated, rounds=rounds, episodes=episodes, seed=seed, retries=retries)

    if not at_once.covers(seated):
        return by_loop()
    return MatchResult(
        game,
        _names(game, seated),
        rounds,
        _Replayed(episodes, lambda: list(by_loop().episodes)),
        lambda: next(at_once.play([Lineup(seated, seed, episodes)])),
    )


def loop_match(
    game: Game, seated: Mapping[str, Occupant], *, rounds: int, episodes: int, seed: int, retries: int = 0
) -> MatchResult:
    """:func:`play_match` by the loop, whoever plays."""
    tables = [Table(game, seed, index, index, seated) for index in range(episodes)]
    played = play_episode(game, tables, rounds=rounds, streams=STREAMS, retries=retries)
    return MatchResult(game, _names(game, seated), rounds, played)


def _names(game: Game, seated: Mapping[str, Occupant]) -> dict[str, str]:
    return {seat: seated[seat].name for seat in game.seats}


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
    outcomes = _outcomes(result)
    met: Counter[str] = Counter()
    for outcome, rounds in outcomes.items():
        met[game.state_name(outcome)] += rounds
    found: Summary = {
        "version": VERSION,
        "game": game.name,
        "rounds": result.rounds,
        "episodes": len(episodes),
        "seats": {seat: _seat_summary(result, outcomes, i, seat) for i, seat in enumerate(game.seats)},
        "states": {state: _share(met[state], met.total()) for state in dict.fromkeys([*game.state_names(), *met])},
    }
    mediation = mediation_of(game, episodes)
    if mediation is not None:
        found["mediation"] = mediation
    return found


def _outcomes(result: MatchResult) -> Counter[Outcome]:
    """How many rounds came to what, what came first first."""
    if result.moves is not None:
        return result.moves.outcomes()
    return Counter(outcome for episode in result.episodes for outcome in episode.outcomes)


def _seat_summary(result: MatchResult, outcomes: Counter[Outcome], index: int, seat: str) -> SeatSummary:
    game = result.game
    payoffs = result.payoffs(seat)
    totals = [sum(own) for own in payoffs]
    means = [total / len(own) for total, own in zip(totals, payoffs, strict=True) if own]
    total = _interval(game, seat, totals)
    interval = _interval(game, seat, means) if means else None
    conduct: Counter[str | None] = Counter()
    for outcome, rounds in outcomes.items():
        conduct[outcome.conduct[index]] += rounds
    chosen = conduct.total() - conduct[None]
    replies = _replies(result, seat)
    found: SeatSummary = {
        "player": result.players[seat],
        "total": total.mean,
        "per_round": interval.mean if interval else None,
        "ci95": interval.half_width if interval else None,
        "actions": {word: _share(conduct[word], chosen) for word in game.conducts(seat)},
        "illegal": _share(sum(reply.action is None for reply in replies), len(replies)),
    }
    episodes = result.episodes if result.moves is None else ()
    if any(getattr(episode.seated[seat].player, "fallback", False) for episode in episodes):
        found["fallback"] = _share(sum(reply.fallback for reply in replies), len(replies))
    return found


def _replies(result: MatchResult, seat: str) -> list[Reply]:
    """A seat's replies that may be illegal or a fallback; none of players that are played as arrays."""
    if result.moves is not None:
        return []
    return [turn.reply for episode in result.episodes for turn in episode.turns[seat]]


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
