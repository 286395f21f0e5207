"""From games to measures: means with intervals, which count how many games are independent. Forty games of players that always do the same are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coplay.auditing.record import Measure
from coplay.evaluation.match import counted
from coplay.games.records import Episode
from coplay.statistics import mean_ci95

Number = Callable[[Episode], float | None]
"""What is measured of a game; None where it cannot be, as where every round is void."""


@dataclass(frozen=True)
class Seated:
    """The games of one seating: a co-player alone in one seat, the player in all others."""

    seat: str
    """The co-player's seat."""
    episodes: Sequence[Episode]
    """The games, with the same chance in every seating."""


def payoff(episode: Episode, seat: str) -> float | None:
    """What a seat gets per round, rounds that are void left out."""
    paid = counted(episode, seat)
    return sum(paid) / len(paid) if paid else None


def effective_games(seatings: Sequence[Seated]) -> int:
    """Games that count as independent: of each seating all, or one if all went the same way."""
    return sum(1 if _alike(one.episodes) else len(one.episodes) for one in seatings)


def measure(
    name: str, co_player: str, seatings: Sequence[Seated], number: Callable[[str], Number], budget: Mapping[str, object]
) -> Measure:
    """A mean over games and seatings. Games with the same chance in different seatings are one number.

    Args:
        name: which measure.
        co_player: who plays with the player.
        seatings: the games.
        number: from the co-player's seat to what is measured of a game.
        budget: what was spent.
    """
    columns = [[number(one.seat)(episode) for episode in one.episodes] for one in seatings]
    rows = [[x for x in row if x is not None] for row in zip(*columns, strict=True)]
    values = [sum(row) / len(row) for row in rows if row]
    effective = effective_games(seatings)
    if not values:
        return Measure(name, co_player, budget, None, None, 0, 0, "estimate")
    found = mean_ci95(values)
    if all(_alike(one.episodes) for one in seatings):
        certain = all(_is_certain(one.episodes[0]) for one in seatings)
        kind, half = ("exact", 0.0) if certain else ("estimate", None)
        return Measure(name, co_player, budget, found.mean, half, 0, effective, kind)  # type: ignore[arg-type]
    return Measure(name, co_player, budget, found.mean, found.half_width, 0, effective, "estimate")


def _alike(episodes: Sequence[Episode]) -> bool:
    """Whether all games went the same way."""
    return len({_course(one) for one in episodes}) == 1


def _course(episode: Episode) -> str:
    return repr([(one.deal, one.acts) for one in episode.rounds])


def _is_certain(episode: Episode) -> bool:
    """Whether nothing was left to chance: nothing was dealt, and all replies were certain by the players' own word."""
    replies = [turn.reply for turns in episode.turns.values() for turn in turns]
    dealt = any(one.deal is not None for one in episode.rounds)
    return not dealt and all(reply.probs is not None and max(reply.probs) == 1.0 for reply in replies)
