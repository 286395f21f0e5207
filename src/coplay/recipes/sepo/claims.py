"""SEPO's findings as claims, with ours beside them. Thresholds are in points per round unless said; nothing was measured on the published seeds before."""

from __future__ import annotations

from collections.abc import Iterator

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Measure, difference
from coplay.evaluation.rules import Rule, at_least, at_most, ci_above, ci_below, ci_within
from coplay.recipes.sepo.measures import best_of_pool, best_response, measured, safety
from coplay.recipes.sepo.settings import TITLES, WEIGHTS

PAPER = "Safe Equilibrium Policy Optimization for Strategic Agent Policies"
"""The paper, as claims name it."""

OURS = "coplay, a comparison that is not in SEPO"
"""Where claims of ours come from."""

NEAR_ZERO = {"kuhn": 0.05, "negotiation-v1": 0.05}
"""What counts as no exploit: in chips a hand, and in parts of a pie of 10."""

UNMOVED = {"ipd-8": 0.15, "kuhn": 0.05}
"""By how much exploit may differ where it should not move; the dilemma's base has 1.5, that of poker 0.6."""

_TABLE = {"ipd-8": 2, "auction": 3, "negotiation-v1": 4, "negotiation-v2": 4, "kuhn": 5}
_GAINS = {"ipd-8": 0.011, "auction": 1.149, "negotiation-v1": 4.24, "negotiation-v2": 2.51, "kuhn": 1.019}
"""Figure 1, from the tables: Gemma 4's, in negotiation v1 Qwen's."""


def _exploit(arm: str, checkpoint: str = "selected") -> Measure:
    return measured(arm, "exploit_over_agent", "last" if checkpoint == "last" else "selected")


def _paper(id: str, place: str, text: str, measure: Measure, rule: Rule, published: float | None = None) -> Claim:
    return Claim(id, f"{PAPER}, {place}", text, published, measure, rule)


def _ours(id: str, text: str, measure: Measure, rule: Rule) -> Claim:
    return Claim(id, OURS, text, None, measure, rule)


def _stages(game: str) -> Iterator[Claim]:
    """Figure 1 and Table 8: base, SFT, SEPO."""
    number = _TABLE[game]
    yield _paper(
        f"table{number}/{game}/safer-than-base",
        f"Figure 1, Table {number}",
        "SEPO is safer than the base model: the objective at the selected checkpoint minus that of the model before any training.",
        difference(safety("sepo", game), safety("base", game)),
        ci_above(0.0),
        _GAINS[game],
    )
    yield _paper(
        f"table8/{game}/sft-degrades",
        "section 6, Table 8",
        "Fine-tuning on demonstrations makes the model more exploitable: exploit after SFT minus that of the base model.",
        difference(_exploit("sft"), _exploit("base")),
        ci_above(0.0),
    )
    yield _paper(
        f"table8/{game}/sepo-corrects",
        "section 6, Table 8",
        "SEPO corrects what fine-tuning did to exploit: exploit at the selected checkpoint minus that after SFT.",
        difference(_exploit("sepo"), _exploit("sft")),
        ci_below(0.0),
    )


