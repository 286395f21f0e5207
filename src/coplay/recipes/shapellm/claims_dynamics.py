"""What ShapeLLM says in words of training and of policies. The rules were fixed from the text before anything was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import (
    Measure,
    SeedCurves,
    action,
    action_margin,
    difference,
    mapped,
    only_where,
    over_training,
    paired_by,
    per_round,
)
from coplay.evaluation.rules import Rule, at_least, at_most, ci_above, ci_within, every_seed_at_most
from coplay.recipes.shapellm.claim_makers import GOALS
from coplay.recipes.shapellm.measures import (
    cooperation_of_both,
    final_share,
    initial_share,
    rarer_of_two,
    swerving_left,
    time_ahead,
    time_to_half,
)

FIRST_ACTION = {"ipd": ("CC", "CD"), "icg": ("SS", "SG")}
"""The joint actions in which row plays its cooperative action: cooperates, swerves."""


def _claim(
    id: str,
    place: str,
    text: str,
    measure: Measure,
    rule: Rule,
    published: float | None = None,
    margins: Measure | None = None,
) -> Claim:
    return Claim(id, f"ShapeLLM, {place}", text, published, measure, rule, margins=margins)


def _apart(a: str, b: str, number: Callable[[SeedCurves], float]) -> Measure:
    """Seed by seed, a number of one arm's training minus that of another's."""
    return paired_by(a, b, lambda arm: over_training(arm, number))


def _from_even(arm: str) -> Measure:
    """How far from one half a player's share of heads is, of the two the farther."""
    row, column = (mapped(action(arm, seat, "heads"), lambda share: abs(share - 0.5)) for seat in ("row", "column"))
    return lambda results: [max(one, other) for one, other in zip(row(results), column(results), strict=True)]


def _margin_from_even(arm: str) -> Measure:
    """The half-width of each seed's interval of these shares, of the two the longer."""
    row, column = (action_margin(arm, seat, "heads") for seat in ("row", "column"))
    return lambda results: [max(one, other) for one, other in zip(row(results), column(results), strict=True)]


def _table_1() -> Iterator[Claim]:
    """Section 5.1."""
    yield _claim(
        "table1/ipd/starts-cooperative",
        "section 5.1",
        "The shaper starts from high cooperation: its rate of cooperation in the first trial.",
        over_training("shaper", initial_share(*FIRST_ACTION["ipd"])),
        at_least(0.5),
    )
    yield _claim(
        "table1/icg/stops-swerving-early",
        "section 5.1 and Figure 2",
        "The shaper sharply reduces swerving early in training: its rate of swerving after a fifth of training, relative to that of the first trial.",
        over_training("shaper", swerving_left),
        at_most(0.5),
    )
    yield _claim(
        "table1/imp/equal-visits",
        "section 5.1 and Figure 2",
        "With a shaper play converges to (H, H) and (T, T) in equal shares: the share of the less frequent of the two in the last tenth of training.",
        over_training("shaper", rarer_of_two("HH", "TT")),
        at_least(0.4),
        0.5,
    )
    yield _claim(
        "table1/imp/baseline-mixes",
        "section 5.1",
        "In every run both naive learners mix their actions near the equilibrium: how far a player's share of heads is from one half, of the two the"
        " farther.",
        _from_even("baseline"),
        every_seed_at_most(0.25),
        0.0,
        _margin_from_even("baseline"),
    )


def _table_2() -> Iterator[Claim]:
    """Section 5.2."""
    for game, states in FIRST_ACTION.items():
        yield _claim(
            f"table2/{game}/faster-against-cooperative",
            "section 5.2 and Figure 16",
            "Against more cooperative opponents shapers reduce their own cooperation more rapidly: the share of training until they cooperate in less"
            " than half of the rounds, against the opponent that starts near 25 % minus that against the one near 75 %.",
            _apart("opponent-25", "opponent-75", time_to_half(*states)),
            ci_above(0.0),
        )
        yield _claim(
            f"table2/{game}/deeper-against-cooperative",
            "section 5.2 and Figure 16",
            "Against more cooperative opponents shapers reach lower final cooperation: that in the last tenth of training against the opponent that"
            " starts near 25 % minus that against the one near 75 %.",
            _apart("opponent-25", "opponent-75", final_share(*states)),
            ci_above(0.0),
        )
    rewards = [per_round(f"opponent-{percent}", "row") for percent in ("25", "75")]
    yield _claim(
        "table2/imp/no-sensitivity",
        "section 5.2",
        "Shapers that shape in matching pennies (at least 0.9) do so equally well against every opponent: reward against the one that starts near"
        " 25 % minus that against the one near 75 %.",
        only_where(difference(*rewards), rewards[0], lambda reward: reward >= GOALS["imp"][0]),
        ci_within(0.0, 0.1),
        0.03,
    )


def _table_16() -> Iterator[Claim]:
    """Appendix A.8."""
    text = "the shaper that sees the episode minus the one that sees the last round."
    for name, sentence, number in (
        (
            "longer-advantage",
            "The shaper's advantage lasts longer with the episode's history: the share of trials in which it is ahead by at least 0.1,",
            time_ahead,
        ),
        (
            "more-cooperation",
            "With the episode's history the agents maintain higher cooperation: the mean of both over training,",
            cooperation_of_both,
        ),
    ):
        yield _claim(
            f"table16/ipd/{name}",
            "appendix A.8 and Figure 9",
            f"{sentence} {text}",
            _apart("episode-only", "state-only", number),
            ci_above(0.0),
        )


DYNAMICS: tuple[Claim, ...] = (*_table_1(), *_table_2(), *_table_16())
"""Section by section."""
