"""What ShapeLLM says, claim by claim."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import difference, illegal, mapped, over_training, per_round
from coplay.evaluation.rules import Rule, at_least, at_most, ci_above, ci_below, every_seed_at_most, within
from coplay.recipes.shapellm.measures import (
    co_player_cooperation,
    early_advantage,
    final_cooperation,
    late_fall,
    steepness_of_the_first_fall,
)
from coplay.recipes.shapellm.tables import EXPERIMENTS

_PRINTED = {f"{experiment.id}/{experiment.game}": experiment.table for experiment in EXPERIMENTS}
"""The tables' numbers by ``shapellm/TABLE/GAME``."""


def _two(experiment: str, paper: str, arm: str, text: str, row: Rule, column: Rule) -> list[Claim]:
    """A sentence about an arm, checked on both seats against the table's own numbers."""
    published = {one.seat: one for one in _PRINTED[f"shapellm/{experiment}"] if one.arm == arm}
    claims = []
    for seat, rule in (("row", row), ("column", column)):
        printed = published.get(seat)  # the paper's text does not give every number of Table 11
        who, value = (printed.role.lower(), printed.value) if printed else (seat, None)
        sentence = f"{text}: {who}'s reward per step."
        claims.append(Claim(f"{experiment}/{arm}-{seat}", paper, sentence, value, per_round(arm, seat), rule))
    return claims


TABLE_1, TABLE_2, TABLE_3 = (f"ShapeLLM, Table {number}" for number in (1, 2, 3))
TABLE_10, TABLE_11, TABLE_15, TABLE_16 = (f"ShapeLLM, Table {number}" for number in (10, 11, 15, 16))
TABLE_17 = "ShapeLLM, Table 17"

_TABLE_1 = [
    *_two("table1/ipd", TABLE_1, "baseline", "Two naive learners converge to mutual defection", within(1.0, 0.05), within(1.0, 0.05)),
    Claim(
        "table1/ipd/shaper",
        TABLE_1,
        "A shaper exploits the naive learner: the shaper's reward per step.",
        3.96,
        per_round("shaper", "row"),
        at_least(3.5),
    ),
    Claim(
        "table1/ipd/naive",
        TABLE_1,
        "A shaper exploits the naive learner: the naive learner's reward per step.",
        0.10,
        per_round("shaper", "column"),
        at_most(0.6),
    ),
    Claim(
        "table1/ipd/shaper-above-cooperation",
        "ShapeLLM, section 5.1",
        "The shaper gets more than an extortion or tit-for-tat strategy could: more than mutual cooperation's 3.",
        3.96,
        per_round("shaper", "row"),
        ci_above(3.0),
    ),
    Claim(
        "table1/ipd/naive-below-defection",
        "ShapeLLM, section 5.1",
        "The naive learner gets less than mutual defection's payoff of 1.",
        0.10,
        per_round("shaper", "column"),
        ci_below(1.0),
    ),
    Claim(
        "table1/ipd/illegal",
        TABLE_1,
        "Illegal replies are rare in the shaping experiment (share of replies).",
        0.02,
        illegal("shaper"),
        at_most(0.03),
    ),
    Claim(
        "table1/ipd/phase-1",
        "ShapeLLM, section 5.1 and Figure 2",
        "In phase 1 the shaper sharply reduces its cooperation: how much faster it falls in the first tenth of training than in the middle third.",
        None,
        over_training("shaper", steepness_of_the_first_fall),
        ci_above(0.0),
    ),
    Claim(
        "table1/ipd/phase-2",
        "ShapeLLM, section 5.1 and Figure 2",
        "In phase 2 the shaper cooperates enough to keep its opponent cooperating: the opponent's cooperation in the middle third of training.",
        None,
        over_training("shaper", co_player_cooperation),
        at_least(0.7),
    ),
    Claim(
        "table1/ipd/phase-3",
        "ShapeLLM, section 5.1 and Figure 2",
        "In phase 3 the shaper's cooperation declines slowly: the decline between the middle third of training and the end.",
        None,
        over_training("shaper", late_fall),
        ci_above(0.0),
    ),
    Claim(
        "table1/ipd/exploitation",
        "ShapeLLM, section 5.1",
        "Exploitation is near maximal: the shaper's own cooperation at the end of training.",
        None,
        over_training("shaper", final_cooperation),
        at_most(0.15),
    ),
    *_two(
        "table1/imp", TABLE_1, "baseline", "Two naive learners play near the mixed equilibrium",
        within(0.0, 0.25), within(0.0, 0.25),
    ),
    *_two("table1/imp", TABLE_1, "shaper", "The shaper wins nearly every round", at_least(0.9), at_most(-0.9)),
    Claim(
        "table1/icg/baseline-equilibria",
        TABLE_1,
        "Every run of two naive learners ends in one of the two pure equilibria: distance of player 1's reward from 1 or 3.",
        0.0,
        mapped(per_round("baseline", "row"), lambda reward: min(abs(reward - 1.0), abs(reward - 3.0))),
        every_seed_at_most(0.15),
    ),
    *_two("table1/icg", TABLE_1, "shaper", "The shaper goes straight and its opponent swerves", at_least(2.9), at_most(1.1)),
]  # fmt: skip

_GOALS = {"ipd": (3.5, 0.6), "imp": (0.9, -0.9), "icg": (2.9, 1.1)}
"""The shaper's least and its opponent's largest reward, by game."""