def _games() -> Iterator[Claim]:
    """What the paper says of single games."""
    yield _paper(
        "table2/ipd-8/less-exploit-than-base",
        "section 5.1, Table 2 (Qwen)",
        "SEPO is less exploitable than the base model in the dilemma: its exploit minus the base model's.",
        difference(_exploit("sepo"), _exploit("base")),
        ci_below(0.0),
        -3.75,
    )
    yield _paper(
        "table3/auction/exploit-does-not-vanish",
        "section 5.2, appendix F",
        "In the auction exploit does not vanish: what the aggressive bidder gains over SEPO's selected checkpoint.",
        _exploit("sepo"),
        ci_above(0.0),
        0.021,
    )
    yield _paper(
        "table3/auction/negative-safety",
        "section 5.2, Table 3",
        "In the auction safety stays negative even after SEPO.",
        safety("sepo", "auction"),
        ci_below(0.0),
        -0.9,
    )
    yield _paper(
        "table3/auction/highest-payoff",
        "section 5.2, Table 3",
        "SEPO earns more in the auction than the warm start: payoff per round minus that after SFT.",
        difference(measured("sepo", "pay"), measured("sft", "pay")),
        ci_above(0.0),
        0.104,
    )
    yield _paper(
        "table4/negotiation-v1/no-exploit",
        "section 5.3, Table 4 (Qwen)",
        "SEPO ends without exploit in the negotiation about a pie.",
        _exploit("sepo"),
        at_most(NEAR_ZERO["negotiation-v1"]),
        0.0,
    )
    yield _paper(
        "table4/negotiation-v2/positive-safety",
        "section 5.3, Table 4 (Gemma 4)",
        "SEPO's safety is positive in the negotiation with private values.",
        safety("sepo", "negotiation-v2"),
        ci_above(0.0),
        2.19,
    )
    yield _paper(
        "table4/negotiation-v2/positive-advantage",
        "section 5.3, Table 4 (Gemma 4)",
        "SEPO gets more than its co-players in the negotiation with private values: its normalised relative advantage.",
        measured("sepo", "nra"),
        ci_above(0.0),
        0.17,
    )
    yield _paper(
        "table9/negotiation-v1/base-saturates",
        "appendix G.1, Table 9 (Gemma 4)",
        "The base model cannot be exploited in the negotiation about a pie.",
        _exploit("base"),
        at_most(NEAR_ZERO["negotiation-v1"]),
        0.0,
    )
    yield _paper(
        "table10/negotiation-v2/sepo-below-base",
        "appendix G.2, Table 10 (Qwen)",
        "SEPO does not reach the base model's safety in the negotiation with private values: its safety minus the base model's.",
        difference(safety("sepo", "negotiation-v2"), safety("base", "negotiation-v2")),
        ci_below(0.0),
        -0.69,
    )


def _kuhn() -> Iterator[Claim]:
    """Table 5."""
    yield _paper(
        "table5/kuhn/no-exploit",
        "section 5.4, Table 5",
        "SEPO's exploit reaches zero in Kuhn poker at the selected checkpoint.",
        _exploit("sepo"),
        at_most(NEAR_ZERO["kuhn"]),
        0.0,
    )
    yield _paper(
        "table5/kuhn/sft-no-exploit",
        "section 5.4, Table 5 (Gemma 4)",
        "Fine-tuning alone reaches zero exploit in Kuhn poker.",
        _exploit("sft"),
        at_most(NEAR_ZERO["kuhn"]),
        0.0,
    )
    yield _paper(
        "table5/kuhn/last-is-worse",
        "sections 3.5 and 8, Table 5 (Qwen)",
        "With a small KL weight the last checkpoint is worse than the selected one: its exploit minus that of the selected one.",
        difference(_exploit("small-beta", "last"), _exploit("small-beta")),
        ci_above(0.0),
        0.847,
    )
    yield _ours(
        "table5/kuhn/last-is-no-safer",
        "With a small KL weight the last checkpoint is easier to exploit than after SFT: what a best response gets minus that after SFT.",
        difference(best_response("small-beta", "last"), best_response("sft")),
        ci_above(0.0),
    )


def _gap(number: int, game: str) -> Iterator[Claim]:
    """What the pool hides."""
    yield _ours(
        f"table{number}/{game}/pool-is-not-the-worst",
        "The exploit pool does not bound what can be lost: what a best response gets from SEPO minus what the best of the exploit pool gets.",
        difference(best_response("sepo"), best_of_pool("sepo")),
        ci_above(0.0),
    )
    yield _ours(
        f"table{number}/{game}/not-harder-to-exploit",
        "A lower exploit is no lower exploitability: what a best response gets from SEPO minus what it gets after SFT.",
        difference(best_response("sepo"), best_response("sft")),
        ci_above(0.0),
    )


