"""What a mediator's message changes: cooperation of the seats that read it, against rounds in which they read nothing.

A message comes before the decisions of its round, so it may show in the same round (lag 0) and in the next one (lag 1). The *raw* difference
compares all addressed rounds with all others. A mediator that addresses those who cooperate least makes it too low: they would have cooperated
little anyway. The *adjusted* difference compares like with like, in strata s of

    who plays, in which seat; whether it is the first round; the seat's own and the others' mean conduct of the round before, in twelve levels

    adjusted = Σ_s n_s (mean of addressed in s - mean of others in s) / Σ_s n_s,

with n_s the addressed rounds of a stratum and the sums over the strata that have both. That is the effect on those who were addressed, if within a
stratum it was chance that decided whom the mediator addressed; it is so by design if the mediator is a random one. A mediator that always does the
same in a state leaves nothing to compare: the share of addressed rounds that could be compared is reported, and None where there are none. Where
conduct is continuous, as with prices, rounds of one level still differ, and a rule with a threshold sorts them: what is left of the raw difference then
is no effect of messages.

Intervals are percentiles over samples of whole games, drawn with replacement: rounds of one game depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coplay.evaluation.mediation_record import Difference, Effect
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import addressed, notice_name
from coplay.games.mediator_seat import MEDIATION
from coplay.games.records import Episode
from coplay.rng import draws

SAMPLES = 1000
"""Samples of games for an interval."""

LEVELS = 12
"""Into how many levels a conduct from 0 to 1 is put: enough to tell all conducts of up to six seats apart."""

ANY = "any"
"""All notices together."""

LAGS = (0, 1)
"""Rounds from a message to what it is measured on."""

Stratum = tuple[object, ...]
"""What rounds that are compared have in common."""


@dataclass(frozen=True, slots=True)
class SeatRound:
    """A seat in a round, as it bears on the effect of a message."""

    game: int
    """Index of the game."""
    stratum: Stratum
    """The state before the message."""
    notice: str | None
    """What the seat read; None if nothing."""
    cooperation: tuple[float | None, ...]
    """Its cooperation at each of ``LAGS``; None where it is not known."""


def message_effects(game: Mediated, episodes: Sequence[Episode]) -> list[Effect]:
    """The effect of each notice that was sent, and of any, at each lag.

    Args:
        game: the rules.
        episodes: complete games.
    """
    rows = [row for i, episode in enumerate(episodes) for row in _rows(game, i, episode)]
    sent = sorted({row.notice for row in rows if row.notice is not None})
    weights = _weights(len(episodes))
    notices = [ANY, *sent] if len(sent) > 1 else sent
    return [_effect(rows, notice, place, weights) for notice in notices for place in range(len(LAGS))]


def _rows(game: Mediated, index: int, episode: Episode) -> Iterator[SeatRound]:
    shown = [{seat: _cooperation(game.shortfall(one, seat)) for seat in game.playing_seats} for one in episode.rounds]
    for t, one in enumerate(episode.rounds):
        action = next((act.action for act in one.acts if act.phase == MEDIATION), None)
        reached = addressed(action)
        for seat in game.playing_seats:
            occupant = episode.seated[seat]
            read = notice_name(action) if seat in reached else None
            after = tuple(shown[t + lag][seat] if t + lag < len(shown) else None for lag in LAGS)
            before = _state(shown[t - 1], seat) if t else ()
            yield SeatRound(index, (seat, occupant.name, *before), read, after)


def _cooperation(shortfall: float | None) -> float | None:
    return None if shortfall is None else 1.0 - shortfall


def _state(before: dict[str, float | None], seat: str) -> Stratum:
    """The seat's and the others' levels of cooperation in a round; -1 where nothing is known."""
    others = [value for one, value in before.items() if one != seat and value is not None]
    return (_level(before[seat]), _level(sum(others) / len(others) if others else None))


def _level(value: float | None) -> int:
    return -1 if value is None else min(int(value * LEVELS), LEVELS - 1)


def _weights(games: int) -> npt.NDArray[np.float64]:
    """How often each game is in each sample, of shape [SAMPLES + 1, B]; the first row is the games as they are."""
    weights = np.ones((SAMPLES + 1, games))
    uniforms = draws(0, "mediation", "games", games, n=SAMPLES * games).reshape(SAMPLES, games)
    picked = (uniforms * games).astype(np.int64)
    for sample, chosen in enumerate(picked):
        weights[sample + 1] = np.bincount(chosen, minlength=games)
    return weights


def _effect(rows: Sequence[SeatRound], notice: str, place: int, weights: npt.NDArray[np.float64]) -> Effect:
    known = [row for row in rows if row.cooperation[place] is not None]
    treated = [row for row in known if row.notice is not None and notice in (ANY, row.notice)]
    others = [row for row in known if row.notice is None]
    of_stratum = _sums(treated, others, place, weights.shape[1], adjusted=True)
    both = (of_stratum[:, :, 0].sum(0) > 0) & (of_stratum[:, :, 2].sum(0) > 0)
    matched = of_stratum[:, both]
    return {
        "notice": notice,
        "lag": LAGS[place],
        "addressed": len(treated),
        "others": len(others),
        "raw": _difference(_sums(treated, others, place, weights.shape[1], adjusted=False), weights),
        "adjusted": _difference(matched, weights),
        "compared": float(matched[:, :, 0].sum()) / len(treated) if treated else None,
    }


def _sums(
    treated: Sequence[SeatRound], others: Sequence[SeatRound], place: int, games: int, *, adjusted: bool
) -> npt.NDArray[np.float64]:
    """For each game and stratum: addressed rounds, their cooperation, other rounds, theirs. Shape [B, strata, 4]."""
    columns: dict[Stratum, int] = {}
    for row in (*treated, *others):
        columns.setdefault(row.stratum if adjusted else (), len(columns))
    sums = np.zeros((games, len(columns), 4))
    for side, of_side in enumerate((treated, others)):
        for row in of_side:
            value = row.cooperation[place]
            assert value is not None
            sums[row.game, columns[row.stratum if adjusted else ()], 2 * side : 2 * side + 2] += (1.0, value)
    return sums


def _difference(sums_BK4: npt.NDArray[np.float64], weights_NB: npt.NDArray[np.float64]) -> Difference:
    """The weighted mean over strata of the difference, of the games as they are and of each sample of them."""
    games, strata, _ = sums_BK4.shape
    totals = (weights_NB @ sums_BK4.reshape(games, strata * 4)).reshape(len(weights_NB), strata, 4)
    n1, y1, n0, y0 = (totals[:, :, i] for i in range(4))
    both = (n1 > 0) & (n0 > 0)
    gaps = np.where(both, y1 / np.maximum(n1, 1.0) - y0 / np.maximum(n0, 1.0), 0.0)
    size = np.where(both, n1, 0.0)
    whole = size.sum(1)
    found = np.divide((size * gaps).sum(1), whole, out=np.full(len(whole), np.nan), where=whole > 0)
    if np.isnan(found[0]):
        return {"mean": None, "low": None, "high": None}
    drawn = found[1:][~np.isnan(found[1:])]
    if games < 2 or len(drawn) < SAMPLES / 2:
        return {"mean": float(found[0]), "low": None, "high": None}
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"mean": float(found[0]), "low": float(low), "high": float(high)}
