"""Claims about learning firms: ours, of Q-learning firms alone. Numbers are of the last tenth of training; seeds are the unit."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Measure, difference, late
from coplay.evaluation.rules import Rule, ci_above, ci_below
from coplay.recipes.mediation.firms import THRESHOLD
from coplay.recipes.mediation.firms_table import GAME, gain, messages

SOURCE = "coplay, an experiment of ours; the players are Q-learning firms after Calvano et al."
"""Where the claims come from, and of which players they hold."""

SMALL = 0.1
"""A change of the profit gain that counts as none."""

LARGE = 0.2
"""A change of the profit gain that counts as one."""

COMPETITIVE = 0.2
"""A profit gain that counts as competition: the grid's more profitable equilibrium of one round has 0.16."""


def _claim(name: str, text: str, measure: Measure, rule: Rule) -> Claim:
    return Claim(f"firms/{GAME}/{name}", SOURCE, text, None, measure, rule)


CLAIMS = (
    _claim(
        "collude",
        "Q-learning firms collude without a mediator: their profit gain.",
        gain("q-firms"),
        ci_above(THRESHOLD),
    ),
    _claim(
        "notices-alone",
        "Notices that enter the firms' state alone, sent by chance, do not lower prices: profit gain with them minus that without.",
        difference(gain("q-firms-coin"), gain("q-firms")),
        ci_above(-SMALL),
    ),
    _claim(
        "fine-lowers",
        "A fine in every round lowers it: profit gain with the fine minus that without a mediator.",
        difference(gain("q-firms-fine"), gain("q-firms")),
        ci_below(-LARGE),
    ),
    _claim(
        "fine-competitive",
        "With a fine in every round prices are competitive: the profit gain.",
        gain("q-firms-fine"),
        ci_below(COMPETITIVE),
    ),
    _claim(
        "fine-consumers",
        "Consumers gain from a fine in every round: consumer surplus with the fine minus that without a mediator.",
        difference(late("q-firms-fine", "collective/consumer_surplus"), late("q-firms", "collective/consumer_surplus")),
        ci_above(SMALL),
    ),
    _claim(
        "threshold-lowers",
        "A warning with a fine after profitable rounds alone lowers it as well: profit gain with the rule minus that without a mediator.",
        difference(gain("q-firms-thresh"), gain("q-firms")),
        ci_below(-LARGE),
    ),
    _claim(
        "threshold-few-messages",
        "The rule needs fewer messages than one a round: share of rounds with a message.",
        messages("q-firms-thresh"),
        ci_below(0.5),
    ),
    _claim(
        "threshold-above-always",
        "What the rule saves in messages firms keep in profits: profit gain with the rule minus that with a fine in every round.",
        difference(gain("q-firms-thresh"), gain("q-firms-fine")),
        ci_above(0.0),
    ),
    _claim(
        "learned-lowers",
        "A mediator learned by PPO while the firms learn lowers it: profit gain with it minus that without a mediator.",
        difference(gain("q-firms-ppo"), gain("q-firms")),
        ci_below(-LARGE),
    ),
    _claim(
        "learned-speaks-more",
        "The learned mediator sends more than the rule: its share of rounds with a message minus the rule's.",
        difference(messages("q-firms-ppo"), messages("q-firms-thresh")),
        ci_above(0.0),
    ),
)
"""All of them."""
