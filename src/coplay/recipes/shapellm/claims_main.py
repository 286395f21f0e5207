"""What ShapeLLM says in its main text, Tables 1 to 3, claim by claim."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    SeedCount,
    difference,
    illegal,
    mapped,
    margin,
    over_training,
    per_round,
    replies_of,
    state,
    state_margin,
)
from coplay.evaluation.rules import (
    at_least,
    at_most,
    ci_above,
    ci_below,
    every_seed_at_least,
    every_seed_at_most,
    every_seed_within,
    within,
)
from coplay.recipes.shapellm.claim_makers import (
    EXTORTION,
    GOALS,
    TABLE_1,
    TABLE_3,
    from_equilibrium,
    near_hare,
    shaping,
    two_seats,
    zero_sum,
)
from coplay.recipes.shapellm.measures import (
    co_player_cooperation,
    final_cooperation,
    late_fall,
    steepness_of_the_first_fall,
)

_T1 = [
    *two_seats("table1/ipd", TABLE_1, "baseline", "Two naive learners converge to mutual defection", within(1.0, 0.05), within(1.0, 0.05)),
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
        "table1/ipd/shaper-above-extortion",
        "ShapeLLM, section 5.1",
        "The shaper gets more than any zero-determinant extortion strategy (at most 11/3) or tit for tat (at most 3) could.",
        3.96,
        per_round("shaper", "row"),
        ci_above(EXTORTION),
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
        replies_of("shaper"),
        in_text=True,
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
    zero_sum("table1/imp", TABLE_1, "baseline", "In every run two naive learners play near the mixed equilibrium", every_seed_within(0.0, 0.25)),
    zero_sum("table1/imp", TABLE_1, "shaper", "The shaper wins nearly every round", at_least(0.9)),
    Claim(
        "table1/icg/baseline-mean",
        TABLE_1,
        "Two naive learners end as often in one pure equilibrium as in the other: player 1's reward per step, within the paper's own interval.",
        2.00,
        per_round("baseline", "row"),
        within(2.0, 0.58),
    ),
    Claim(
        "table1/icg/baseline-equilibria",
        TABLE_1,
        "Every run of two naive learners ends in one of the two pure equilibria: distance of player 1's reward from 1 or 3.",
        0.0,
        mapped(per_round("baseline", "row"), from_equilibrium),
        every_seed_at_most(0.15),
        margins=margin("baseline", "row"),
    ),
    *two_seats("table1/icg", TABLE_1, "shaper", "The shaper goes straight and its opponent swerves", at_least(2.9), at_most(1.1)),
]  # fmt: skip

_T2 = [
    claim
    for game, goals in GOALS.items()
    for percent in ("75", "50", "25")
    for claim in shaping(
        2,
        game,
        f"opponent-{percent}",
        f"Shaping succeeds against an opponent that starts near {percent} % of its first action",
        goals,
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

_HUNTS_HARE = mapped(per_round("baseline", "row"), near_hare)
"""Whether a seed ends with both hunting hare."""

_T3 = [
    *two_seats("table3/c-ipd", TABLE_3, "baseline", "Two naive learners defect", within(1.0, 0.05), within(1.0, 0.05)),
    *two_seats(
        "table3/c-ipd", TABLE_3, "shaper", "A shaper that gains from mutual cooperation leads both learners to it",
        at_least(5.5), at_least(2.6),
    ),
    Claim(
        "table3/ish/baseline-hare",
        TABLE_3,
        "Most runs of two naive learners end with both hunting hare: share of seeds.",
        0.90,
        _HUNTS_HARE,
        at_least(0.5),
        SeedCount(_HUNTS_HARE),
    ),
    Claim(
        "table3/ish/baseline-mean",
        TABLE_3,
        "Two naive learners get little more than by hunting hare: player 1's reward per step, within the paper's own interval.",
        1.30,
        per_round("baseline", "row"),
        within(1.3, 0.52),
    ),
    *two_seats("table3/ish", TABLE_3, "shaper", "With a shaper both hunt stag", at_least(3.8), at_least(3.8)),
    Claim(
        "table3/ish/every-run-hunts-stag",
        "ShapeLLM, section 6",
        "With a shaper every run ends with both hunting stag: share of rounds.",
        None,
        state("shaper", "SS"),
        every_seed_at_least(0.9),
        margins=state_margin("shaper", "SS"),
    ),
    Claim(
        "table3/c-ipd/every-run-cooperates",
        "ShapeLLM, section 6",
        "With a shaper all runs achieve mutual cooperation: share of rounds.",
        None,
        state("shaper", "CC"),
        every_seed_at_least(0.9),
        margins=state_margin("shaper", "CC"),
    ),
]  # fmt: skip

MAIN: tuple[Claim, ...] = (*_T1, *_T2, *_T3)
"""Table by table."""
