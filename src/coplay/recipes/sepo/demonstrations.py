"""SEPO's demonstrations (appendices A and H): mixtures of Tables 6 and 13, which agree, and sizes of Table 12.

The paper says how many opponents there are, five in each game, and not which. Ours are those of Table 14 that try to earn, without repeats; in
the IPD without the alternator, in Kuhn poker with the uniform player as the fifth.
"""

from __future__ import annotations

from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.sepo import reasons

SEED = 42
"""Of the data (appendix H.1)."""

VALIDATION = 0.2
"""Share of the episodes that are kept for validation (appendix H.1: 80/20)."""

DEMONSTRATIONS = {
    one.game: one
    for one in (
        Demonstrations(
            "ipd-8",
            {
                "tit_for_tat": 0.33,
                "always_defect": 0.27,
                "grim_trigger": 0.22,
                "random:0.5": 0.08,
                "generous_tit_for_tat": 0.05,
                "always_cooperate": 0.05,
            },
            ("tit_for_tat", "generous_tit_for_tat", "random:0.5", "grim_trigger", "always_defect"),
            episodes=200,
            rounds=8,
            reason=reasons.ipd,
        ),
        Demonstrations(
            "auction",
            {"value_bid": 0.44, "aggressive_value": 0.28, "adaptive": 0.20, "uniform": 0.08},
            ("truthful", "conservative", "shaded", "adaptive", "aggressive"),
            episodes=267,
            rounds=6,
            reason=reasons.auction,
        ),
        Demonstrations(
            "negotiation-v1",
            {"fair": 0.32, "balanced": 0.27, "concede": 0.18, "tit_for_tat_neg": 0.15, "uniform": 0.08},
            ("fair", "balanced", "concede", "selfish", "hardball"),
            episodes=400,
            rounds=4,
            reason=reasons.negotiation,
        ),
        Demonstrations(
            "negotiation-v2",
            {"proportional": 0.35, "conservative": 0.25, "adaptive": 0.25, "defensive": 0.15},
            ("fair", "tit_for_tat_neg", "concede", "greedy", "hardball"),
            episodes=200,
            rounds=4,
            reason=reasons.items,
        ),
        Demonstrations(
            "kuhn",
            {"nash": 0.45, "tight_value": 0.25, "pot_control": 0.20, "uniform": 0.08, "always_pass_queen": 0.02},
            ("nash", "tight_passive", "loose_aggressive", "always_bet", "uniform"),
            episodes=200,
            rounds=6,
            reason=reasons.kuhn,
        ),
    )
}
"""Of each of the paper's games."""