_TABLE_2 = [
    claim
    for game, (shaper, opponent) in _GOALS.items()
    for percent in ("75", "50", "25")
    for claim in _two(
        f"table2/{game}",
        TABLE_2,
        f"opponent-{percent}",
        f"Shaping succeeds against an opponent that starts near {percent} % of its first action",
        at_least(shaper),
        at_most(opponent),
    )
] + [
    Claim(
        f"table2/{game}/cooperative-opponents-lose-more",
        "ShapeLLM, section 5.2",
        "Opponents that start more cooperative end with less: the reward of the opponent that starts near 25 % minus that of the one near 75 %.",
        published,
        difference(per_round("opponent-25", "column"), per_round("opponent-75", "column")),
        ci_above(0.0),
    )
    for game, published in (("ipd", 0.06), ("icg", 0.05))
]

_TABLE_3 = [
    *_two("table3/c-ipd", TABLE_3, "baseline", "Two naive learners defect", within(1.0, 0.05), within(1.0, 0.05)),
    *_two(
        "table3/c-ipd", TABLE_3, "shaper", "A shaper that gains from mutual cooperation leads both learners to it",
        at_least(5.5), at_least(2.6),
    ),
    Claim(
        "table3/ish/baseline-hare",
        TABLE_3,
        "Most runs of two naive learners end with both hunting hare: share of seeds.",
        0.90,
        mapped(per_round("baseline", "row"), lambda reward: float(abs(reward - 1.0) <= 0.2)),
        at_least(0.5),
    ),
    *_two("table3/ish", TABLE_3, "shaper", "With a shaper both hunt stag", at_least(3.8), at_least(3.8)),
]  # fmt: skip

_TABLE_10 = [
    *_two(
        "table10/ipd", TABLE_10, "enriched", "Episode counts alone change nothing in the prisoner's dilemma",
        within(1.0, 0.05), within(1.0, 0.05),
    ),
    *_two(
        "table10/imp", TABLE_10, "enriched", "Episode counts alone change nothing in matching pennies",
        within(0.0, 0.25), within(0.0, 0.25),
    ),
    *_two(
        "table10/icg", TABLE_10, "enriched-alternative", "Against a learner that starts by going straight, episode counts do not help",
        at_most(1.1), at_least(2.9),
    ),
]  # fmt: skip

_PROMPT_GOALS = {
    "ipd": {"table-format": (3.0, 1.0), "switched-order": (3.5, 0.6)},
    "imp": {"table-format": (0.9, -0.9), "switched-order": (0.9, -0.9)},
    "icg": {"table-format": (2.9, 1.1), "switched-order": (2.5, 1.5)},
}

_TABLE_11 = [
    claim
    for game, arms in _PROMPT_GOALS.items()
    for arm, (shaper, opponent) in arms.items()
    for claim in _two(
        f"table11/{game}",
        TABLE_11,
        arm,
        f"Shaping succeeds with another prompt ({arm.replace('-', ' ')})",
        at_least(shaper),
        at_most(opponent),
    )
]

_TABLE_15 = [
    Claim(
        f"table15/{game}/shaper-{rounds}",
        TABLE_15,
        f"The shaper does equally well in games of {rounds} rounds and in those of 20: difference of its rewards per step.",
        published,
        difference(per_round(f"shaper@{rounds}", "row"), per_round("shaper", "row")),
        within(0.0, 0.1),
    )
    for game, published in (("ipd", 0.01), ("imp", 0.0), ("icg", 0.01))
    for rounds in (50, 100)
]

_TABLE_16 = [
    claim
    for arm, what in (("state-only", "only the last round"), ("episode-only", "only the episode"))
    for claim in (
        *_two(
            "table16/ipd",
            TABLE_16,
            arm,
            f"A shaper that sees {what} ends in mutual defection",
            within(1.0, 0.1),
            within(1.0, 0.1),
        ),
        Claim(
            f"table16/ipd/{arm}-transient",
            "ShapeLLM, appendix A.8 and Figure 9",
            f"A shaper that sees {what} has a temporary advantage: its reward minus its opponent's in its best tenth of training.",
            None,
            over_training(arm, early_advantage),
            ci_above(0.0),
        ),
    )
]

_TABLE_17 = [
    *_two(
        "table17/ipd", TABLE_17, "baseline", "Two naive learners of another family of models defect",
        within(1.0, 0.1), within(1.0, 0.1),
    ),
    *_two("table17/ipd", TABLE_17, "shaper", "A shaper of another family exploits the naive learner", at_least(3.5), at_most(0.6)),
    Claim(
        "table17/ipd/shaper-above-cooperation",
        "ShapeLLM, appendix A.9",
        "The result is that of the first model: the shaper gets more than mutual cooperation's 3.",
        3.97,
        per_round("shaper", "row"),
        ci_above(3.0),
    ),
    Claim(
        "table17/ipd/naive-below-defection",
        "ShapeLLM, appendix A.9",
        "The result is that of the first model: the naive learner gets less than mutual defection's 1.",
        0.10,
        per_round("shaper", "column"),
        ci_below(1.0),
    ),
    *(
        Claim(
            f"table17/ipd/illegal-{arm}",
            TABLE_17,
            f"After alignment illegal replies are rare, {where} (share of replies).",
            published,
            illegal(arm),
            at_most(0.01),
        )
        for arm, where, published in (("baseline", "between naive learners", 0.0), ("shaper", "with a shaper", 0.001))
    ),
]  # fmt: skip

CLAIMS: tuple[Claim, ...] = (
    *_TABLE_1,
    *_TABLE_2,
    *_TABLE_3,
    *_TABLE_10,
    *_TABLE_11,
    *_TABLE_15,
    *_TABLE_16,
    *_TABLE_17,
)
"""All claims, in the order of the tables."""
