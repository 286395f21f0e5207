"""What experiments behind explanations are to show: the paper's sentences with one cause changed, by the tables' rules, and the explanations themselves."""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import SeedCount, illegal, mapped, margin, over_training, paired, per_round, replies_of
from coplay.evaluation.rules import at_least, at_most, ci_above, every_seed_within, within
from coplay.recipes.shapellm.claim_makers import GOALS, favours_row, near_hare
from coplay.recipes.shapellm.explanations import PENNIES_RATES, STAG_LABELS, word
from coplay.recipes.shapellm.measures import swerving_left

PAPERS, OURS = "ShapeLLM's statement, with one cause changed", "coplay's explanation of a difference from ShapeLLM"
"""Where these claims come from."""


def _pennies_claims(rate: float) -> tuple[Claim, ...]:
    """The baseline's and the shaper's sentences of Table 1, by its rules."""
    baseline, shaper = f"baseline-{word(rate)}", f"shaper-{word(rate)}"
    return (
        Claim(
            f"explanations/imp/{baseline}",
            PAPERS,
            f"At a constant rate of {word(rate)} every run of two naive learners ends near the mixed equilibrium: player 1's reward per step.",
            -0.03,
            per_round(baseline, "row"),
            every_seed_within(0.0, 0.25),
            margins=margin(baseline, "row"),
        ),
        Claim(
            f"explanations/imp/{shaper}",
            PAPERS,
            f"A shaper 2.4 times faster than an opponent with a constant rate of {word(rate)} wins nearly every round: its reward per step.",
            0.99,
            per_round(shaper, "row"),
            at_least(GOALS["imp"][0]),
        ),
    )


def _stag_claims(name: str, labels: tuple[str, str]) -> tuple[Claim, ...]:
    """The sentences of Table 3 that fail with the usual labels, and the one that a shaper leads both to hunt stag."""
    baseline, shaper, words = f"baseline-{name}", f"shaper-{name}", " and ".join(labels)
    hunts_hare = mapped(per_round(baseline, "row"), near_hare)
    return (
        Claim(
            f"explanations/ish/{baseline}-hare",
            OURS,
            f"With {words} as column's labels most runs of two naive learners end with both hunting hare: share of seeds.",
            0.90,
            hunts_hare,
            at_least(0.5),
            SeedCount(hunts_hare),
        ),
        *(
            Claim(
                f"explanations/ish/{shaper}-{seat}",
                PAPERS,
                f"With {words} as column's labels a shaper leads both to hunt stag: {who}'s reward per step.",
                3.96,
                per_round(shaper, seat),
                at_least(3.8),
            )
            for seat, who in (("row", "the shaper"), ("column", "the opponent"))
        ),
    )


_FAVOURED = mapped(per_round("enriched-slower", "row"), favours_row)
"""Whether a seed ends in the equilibrium of chicken that favours player 1."""

CLAIMS: tuple[Claim, ...] = (
    *(claim for rate in PENNIES_RATES for claim in _pennies_claims(rate)),
    *(claim for name, labels in STAG_LABELS.items() for claim in _stag_claims(name, labels)),
    Claim(
        "explanations/icg/switched-order-entropy-row",
        PAPERS,
        "With the paper's entropy bonus shaping succeeds in reversed order: the shaper's reward per step.",
        2.77,
        per_round("switched-order-entropy", "row"),
        at_least(2.5),
    ),
    Claim(
        "explanations/icg/entropy-helps",
        OURS,
        "The entropy bonus decides there: the shaper's reward with it minus that without, on the same seeds.",
        None,
        paired("switched-order-entropy", "switched-order", seat="row"),
        ci_above(0.0),
    ),
    Claim(
        "explanations/icg/faster-row",
        PAPERS,
        "Four times as fast the shaper still makes its opponent swerve: the shaper's reward per step.",
        2.98,
        per_round("faster", "row"),
        at_least(GOALS["icg"][0]),
    ),
    Claim(
        "explanations/icg/faster-stops-swerving-early",
        PAPERS,
        "Four times as fast the shaper sharply reduces swerving early in training: its rate of swerving after a fifth of training, relative to that of the first trial.",
        None,
        over_training("faster", swerving_left),
        at_most(0.5),
    ),
    Claim(
        "explanations/icg/enriched-slower-favoured",
        PAPERS,
        "Where both learn a quarter as fast most runs end in the equilibrium that favours the player with counts: share of seeds.",
        0.80,
        _FAVOURED,
        at_least(0.5),
        SeedCount(_FAVOURED),
    ),
    *(
        Claim(
            f"explanations/c-ipd/slower-{seat}",
            PAPERS,
            f"Two naive learners a quarter as fast defect: player {number}'s reward per step.",
            1.00,
            per_round("slower-baseline", seat),
            within(1.0, 0.05),
        )
        for number, seat in ((1, "row"), (2, "column"))
    ),
    Claim(
        "explanations/ipd/longer-shaper",
        PAPERS,
        "Another model, aligned for longer, shapes: the shaper's reward per step.",
        3.97,
        per_round("longer", "row"),
        at_least(GOALS["ipd"][0]),
    ),
    *(
        Claim(
            f"explanations/ipd/illegal-{arm}",
            PAPERS,
            f"After a longer alignment illegal replies are rare, {where} (share of replies).",
            published,
            illegal(arm),
            at_most(0.01),
            replies_of(arm),
        )
        for arm, where, published in (
            ("longer-baseline", "between naive learners", 0.0),
            ("longer", "with a shaper", 0.001),
        )
    ),
    Claim(
        "explanations/ipd/alignment-decides",
        OURS,
        "The alignment decides whether the other model shapes: the shaper's reward with it minus that without, on the same seeds.",
        None,
        paired("longer", "unaligned", seat="row"),
        ci_above(0.0),
    ),
)
"""Game by game."""