def _ablation(game: str) -> Iterator[Claim]:
    """Appendix D, and section 3.3's cancellation."""
    begin, tolerance = f"ablation/{game}", UNMOVED[game]
    yield _paper(
        f"{begin}/rollout-moves",
        "appendix D",
        "Penalties credited to the rollouts that earned them lower exploit, as fine-tuning left it: exploit of SEPO's last checkpoint minus that after SFT.",
        difference(_exploit("sepo", "last"), _exploit("sft")),
        ci_below(0.0),
    )
    yield _paper(
        f"{begin}/episode-does-not-move",
        "appendix D",
        "Advantages of whole episodes leave exploit where fine-tuning left it: exploit of the last checkpoint minus that after SFT.",
        difference(_exploit("episode", "last"), _exploit("sft")),
        ci_within(0.0, tolerance),
    )
    yield _paper(
        f"{begin}/shared-does-not-move",
        "sections 1 and 3.3",
        "A penalty that is shared by all rollouts teaches nothing: exploit of the last checkpoint minus that of payoff alone.",
        difference(_exploit("shared", "last"), _exploit("payoff", "last")),
        ci_within(0.0, tolerance),
    )
    yield _ours(
        f"{begin}/auxiliary-does-not-move",
        "A penalty of a rollout's own from other games teaches nothing either: exploit of the last checkpoint minus that of payoff alone.",
        difference(_exploit("auxiliary", "last"), _exploit("payoff", "last")),
        ci_within(0.0, tolerance),
    )
    yield _ours(
        f"{begin}/rollout-below-shared",
        "Credit decides: exploit of the last checkpoint with credit to rollouts minus that with a shared penalty.",
        difference(_exploit("sepo", "last"), _exploit("shared", "last")),
        ci_below(0.0),
    )


def _weights(game: str) -> Iterator[Claim]:
    """Each weight moves the number that it is a weight of."""
    of = {"exploit": "exploit_over_agent", "collusion": "collusion", "externality": "externality"}
    for (term, name), weight in zip(of.items(), WEIGHTS[game], strict=True):
        if weight > 0:
            yield _ours(
                f"weights/{game}/{term}",
                f"The weight on {term} alone lowers it: {term} of the last checkpoint minus that of payoff alone.",
                difference(measured(term, name, "last"), measured("payoff", name, "last")),
                ci_below(0.0),
            )


def _pools() -> Iterator[Claim]:
    """Larger and growing pools."""
    begin = "pools/kuhn"
    for arm, what in (
        ("large-pool", "Every scripted strategy in the exploit pool"),
        ("best-responses", "Best responses that join the exploit pool"),
        ("best-responses-alone", "Best responses as the exploit pool"),
    ):
        yield _ours(
            f"{begin}/{arm}",
            f"{what}: the policy ends nearer to an equilibrium than with the paper's pool. What a best response gets from the last checkpoint"
            " minus what it gets with the paper's pool.",
            difference(best_response(arm, "last"), best_response("fixed-pool", "last")),
            ci_below(0.0),
        )
    yield _ours(
        f"{begin}/pool-does-not-tell",
        "The paper's exploit does not tell these policies apart: exploit of the last checkpoint with best responses minus that with the paper's pool.",
        difference(_exploit("best-responses", "last"), _exploit("fixed-pool", "last")),
        ci_within(0.0, NEAR_ZERO["kuhn"]),
    )
    yield _ours(
        f"{begin}/no-exploit-and-yet",
        "With the paper's pool a best response still wins a twentieth of a chip a hand at least, from a policy with next to no exploit.",
        best_response("fixed-pool", "last"),
        at_least(0.05),
    )


CLAIMS: tuple[Claim, ...] = (
    *(claim for game in TITLES for claim in _stages(game)),
    *_games(),
    *_kuhn(),
    *(
        claim
        for game, number in (("ipd-8", 2), ("auction", 3), ("negotiation-v1", 4), ("kuhn", 5))
        for claim in _gap(number, game)
    ),
    *(claim for game in ("ipd-8", "kuhn") for claim in _ablation(game)),
    *(claim for game in ("ipd-8", "auction", "negotiation-v1", "negotiation-v2") for claim in _weights(game)),
    *_pools(),
)
"""All of them."""
