"""The experiment on learning firms: its arms, and what is measured of each over the last tenth of training."""

from __future__ import annotations

import math
from itertools import product

from coplay.evaluation.measures import Curve, Measure, late, mapped, over_training
from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.mediation.firms import MARKET, ROUNDS, VARIANTS
from coplay.recipes.mediation.measures import collective

GAME = "bertrand"
"""The game, as ids of claims have it."""

ARMS = {
    "q-firms": "never",
    "q-firms-coin": "a notice before half of the rounds, by chance; no fine",
    "q-firms-fine": "always the strong notice, with a fine",
    "q-firms-thresh": "the strong notice with a fine, after a profit gain above 0.30",
    "q-firms-ppo": "learned by PPO: silence, the mild notice, or the strong one with a fine",
}
"""The mediators, as a reader is shown them, by recipe. The firms are the same in all."""


def random_gain() -> float:
    """The expected profit gain of firms that choose their prices uniformly at random: what training begins with."""
    prices = list(MARKET.pricing.listed.values())
    joint = list(product(prices, repeat=MARKET.n))
    profits = [sum(MARKET.market.profits(list(asked))) / MARKET.n for asked in joint]
    return MARKET.market.profit_gain(sum(profits) / len(profits))


def gain(arm: str) -> Measure:
    """The mean profit gain over the last tenth of training, before fines."""
    return late(arm, "collective/profit_gain")


def messages(arm: str) -> Measure:
    """The share of rounds with a message over the last tenth of training."""
    return mapped(late(arm, "notice/none"), lambda silent: 1.0 - silent)


def settled(curve: Curve, level: float) -> float:
    """How many rounds were played when the curve rose above a level for good; NaN if it ends below it."""
    above = 0
    for value in reversed(curve):
        if not value > level:
            break
        above += 1
    return ROUNDS * (len(curve) - above) if above else math.nan


def rounds_to_collude(arm: str) -> Measure:
    """Rounds until the profit gain stays above that of random prices."""
    return over_training(arm, lambda curve: settled(curve("collective/profit_gain"), random_gain()))


def _rows(arm: str) -> list[Published]:
    measures: dict[str, Measure] = {
        "profit gain": gain(arm),
        "mean price": late(arm, "collective/price"),
        "consumer surplus": late(arm, "collective/consumer_surplus"),
        "share of rounds with a message": messages(arm),
        "share of rounds with the strong notice": late(arm, "notice/strong"),
        "rounds until the gain stays above that of random prices": rounds_to_collude(arm),
        "profit gain, games after training": collective(arm, "profit_gain"),
    }
    return [Published(arm, "", role, None, measure=measure) for role, measure in measures.items()]


EXPERIMENT = Experiment(
    "mediation/firms",
    GAME,
    "Q-learning firms (after Calvano et al.), and mediators by rule and learned",
    tuple(Arm(name, label, f"mediation/{VARIANTS[name].name}") for name, label in ARMS.items()),
    tuple(row for name in ARMS for row in _rows(name)),
    text_only=False,
    extra=True,
)
"""No paper has it."""
