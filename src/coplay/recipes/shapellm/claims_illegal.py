"""What ShapeLLM says of illegal replies, table by table. Where it gives one share, up to .01 more counts as agreement; of a range, its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import Measure, illegal, replies_of, rounds_of, state
from coplay.evaluation.rules import at_most
from coplay.recipes.shapellm.tables import EXPERIMENTS

_OF_ACTIONS = {"table1/imp": 0.001, "table1/icg": 0.01, "table3/c-ipd": 0.02, "table3/ish": 0.001}
"""The shares of replies in the shaping experiments (Tables 1 and 3); the dilemma's and Table 17's have claims of their own."""

_OF_TRANSITIONS = {"table2": (0.02, 0.02), "table11": (0.04, 0.04), "table16": (0.01, 0.02)}
"""The share of rounds with an illegal reply, and what counts as agreement: Tables 2 and 11 give ranges, Table 16 about one per cent."""


def _mean_over(arms: Sequence[str]) -> Measure:
    """Each seed's share of rounds with an illegal reply, mean over arms of the same seeds."""
    measures = [state(arm, "I") for arm in arms]
    return lambda results: [sum(of) / len(of) for of in zip(*(one(results) for one in measures), strict=True)]


def _claims() -> Iterator[Claim]:
    for experiment, published in _OF_ACTIONS.items():
        table, _, _ = experiment.partition("/")
        yield Claim(
            f"{experiment}/illegal",
            f"ShapeLLM, Table {table.removeprefix('table')}",
            "Illegal replies are rare in the shaping experiment (share of replies).",
            published,
            illegal("shaper"),
            at_most(published + 0.01),
            replies_of("shaper"),
            in_text=True,
        )
    for one in EXPERIMENTS:
        table = one.id.partition("/")[2]
        if table not in _OF_TRANSITIONS:
            continue
        published, most = _OF_TRANSITIONS[table]
        arms = [arm.name for arm in one.arms]
        yield Claim(
            f"{table}/{one.game}/illegal",
            f"ShapeLLM, Table {table.removeprefix('table')}",
            "Rounds with an illegal reply are rare (share of rounds, mean over the arms).",
            published,
            _mean_over(arms),
            at_most(most),
            rounds_of(*arms),
            in_text=True,
        )


ILLEGAL: tuple[Claim, ...] = tuple(_claims())
"""Table by table."""
