"""What the paper says in words of training and of single agents. The rules were fixed from the text before anything was measured."""

from __future__ import annotations

from collections.abc import Iterator

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    Results,
    SeedCount,
    best,
    difference,
    first,
    late,
    mapped,
    share_of,
    versus,
)
from coplay.evaluation.rules import at_least, at_most, ci_above
from coplay.recipes.adalign.figures import COOPERATE, DEFECT
from coplay.recipes.adalign.measures import claim, own, share_of_cooperation
from coplay.recipes.adalign.variants import TITLES

ALL_COINS, NO_COINS = 8.0, 2.0
"""Mean proposals that count as everything and as nothing, of ten; as in Figure 8."""


def _naive_learners() -> Iterator[Claim]:
    """Figure 2 and section 5.1."""
    reward = "reward/learner"
    for game in ("split-no-comm", "trust-and-split"):
        peak, end = best("grpo", reward), late("grpo", reward)
        yield claim(
            f"figure2/{game}/rises",
            "section 5.1",
            "Naive learners briefly achieve more before they collapse: the reward of the best tenth of training minus that of the first trial.",
            difference(peak, first("grpo", reward)),
            ci_above(0.0),
        )
        yield claim(
            f"figure2/{game}/collapses",
            "section 5.1",
            "Naive learners collapse back to greedy behaviour: how much of the best tenth's gain over mutual defection is lost in the last tenth.",
            share_of(difference(peak, end), difference(peak, own(DEFECT))),
            at_least(0.9),
        )
    yield claim(
        "figure2/split-no-comm/bids-highest",
        "section 5.1",
        "Naive learners bid the highest for every item even when they value it less: their mean bid for such an item late in training.",
        late("grpo", "asked/less"),
        at_least(ALL_COINS),
        published=10.0,
    )
    yield claim(
        "figure2/trust-and-split/honest-messages",
        "section 5.1",
        "Naive learners communicate their hands honestly: share of truthful messages late in training.",
        late("grpo", "truthful"),
        at_least(0.9),
    )
    yield claim(
        "figure2/trust-and-split/takes-all",
        "section 5.1",
        "Then they propose to take all coins for themselves: their mean proposal with the lower hand late in training.",
        late("grpo", "asked/less"),
        at_least(ALL_COINS),
        published=10.0,
    )


def _aligned() -> Iterator[Claim]:
    """Figures 3 and 4, section 5.2: with trained cooperators and defectors."""
    begin, place = "figure4/trust-and-split", "Figure 4, section 5.2"
    yield claim(
        "figure3/split-no-comm/loses-little",
        "section 5.2",
        "Paired with defectors the aligned agent's performance decreases only slightly: its reward as a share of mutual defection's.",
        share_of(versus("adalign", DEFECT), own(DEFECT)),
        at_least(0.9),
    )
    yield claim(
        f"{begin}/with-trained-cooperators",
        place,
        "The aligned agent cooperates with trained cooperators: the reward of learners for the sum against it, as a share of the cooperative payoff.",
        share_of_cooperation(versus("sum", "adalign")),
        at_least(0.8),
    )
    yield claim(
        f"{begin}/defectors-take-the-maximum",
        place,
        "Trained defectors obtain the maximum reward from learners for the sum: as a share of what a defector gets from a cooperator.",
        share_of(versus("grpo", "sum"), versus(DEFECT, COOPERATE)),
        at_least(0.97),
    )
    naive = own("grpo")
    yield claim(
        f"{begin}/defects-with-defectors",
        "section 5.2",
        "The aligned agent almost always defects when paired with trained defectors: what it loses there against defection, as a share of what"
        " learners for the sum lose.",
        share_of(difference(naive, versus("adalign", "grpo")), difference(naive, versus("sum", "grpo"))),
        at_most(0.1),
    )


def _exploiters() -> Iterator[Claim]:
    """Figure 6a and appendix 11. The paper has Trust-and-Split alone, against GPT-5 nano."""
    for game in TITLES:
        yield claim(
            f"figure6/{game}/victim-loses",
            "Figure 6a",
            "The fixed agent's reward falls while a learner learns to exploit it: its reward in the first trial minus that late in training.",
            difference(first("against-cooperate", "reward/co_player"), late("against-cooperate", "reward/co_player")),
            ci_above(0.0),
        )
    yield claim(
        "figure6/trust-and-split/lies",
        "section 5.3 and Figure 9",
        "The learner that exploits a fixed agent sometimes misstates its hand: share of untruthful messages late in training.",
        mapped(late("against-cooperate", "truthful"), lambda share: 1.0 - share),
        at_least(0.05),
    )


def _both_hands(results: Results) -> list[float]:
    """Of each seed, whether the aligned agent proposes all coins with the upper hand and none with the lower one, late in training."""
    more = mapped(late("adalign", "asked/more"), lambda coins: float(coins >= ALL_COINS))
    less = mapped(late("adalign", "asked/less"), lambda coins: float(coins <= NO_COINS))
    return [both[0] * both[1] for both in zip(more(results), less(results), strict=True)]


def _hands() -> Iterator[Claim]:
    """Figure 8."""
    yield claim(
        "figure8/trust-and-split/most-seeds",
        "Figure 8",
        "The pattern occurs in the majority of seeds (6 of 8): share of seeds that propose about 10 coins with the upper hand and about 0 with the lower"
        " one.",
        _both_hands,
        at_least(0.5),
        published=0.75,
        counted=SeedCount(_both_hands),
    )


IN_WORDS: tuple[Claim, ...] = (*_naive_learners(), *_aligned(), *_exploiters(), *_hands())
"""Figure by figure."""
