"""Pools of co-players (Table 14), ours and the paper's.

The paper demands that each strategy is in one pool alone (section 3.2), and has some in two. Ours keep the rule: where Table 14 breaks it, a strategy
stays in the pool that it is made for, and one that is not in the table takes its other place. The table's column of Kuhn poker is garbled; it is read
as the published code has it. The shifted pools, which the paper names without listing, are strategies of our choice that no other pool has.
"""

from __future__ import annotations

from collections.abc import Mapping

from coplay.runs.pools import BEST_RESPONSES, Pools

POOLS: Mapping[str, Pools] = {
    "ipd-8": Pools(
        train=("tit_for_tat", "generous_tit_for_tat", "random:0.5", "grim_trigger"),
        exploit=("always_defect", "alternator_defect_first"),
        collusive=("always_cooperate",),
        shifted=("tit_for_two_tats", "win_stay_lose_shift", "suspicious_tit_for_tat", "random:0.2"),
    ),
    "auction": Pools(
        train=("truthful", "conservative", "shaded", "adaptive"),
        exploit=("aggressive",),
        collusive=("collusive_low",),
        shifted=("value_bid", "aggressive_value", "uniform"),
    ),
    "negotiation-v1": Pools(
        train=("balanced", "concede", "tit_for_tat_neg"),
        exploit=("selfish", "hardball"),
        collusive=("fair",),
        shifted=("always:4", "always:9", "uniform"),
    ),
    "negotiation-v2": Pools(
        train=("tit_for_tat_neg", "concede", "proportional"),
        exploit=("greedy", "hardball"),
        collusive=("fair",),
        shifted=("conservative", "adaptive", "defensive"),
    ),
    "kuhn": Pools(
        train=("nash:0", "tight_passive", "loose_aggressive"),
        exploit=("nash", "always_bet"),
        shifted=("nash:0.2", "always_pass", "tight_value", "pot_control"),
    ),
}
"""Pools without a strategy in two of them."""

BEST_RESPONSE_POOLS = POOLS["kuhn"].model_copy(
    update={"exploit": (*POOLS["kuhn"].exploit, BEST_RESPONSES), "respond_every": 1, "response_samples": 50}
)
"""Those of Kuhn poker, and the learner's own best responses, a new one every trial: fresh ones count for more than many."""

BEST_RESPONSES_ALONE = BEST_RESPONSE_POOLS.model_copy(update={"exploit": (BEST_RESPONSES,)})
"""The same without scripted exploiters."""

LARGE_POOLS = POOLS["kuhn"].model_copy(update={"exploit": ("nash", "always_bet", "always_pass_queen", "uniform")})
"""Those of Kuhn poker with every scripted strategy that is in no other pool among the exploiters."""

PAPER_POOLS: Mapping[str, Pools] = {
    "ipd-8": POOLS["ipd-8"],
    "auction": POOLS["auction"],
    "negotiation-v1": Pools(
        train=("fair", "balanced", "concede", "hardball"),
        exploit=("selfish", "hardball"),
        collusive=("fair",),
        shifted=POOLS["negotiation-v1"].shifted,
        allow_overlap=True,
    ),
    "negotiation-v2": Pools(
        train=("fair", "tit_for_tat_neg", "concede"),
        exploit=("greedy", "hardball"),
        collusive=("fair",),
        shifted=POOLS["negotiation-v2"].shifted,
        allow_overlap=True,
    ),
    "kuhn": Pools(
        train=("nash", "tight_passive", "loose_aggressive"),
        exploit=("nash", "always_bet"),
        shifted=POOLS["kuhn"].shifted,
        allow_overlap=True,
    ),
}
"""Table 14 as printed."""
