"""What ShapeLLM says in its appendix, Tables 10 to 17, claim by claim."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    SeedCount,
    difference,
    illegal,
    mapped,
    margin,
    only_where,
    over_training,
    per_round,
    replies_of,
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
    TABLE_10,
    TABLE_15,
    TABLE_16,
    TABLE_17,
    favours_row,
    from_equilibrium,
    shaping,
    two_seats,
    zero_sum,
)
from coplay.recipes.shapellm.measures import early_advantage, worst_tenth

_FAVOURED = mapped(per_round("enriched", "row"), favours_row)
"""Whether a seed ends in the equilibrium that favours player 1."""

_TABLE_10 = [
    *two_seats(
        "table10/ipd", TABLE_10, "enriched", "Episode counts alone change nothing in the prisoner's dilemma",
        within(1.0, 0.05), within(1.0, 0.05),
    ),
    zero_sum("table10/imp", TABLE_10, "enriched", "Episode counts alone change nothing in any run of matching pennies", every_seed_within(0.0, 0.25)),
    *two_seats(
        "table10/icg", TABLE_10, "enriched", "Where both have the same labels the player with counts ends better, within the paper's own interval",
        within(2.60, 0.76), within(1.38, 0.74),
    ),
    Claim(
        "table10/icg/enriched-equilibria",
        "ShapeLLM, appendix A.4",
        "Each of these runs ends in one of the two pure equilibria: distance of player 1's reward from 1 or 3.",
        None,
        mapped(per_round("enriched", "row"), from_equilibrium),
        every_seed_at_most(0.15),
        margins=margin("enriched", "row"),
    ),
    Claim(
        "table10/icg/enriched-favoured",
        "ShapeLLM, appendix A.4",
        "Most of these runs end in the equilibrium that favours the player with counts: share of seeds.",
        0.80,
        _FAVOURED,
        at_least(0.5),
        SeedCount(_FAVOURED),
    ),
    *two_seats(
        "table10/icg", TABLE_10, "enriched-alternative", "Against a learner that starts by going straight, episode counts do not help",
        at_most(1.1), at_least(2.9),
    ),
]  # fmt: skip

_PROMPT_GOALS = {
    "ipd": {"table-format": (3.0, 1.0), "switched-order": (3.5, 0.6)},
    "imp": {"table-format": (0.9, -0.9), "switched-order": (0.9, -0.9)},
    "icg": {"table-format": (2.9, 1.1), "switched-order": (2.5, 1.5)},
}

_SENTENCES = {
    "imp": "With another prompt ({}) the shaper beats the opponent that is left at the end of training",
    "ipd": "Shaping succeeds with another prompt ({})",
    "icg": "Shaping succeeds with another prompt ({})",
}
"""In matching pennies an opponent that has settled after it won is beaten too, so there the sentence is about the end alone."""

_TABLE_11 = [
    *(
        claim
        for game, arms in _PROMPT_GOALS.items()
        for arm, goals in arms.items()
        for claim in shaping(11, game, arm, _SENTENCES[game].format(arm.replace("-", " ")), goals)
    ),
    *(
        Claim(
            f"table11/imp/{arm}-not-beaten",
            "ShapeLLM, appendix A.5",
            f"The shaper steers its opponent there ({arm.replace('-', ' ')}) and does not only beat one that has settled after it won: the shaper's"
            " reward per step in its worst tenth of training.",
            None,
            over_training(arm, worst_tenth),
            every_seed_at_least(-0.25),
        )
        for arm in _PROMPT_GOALS["imp"]
    ),
]


def _longer_games(game: str, rounds: int, published: tuple[float, float]) -> list[Claim]:
    """Table 15: a difference between lengths says something of a shaper that shapes alone; of any other it is undecided."""
    shaper = per_round("shaper", "row")
    goal = GOALS[game][0]

    def kept(who: str, seat: str, number: float) -> Claim:
        return Claim(
            f"table15/{game}/{who}-{rounds}",
            TABLE_15,
            f"A shaper that shapes (at least {goal:g} in 20 rounds) does so in games of {rounds} rounds too: difference of the {who}'s rewards"
            " per step.",
            number,
            only_where(
                difference(per_round(f"shaper@{rounds}", seat), per_round("shaper", seat)),
                shaper,
                lambda reward: reward >= goal,
            ),
            within(0.0, 0.1),
        )

    both = [kept("shaper", "row", published[0]), kept("opponent", "column", published[1])]
    return both[:1] if game == "imp" else both


_TABLE_15 = [
    claim
    for game, published in (("ipd", (0.01, -0.01)), ("imp", (0.0, 0.0)), ("icg", (0.01, 0.0)))
    for rounds in (50, 100)
    for claim in _longer_games(game, rounds, published)
]

_TABLE_16 = [
    claim
    for arm, what in (("state-only", "only the last round"), ("episode-only", "only the episode"))
    for claim in (
        *two_seats(
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
    *two_seats(
        "table17/ipd", TABLE_17, "baseline", "Two naive learners of another family of models defect",
        within(1.0, 0.1), within(1.0, 0.1),
    ),
    *two_seats("table17/ipd", TABLE_17, "shaper", "A shaper of another family exploits the naive learner", at_least(3.5), at_most(0.6)),
    Claim(
        "table17/ipd/shaper-above-extortion",
        "ShapeLLM, appendix A.9",
        "The result is that of the first model: the shaper gets more than any extortion strategy could (at most 11/3).",
        3.97,
        per_round("shaper", "row"),
        ci_above(EXTORTION),
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
            replies_of(arm),
        )
        for arm, where, published in (("baseline", "between naive learners", 0.0), ("shaper", "with a shaper", 0.001))
    ),
]  # fmt: skip

APPENDIX: tuple[Claim, ...] = (*_TABLE_10, *_TABLE_11, *_TABLE_15, *_TABLE_16, *_TABLE_17)
"""Table by table."""
