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
    """A share of all that could have been done in all games, whose interval is over games.

    With d of n done in a game, the share is p = sum(d) / sum(n), and its spread that of d - p n over games, relative to the mean of n (a ratio
    estimate, linearised). The mean of d / n over games would be biased where n depends on what was done, as for states that conduct leads to or away
    from. Where p is 0 or 1 it has no spread, and the interval is that of Clopper and Pearson.

    Args:
        name: which measure.
        co_player: who plays with the player.
        seatings: the games; those with the same chance in different seatings are one.
        count: from the co-player's seat and a game to how often it was done, of how often it could have been.
        budget: what was spent.
    """
    columns = [[count(one.seat, episode) for episode in one.episodes] for one in seatings]
    of_games = [(sum(done for done, _ in row), sum(of for _, of in row)) for row in zip(*columns, strict=True)]
    done, of = (sum(column) for column in zip(*of_games, strict=True))
    if not of:
        return _measure(name, co_player, seatings, [], budget)
    share, each = done / of, of / len(of_games)
    found = _measure(name, co_player, seatings, [share + (d - share * n) / each for d, n in of_games], budget)
    if found.kind == "exact" or found.ci95 is None or share not in (0.0, 1.0):
        return found
    exact = clopper_pearson(done, of)
    return replace(found, ci95=max(share - exact.low, exact.high - share))


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
