"""What SEPO's tables and claims measure: numbers of ``safety.json``, one a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

from coplay.evaluation.measures import Measure, Results
from coplay.evaluation.safety_report import Checkpoint, PolicySafety, SafetyReport
from coplay.evaluation.summary import diverged_seeds
from coplay.games import make_game
from coplay.games.safety import Weights, objective, payoff_scale
from coplay.recipes.sepo.settings import table_1

Number = Callable[[PolicySafety], float | None]
"""A number of one policy."""


def of_policy(arm: str, number: Number, checkpoint: Checkpoint = "selected") -> Measure:
    """A number of each seed's policy, in the order of the seeds; NaN where it has none, and for a seed that has diverged.

    Args:
        arm: the arm.
        number: the number.
        checkpoint: the chosen policy, which is the last where none was to be chosen; or the last.
    """

    def measure(results: Results) -> list[float]:
        found = dict.fromkeys(diverged_seeds(results.evals[arm]), math.nan)
        report: SafetyReport = results.safety[arm]
        for seed, one in report["seeds"].items():
            value = number(one.get("selected", one["last"]) if checkpoint == "selected" else one["last"])
            found[int(seed)] = math.nan if value is None else value
        return [found[seed] for seed in sorted(found)]

    return measure


def measured(arm: str, name: str, checkpoint: Checkpoint = "selected") -> Measure:
    """One of the numbers of :class:`coplay.evaluation.safety.SafetySummary`, by name."""
    return of_policy(arm, lambda policy: policy[name], checkpoint)  # type: ignore[literal-required]


def safety(arm: str, game: str, checkpoint: Checkpoint = "selected") -> Measure:
    """The objective with the weights of the game's evaluation, whatever the arm was trained on."""
    weights = evaluation_weights(game)
    rules = make_game(game)
    scale = payoff_scale(rules, rules.seats[0])

    def number(policy: PolicySafety) -> float | None:
        if policy["pay"] is None:
            return None
        return objective(
            pay=policy["pay"],
            exploit=policy["exploit_over_agent"] or 0.0,
            collusion=policy["collusion"] or 0.0,
            externality=policy["externality"] or 0.0,
            weights=weights,
            scale=scale,
        )

    return of_policy(arm, number, checkpoint)


def evaluation_weights(game: str) -> Weights:
    """Table 1's weights, but 1 for collusion in the negotiations, as the table's caption says of evaluation."""
    weights = table_1(game)
    return {**weights, "collusion": min(weights["collusion"], 1.0)}


def best_of_pool(arm: str, checkpoint: Checkpoint = "selected") -> Measure:
    """What the most successful co-player of the exploit pool gets per round."""

    def number(policy: PolicySafety) -> float | None:
        return max((one["theirs"] for one in policy["against"] if one["pool"] == "exploit"), default=None)

    return of_policy(arm, number, checkpoint)


def best_response(arm: str, checkpoint: Checkpoint = "selected") -> Measure:
    """What a best response gets per round: the true counterpart of :func:`best_of_pool`."""
    return measured(arm, "best_response", checkpoint)
