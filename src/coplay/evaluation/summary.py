"""The form of an evaluation: of one match, as ``coplay eval --json`` prints it, and over seeds, as a run's ``eval.json`` keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NotRequired, TypedDict, TypeVar

from coplay.evaluation.mediation import over_seeds
from coplay.evaluation.mediation_record import MediationRecord
from coplay.statistics import mean_ci95

VERSION = 1
"""Version of the form."""

N = TypeVar("N")
"""What a number of the form is: a number of one match, or its :class:`Estimate` over seeds."""


class Estimate(TypedDict):
    """A mean over seeds."""

    mean: float
    """Mean over seeds."""
    ci95: float | None
    """Half-width of the 95% t-interval over seeds; None for a single seed."""
    n: int
    """Number of seeds."""


class Seat(TypedDict, Generic[N]):
    """The payoffs and actions of one seat."""

    player: str
    """Name of its player."""
    total: N
    """Mean over episodes of its payoffs summed over the rounds that are not void."""
    per_round: N | None
    """Mean over episodes of its mean payoff in those rounds; None if there were none at all. Seeds without any are left out."""
    actions: dict[str, N]
    """Share of each action, or of cooperative and greedy conduct, among the rounds in which it had a choice."""
    illegal: N
    """Share of illegal replies among its replies."""
    fallback: NotRequired[N]
    """Share of its replies that named no action, so that the model was made to choose one; only of players that are."""


class SeatSummary(Seat[float]):
    """The payoffs and actions of one seat in one match."""

    ci95: float | None
    """Half-width of the 95% t-interval of ``per_round`` over episodes; None if there is but one."""


SeatEstimate = Seat[Estimate]
"""The payoffs and actions of one seat over seeds."""


class _Evaluation(TypedDict, Generic[N]):
    version: int
    """Version of this form."""
    game: str
    """Name of the game."""
    rounds: int
    """Rounds of an episode."""
    episodes: int
    """Number of episodes of each seed."""
    states: dict[str, N]
    """Share of each joint action (``CD``: row's label first) among all rounds; ``I`` for rounds with an illegal reply."""
    mediation: NotRequired[MediationRecord]
    """What the mediator did and what came of it; only of games with a mediator."""


class Summary(_Evaluation[float]):
    """The evaluation of one match, which ``coplay eval --json`` prints."""

    seats: dict[str, SeatSummary]
    """One entry a seat."""


class Divergence(TypedDict):
    """What became of a seed that had a number which was not finite: it was trained and evaluated no further."""

    step: int
    """The trial in which it diverged, from 1."""
    reason: str
    """What was not finite, and where."""


class Aggregate(_Evaluation[Estimate]):
    """The evaluation over seeds, which is the form of a run's ``eval.json``."""

    seeds: dict[str, Summary]
    """The summary of each seed that has not diverged."""
    seats: dict[str, SeatEstimate]
    """One entry a seat."""
    diverged: NotRequired[dict[str, Divergence]]
    """The seeds that have diverged and count in nothing else here; not there if there are none."""


def diverged_seeds(report: Aggregate) -> dict[int, Divergence]:
    """The seeds of a run that have diverged, in order; empty for a whole run."""
    return {int(seed): one for seed, one in report.get("diverged", {}).items()}


def told_of(seed: int, divergence: Divergence) -> str:
    """A seed and what became of it, in words: ``seed 1 diverged in trial 7: ...``."""
    return f"seed {seed} diverged in trial {divergence['step']}: {divergence['reason']}"


def aggregate(summaries: Mapping[int, Summary], diverged: Mapping[int, Divergence] | None = None) -> Aggregate:
    """Sum up over seeds: the mean of each number and its 95% t-interval, one value a seed.

    The intervals of the summaries themselves (over episodes of one seed) are not used: the seed is the unit of replication.

    Args:
        summaries: the evaluation of each seed.
        diverged: seeds that there is no evaluation of, as they have diverged.

    Raises:
        ValueError: if there are no summaries.
    """
    if not summaries:
        raise ValueError("there is nothing to aggregate: no summaries were given")
    every = list(summaries.values())
    first = every[0]
    found: Aggregate = {
        "version": VERSION,
        "game": first["game"],
        "rounds": first["rounds"],
        "episodes": first["episodes"],
        "seeds": {str(seed): one for seed, one in summaries.items()},
        "seats": {seat: _seat_estimate([one["seats"][seat] for one in every]) for seat in first["seats"]},
        "states": {state: _estimate([one["states"][state] for one in every]) for state in first["states"]},
    }
    mediated = [one["mediation"] for one in every if "mediation" in one]
    if mediated:
        found["mediation"] = over_seeds(mediated)
    if diverged:
        found["diverged"] = {str(seed): one for seed, one in diverged.items()}
    return found


def _seat_estimate(every: Sequence[SeatSummary]) -> SeatEstimate:
    per_round = [one["per_round"] for one in every if one["per_round"] is not None]
    found: SeatEstimate = {
        "player": every[0]["player"],
        "total": _estimate([one["total"] for one in every]),
        "per_round": _estimate(per_round) if per_round else None,
        "actions": {action: _estimate([one["actions"][action] for one in every]) for action in every[0]["actions"]},
        "illegal": _estimate([one["illegal"] for one in every]),
    }
    if any("fallback" in one for one in every):
        found["fallback"] = _estimate([one.get("fallback", 0.0) for one in every])
    return found


def _estimate(values: Sequence[float]) -> Estimate:
    interval = mean_ci95(values)
    return {"mean": interval.mean, "ci95": interval.half_width, "n": interval.n}
