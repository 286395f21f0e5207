"""The experiment on language models as mediators: its arms, what is measured of each, and what is claimed of the embedded model."""

from __future__ import annotations

from collections.abc import Iterator

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Count, Measure, first, rounds_of
from coplay.evaluation.rules import Rule, ci_above, ci_below, ci_within
from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.mediation.language import VARIANTS, WARM_START
from coplay.recipes.mediation.measures import cooperation, intervened, interventions, unreadable

GAME = "ipd-3"
"""The game, as ids of claims have it."""

SOURCE = "coplay, an experiment of ours; the players are scripts that follow messages"
"""Where the claims come from, and of which players they hold."""

ALWAYS, NEVER = 0.9, 0.1
"""Shares of the rounds with a message that count as always and as never."""

ILLEGAL = 0.05
"""A share of illegal replies that counts as few."""


def _rows(arm: str) -> Iterator[Published]:
    measures: dict[str, Measure] = {
        "illegal replies, first trial": first(arm, "illegal/mediator"),
        "illegal replies after training": unreadable(arm),
        "rounds with a message, first trial": first(arm, "notice/intervene"),
        "rounds with a message after training": intervened(arm),
        "cooperation after training": cooperation(arm),
    }
    for role, measure in measures.items():
        yield Published(arm, "", role, None, measure=measure)


EXPERIMENT = Experiment(
    "mediation/language",
    GAME,
    "A language model as mediator, with and without a warm start",
    tuple(
        Arm(name, one.description, f"mediation/{name}", preparation=None if one.cold else WARM_START)
        for name, one in VARIANTS.items()
    ),
    tuple(row for name in VARIANTS for row in _rows(name)),
    text_only=True,
    extra=True,
)
"""Three situations, each with and without a warm start."""


def _claim(name: str, text: str, measure: Measure, rule: Rule, counted: Count | None = None) -> Claim:
    return Claim(f"language/{GAME}/{name}", SOURCE, text, None, measure, rule, counted)


CLAIMS = (
    _claim(
        "illegal-without",
        "The embedded model does not know how a mediator replies: its illegal replies in the first trial.",
        first("language-heeded-cold", "illegal/mediator"),
        ci_above(ALWAYS),
    ),
    _claim(
        "legal-with",
        "After a warm start it does: illegal replies in the first trial.",
        first("language-heeded", "illegal/mediator"),
        ci_below(ILLEGAL),
    ),
    _claim(
        "heeded-speaks",
        "Where messages are worth their cost it learns to send one in every round: share of rounds with a message.",
        intervened("language-heeded"),
        ci_above(ALWAYS),
        rounds_of("language-heeded"),
    ),
    _claim(
        "costly-silent",
        "Where a message costs more than it brings it learns to be silent: share of rounds with a message.",
        intervened("language-costly"),
        ci_below(NEVER),
        rounds_of("language-costly"),
    ),
    _claim(
        "once-speaks-once",
        "Where players go on by themselves it learns to speak once: rounds with a message a game.",
        interventions("language-once"),
        ci_within(1.0, 0.25),
    ),
    _claim(
        "once-cooperation",
        "The one message is the first: the players' rate of cooperation.",
        cooperation("language-once"),
        ci_above(ALWAYS),
        rounds_of("language-once"),
    ),
    _claim(
        "cold-speaks",
        "Without a warm start it leaves illegal replies by the first word that it hits on: share of rounds with a message where silence is best.",
        intervened("language-costly-cold"),
        ci_above(ALWAYS),
        rounds_of("language-costly-cold"),
    ),
)
"""All claims about it."""
