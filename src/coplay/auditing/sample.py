"""From games to measures: means with intervals, which count how many games are independent. Forty games of players that always do the same are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coplay.auditing.record import Measure
from coplay.games.records import Episode
from coplay.statistics import clopper_pearson, mean_ci95

Number = Callable[[Episode], float | None]
"""What is measured of a game; None where it cannot be, as where every round is void."""

Count = tuple[int, int]
"""How often something was done, and how often it could have been."""


def share(count: Count) -> float | None:
    """The share of a count; None of nothing."""
    return count[0] / count[1] if count[1] else None


@dataclass(frozen=True)
class Seated:
    """The games of one seating: a co-player alone in one seat, the player in all others."""

    seat: str
    """The co-player's seat."""
    episodes: Sequence[Episode]
    """The games, with the same chance in every seating."""


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
    return _measure(name, co_player, seatings, values, budget)


def measure_share(
    name: str,
    co_player: str,
    seatings: Sequence[Seated],
    count: Callable[[str, Episode], Count],
    budget: Mapping[str, object],
) -> Measure:
    """:func:`measure` of a share. Where it is 0 or 1 in every game its spread is nothing, and the interval is that of Clopper and Pearson."""

    def number(seat: str) -> Number:
        return lambda episode: share(count(seat, episode))

    found = measure(name, co_player, seatings, number, budget)
    if found.kind == "exact" or found.ci95 is None or found.value not in (0.0, 1.0):
        return found
    counts = [count(one.seat, episode) for one in seatings for episode in one.episodes]
    exact = clopper_pearson(sum(done for done, _ in counts), sum(of for _, of in counts))
    return replace(found, ci95=max(found.value - exact.low, exact.high - found.value))


def _measure(
    name: str, co_player: str, seatings: Sequence[Seated], values: Sequence[float], budget: Mapping[str, object]
) -> Measure:
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
