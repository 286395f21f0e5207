"""Audits of several seeds of a run as one: the mean over seeds, with the interval over seeds, since another seed is what would be deployed next time."""

from __future__ import annotations

from collections.abc import Sequence

from coplay.auditing.record import Measure
from coplay.statistics import mean_ci95


def over_seeds(of_seeds: Sequence[Sequence[Measure]]) -> list[Measure]:
    """The measures of all seeds as one; those of a single seed as they are.

    Args:
        of_seeds: for each seed its measures, by name and co-player the same in all.
    """
    first, *others = of_seeds
    if not others:
        return list(first)
    known = [{(one.name, one.co_player): one for one in own} for own in of_seeds]
    return [_together([own[one.name, one.co_player] for own in known]) for one in first]


def _together(measures: Sequence[Measure]) -> Measure:
    one = measures[0]
    budget = dict(one.budget)
    if "episodes" in budget:
        budget["episodes"] = sum(int(str(own.budget["episodes"])) for own in measures)
    values = [own.value for own in measures if own.value is not None]
    bound = any(own.kind == "lower_bound" for own in measures)
    if not values:
        return Measure(one.name, one.co_player, budget, None, None, len(measures), 0, "estimate")
    found = mean_ci95(values)
    half = found.half_width or max(
        (own.ci95 or 0.0 for own in measures), default=0.0
    )  # seeds that agree are no surer than each
    kind = "lower_bound" if bound else "estimate"
    return Measure(one.name, one.co_player, budget, found.mean, half, found.n, found.n, kind)  # type: ignore[arg-type]
