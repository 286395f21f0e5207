"""What a mediator did and what came of it, from the games of any mediated game.

It needs of the game what every game says: :meth:`coplay.games.base.Game.collective` and :meth:`coplay.games.base.Game.shortfall`. What messages
change is in :mod:`coplay.evaluation.message_effects`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from coplay.evaluation.mediation_record import VERSION, Difference, Effect, Measured, MediationRecord
from coplay.evaluation.message_effects import message_effects
from coplay.games.base import Game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import NONE, addressed, notice_name
from coplay.games.mediator_seat import MEDIATION, MEDIATOR
from coplay.games.records import Action, Episode, Round
from coplay.statistics import mean_ci95

UNREADABLE = "unreadable"
"""What a mediator's reply is counted as that could not be parsed."""


def mediation_of(game: Game, episodes: Sequence[Episode]) -> MediationRecord | None:
    """What was measured of mediation; None in a game without a mediator, and of no games."""
    if not isinstance(game, Mediated) or not episodes:
        return None
    did = [[told(one) for one in episode.rounds] for episode in episodes]
    counts = [Counter(seat for action in own for seat in addressed(action)) for own in did]
    shares = [_notice_shares(game, own) for own in did]
    names = dict.fromkeys(name for own in shares for name in own)
    players = dict.fromkeys(e.seated[seat].name for e in episodes for seat in game.playing_seats)
    return {
        "version": VERSION,
        "unit": "games",
        "n": len(episodes),
        "mediator": MEDIATOR,
        "player": " or ".join(dict.fromkeys(episode.seated[MEDIATOR].name for episode in episodes)),
        "collective": _collective(game, episodes),
        "welfare": _measured([sum(game.collective(one)["welfare"] for one in e.rounds) for e in episodes]),
        "interventions": _measured([sum(bool(addressed(action)) for action in own) for own in did]),
        "messages": _measured([count.total() for count in counts]),
        "notices": {name: _measured([own.get(name, 0.0) for own in shares]) for name in names},
        "to_seats": {seat: _measured([count[seat] for count in counts]) for seat in game.playing_seats},
        "to_players": {name: _measured(_to_player(game, episodes, counts, name)) for name in players},
        "effects": message_effects(game, episodes),
    }


def mediation_metrics(game: Game, episodes: Sequence[Episode]) -> dict[str, float | None]:
    """Training metrics of a mediated game: ``collective/NAME``, ``interventions``, ``notice/NAME``; none of other games."""
    if not isinstance(game, Mediated):
        return {}
    found = _values(game, episodes)
    did = [[told(one) for one in episode.rounds] for episode in episodes]
    line: dict[str, float | None] = {
        f"collective/{name}": _mean([value for values in own for value in values]) for name, own in found.items()
    }
    line["interventions"] = _mean([sum(bool(addressed(action)) for action in own) for own in did])
    shares = _notice_shares(game, [action for own in did for action in own])
    return line | {f"notice/{name}": share for name, share in shares.items()}


def over_seeds(records: Sequence[MediationRecord]) -> MediationRecord:
    """The means of several seeds' records with 95% t-intervals over seeds.

    Raises:
        ValueError: if there are no records.
    """
    if not records:
        raise ValueError("there is nothing to sum up: no records of mediation were given")
    first = records[0]
    return {
        "version": VERSION,
        "unit": "seeds",
        "n": len(records),
        "mediator": first["mediator"],
        "player": first["player"],
        "collective": _joined([one["collective"] for one in records], missing=None),
        "welfare": _measured([one["welfare"]["mean"] for one in records]),
        "interventions": _measured([one["interventions"]["mean"] for one in records]),
        "messages": _measured([one["messages"]["mean"] for one in records]),
        "notices": _joined([one["notices"] for one in records], missing=0.0),
        "to_seats": _joined([one["to_seats"] for one in records], missing=0.0),
        "to_players": _joined([one["to_players"] for one in records], missing=0.0),
        "effects": _joined_effects([one["effects"] for one in records]),
    }


def told(one: Round) -> Action | None:
    """What the mediator did in a round; None for a reply that could not be parsed."""
    return next((act.action for act in one.acts if act.phase == MEDIATION), None)


def _notice_shares(game: Mediated, did: Sequence[Action | None]) -> dict[str, float]:
    """The share of each notice, silence first, then those that the game offers in its order, then others."""
    counts = Counter(notice_name(action) or UNREADABLE for action in did)
    return {name: counts[name] / max(len(did), 1) for name in dict.fromkeys([NONE, *game.offered, *counts])}


def _values(game: Game, episodes: Iterable[Episode]) -> dict[str, list[list[float]]]:
    """What the rounds of each game came to, by name."""
    found: dict[str, list[list[float]]] = {}
    for episode in episodes:
        of_game: dict[str, list[float]] = {}
        for one in episode.rounds:
            for name, value in game.collective(one).items():
                of_game.setdefault(name, []).append(value)
        for name, values in of_game.items():
            found.setdefault(name, []).append(values)
    return found


def _collective(game: Game, episodes: Sequence[Episode]) -> dict[str, Measured]:
    return {
        name: _measured([sum(own) / len(own) for own in values]) for name, values in _values(game, episodes).items()
    }


def _to_player(game: Game, episodes: Sequence[Episode], counts: Sequence[Counter[str]], name: str) -> list[float]:
    """Messages to a player in each game."""
    return [
        sum(count[seat] for seat in game.playing_seats if episode.seated[seat].name == name)
        for episode, count in zip(episodes, counts, strict=True)
    ]


def _measured(values: Sequence[float]) -> Measured:
    interval = mean_ci95([float(value) for value in values])
    return {"mean": interval.mean, "ci95": interval.half_width}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _joined(records: Sequence[Mapping[str, Measured]], *, missing: float | None) -> dict[str, Measured]:
    """Means over seeds, by name; a seed without a name counts as ``missing``, or not at all if that is None."""
    found = {}
    for name in dict.fromkeys(name for one in records for name in one):
        values = [one[name]["mean"] if name in one else missing for one in records]
        found[name] = _measured([value for value in values if value is not None])
    return found


def _joined_effects(seeds: Sequence[Sequence[Effect]]) -> list[Effect]:
    by_place: dict[tuple[str, int], list[Effect]] = {}
    for effects in seeds:
        for one in effects:
            by_place.setdefault((one["notice"], one["lag"]), []).append(one)
    return [_joined_effect(notice, lag, own) for (notice, lag), own in by_place.items()]


def _joined_effect(notice: str, lag: int, own: Sequence[Effect]) -> Effect:
    shares = [one["compared"] for one in own if one["compared"] is not None]
    return {
        "notice": notice,
        "lag": lag,
        "addressed": sum(one["addressed"] for one in own),
        "others": sum(one["others"] for one in own),
        "raw": _joined_difference(own, lambda one: one["raw"]),
        "adjusted": _joined_difference(own, lambda one: one["adjusted"]),
        "compared": _mean(shares),
    }


def _joined_difference(own: Sequence[Effect], which: Callable[[Effect], Difference]) -> Difference:
    """The mean over the seeds that have one, with its t-interval."""
    values = [value for value in (which(one)["mean"] for one in own) if value is not None]
    if not values:
        return {"mean": None, "low": None, "high": None}
    interval = mean_ci95(values)
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}
