"""Findings of Learning to Mediate as claims. Welfare is in points a game; each claim is of the players that its results name."""

from __future__ import annotations

from collections.abc import Iterator

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Count, Measure, difference, rounds_of
from coplay.evaluation.rules import Rule, at_most, ci_above, ci_below, ci_within
from coplay.recipes.mediation.dilemmas import TITLES
from coplay.recipes.mediation.measures import cooperation, interventions, welfare

PAPER = "Learning to Mediate Equilibrium Selection in LLM Games"
"""The paper, as claims name it."""

OURS = "coplay, a comparison that is not in Learning to Mediate"
"""Where claims of ours come from."""

SELECTIVE = 0.5
"""Interventions a game, of five rounds, that count as near zero; the paper has below 0.1."""

ALIKE = {"ipd-3": 1.0, "stag-hunt-3": 1.0, "chicken-3": 1.0}
"""Points of welfare a game within which two mediators count as equal."""


def _paper(
    id: str,
    place: str,
    text: str,
    measure: Measure,
    rule: Rule,
    published: float | None = None,
    counted: Count | None = None,
) -> Claim:
    return Claim(id, f"{PAPER}, {place}", text, published, measure, rule, counted)


def _table_1() -> Iterator[Claim]:
    """Section 4.1 and Table 1."""
    for game, gains in (("ipd-3", (1.70, 2.84)), ("stag-hunt-3", (1.19, 1.23))):
        for other, number in zip(("never", "always"), gains, strict=True):
            yield _paper(
                f"table1/{game}/ppo-above-{other}",
                "Table 1",
                f"A mediator learned by PPO gets more welfare than {other}: PPO's minus that of {other}.",
                difference(welfare("ppo"), welfare(other)),
                ci_above(0.0),
                number,
            )
    yield _paper(
        "table1/ipd-3/ppo-more-cooperation",
        "section 4.1",
        "PPO raises cooperation: its rate minus that without messages.",
        difference(cooperation("ppo"), cooperation("never")),
        ci_above(0.0),
        0.044,
    )
    yield _paper(
        "table1/ipd-3/always-backfires",
        "section 4.1",
        "Unconditional messages lower cooperation: its rate with a message in every round minus that without.",
        difference(cooperation("always"), cooperation("never")),
        ci_below(0.0),
        -0.024,
    )
    for game, rule, published in (("ipd-3", "defector", 0.30), ("ipd-3", "payoff-thresh", -0.30)):
        yield _paper(
            f"table1/{game}/matches-{rule}",
            "section 4.1",
            f"PPO matches a hand-made rule without tuning: its welfare minus that of {rule}.",
            difference(welfare("ppo"), welfare(rule)),
            ci_within(0.0, ALIKE[game]),
            published,
        )
    yield _paper(
        "table1/stag-hunt-3/matches-payoff-thresh",
        "section 4.1",
        "PPO matches the best rule: its welfare minus that of payoff-thresh.",
        difference(welfare("ppo"), welfare("payoff-thresh")),
        ci_within(0.0, ALIKE["stag-hunt-3"]),
        -0.15,
    )
    for game, published_below in (("ipd-3", -0.68), ("stag-hunt-3", -1.02)):
        yield _paper(
            f"table1/{game}/bandit-below-ppo",
            "section 4.1",
            "Where effects last for several rounds the bandit gets less welfare than PPO: its minus PPO's.",
            difference(welfare("bandit"), welfare("ppo")),
            ci_below(0.0),
            published_below,
        )
    for arm in ("ppo", "bandit"):
        yield _paper(
            f"table1/chicken-3/{arm}-passive",
            "section 4.1",
            f"Where players coordinate by themselves the mediator learns to be silent: interventions a game ({arm}).",
            interventions(arm),
            at_most(SELECTIVE),
            0.1,
        )
    yield _paper(
        "table1/chicken-3/coordinates-alone",
        "section 4.1",
        "Players of Chicken cooperate without a mediator: rate of cooperation without messages.",
        cooperation("never"),
        ci_above(0.9),
        0.99,
        rounds_of("never"),
    )
    yield _paper(
        "table1/chicken-3/no-effect",
        "section 4.1",
        "In Chicken a mediator changes nothing: cooperation with PPO minus that without messages.",
        difference(cooperation("ppo"), cooperation("never")),
        ci_within(0.0, 0.02),
        0.0,
    )


def _ours() -> Iterator[Claim]:
    """Whether a mediator is silent where silence is best, with the paper's entropy bonus and with a small one."""
    for game in TITLES:
        yield Claim(
            f"table1/{game}/sharp-at-least-never",
            OURS,
            "A mediator that explores little loses nothing against silence: welfare with an entropy bonus of 0.001 minus that without messages.",
            None,
            difference(welfare("ppo-sharp"), welfare("never")),
            ci_above(-ALIKE[game]),
        )
        yield Claim(
            f"table1/{game}/entropy-decides",
            OURS,
            "The entropy bonus decides how often a mediator speaks: interventions with Table 4's bonus minus those with a hundredth of it.",
            None,
            difference(interventions("ppo"), interventions("ppo-sharp")),
            ci_above(0.5),
        )


def _batch() -> Iterator[Claim]:
    """Appendix B."""
    for game in TITLES:
        yield _paper(
            f"batch/{game}/large-batch-worse",
            "appendix B",
            "Larger batches are worse: welfare with batch 256 and 50 episodes an update minus that with Table 4's.",
            difference(welfare("large-batch"), welfare("ppo")),
            ci_below(0.0),
            {"ipd-3": -0.70, "stag-hunt-3": -1.53}.get(game),
        )


CLAIMS = (*_table_1(), *_ours(), *_batch())
"""All claims about the dilemmas."""
