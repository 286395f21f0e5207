"""ShapeLLM's published numbers, table by table, with the recipes behind each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coplay.recipes.experiments import Arm, Experiment, Preparation, Published
from coplay.recipes.shapellm.settings import ALIGNMENT_RATES
from coplay.recipes.shapellm.variants import MODEL, TITLES

Number = tuple[float, float | None]
"""Mean and half-width of the interval, if it is given."""

Pair = tuple[Number, Number]
"""Row's and column's."""


def _rows(arm: str, numbers: Sequence[Number], roles: tuple[str, str], *, rounds: int = 20) -> list[Published]:
    """One row a seat, as far as there are numbers."""
    return [
        Published(arm, seat, role, value, ci95, rounds)
        for seat, role, (value, ci95) in zip(("row", "column"), roles, numbers, strict=False)
    ]


_BASELINE, _SHAPER = ("Player 1", "Player 2"), ("Shaper", "Opponent")


def _baseline_and_shaper(number: int, game: str, baseline: Pair, shaper: Pair) -> Experiment:
    """Tables 1 and 3."""
    return Experiment(
        id=f"shapellm/table{number}",
        game=game,
        title=f"ShapeLLM, Table {number}: {TITLES[game]}",
        arms=(
            Arm(
                "baseline",
                "Baseline: two naive learners",
                f"shapellm/{game}-baseline",
                twice_the_seeds=game in ("icg", "c-ipd", "ish"),
            ),
            Arm("shaper", "Shaper versus naive learner", f"shapellm/{game}"),
        ),
        table=(*_rows("baseline", baseline, _BASELINE), *_rows("shaper", shaper, _SHAPER)),
    )


def _opponents(game: str, pairs: Mapping[str, Pair]) -> Experiment:
    """Table 2."""
    return Experiment(
        id="shapellm/table2",
        game=game,
        title=f"ShapeLLM, Table 2: {TITLES[game]}, other opponents",
        arms=tuple(
            Arm(f"opponent-{percent}", f"First action near {percent} %", f"shapellm/{game}-opponent-{percent}")
            for percent in pairs
        ),
        table=tuple(row for percent, pair in pairs.items() for row in _rows(f"opponent-{percent}", pair, _SHAPER)),
    )


def _enriched(game: str, pairs: Mapping[str, Pair]) -> Experiment:
    """Table 10."""
    labels = {"enriched": "Player 1 sees counts", "enriched-alternative": "Player 1 sees counts, other labels"}
    return Experiment(
        id="shapellm/table10",
        game=game,
        title=f"ShapeLLM, Table 10: {TITLES[game]}, enriched observations",
        arms=tuple(Arm(arm, labels[arm], f"shapellm/{game}-{arm}") for arm in pairs),
        table=tuple(
            row for arm, pair in pairs.items() for row in _rows(arm, pair, ("Player 1 (enriched)", "Player 2"))
        ),
    )


def _prompts(game: str, pairs: Mapping[str, Sequence[Number]]) -> Experiment:
    """Table 11, as far as the text of appendix A.5 has its numbers."""
    labels = {"table-format": "Payoffs as a table", "switched-order": "Order reversed"}
    return Experiment(
        id="shapellm/table11",
        game=game,
        title=f"ShapeLLM, Table 11: {TITLES[game]}, other prompts",
        arms=tuple(Arm(arm, labels[arm], f"shapellm/{game}-{arm}") for arm in pairs),
        table=tuple(row for arm, numbers in pairs.items() for row in _rows(arm, numbers, _SHAPER)),
        text_only=True,
    )


def _lengths(game: str, pairs: Mapping[int, Pair]) -> Experiment:
    """Table 15: Table 1's shapers in games of other lengths."""
    return Experiment(
        id="shapellm/table15",
        game=game,
        title=f"ShapeLLM, Table 15: {TITLES[game]}, longer games",
        arms=(Arm("shaper", "Shaper versus naive learner", f"shapellm/{game}"),),
        table=tuple(row for rounds, pair in pairs.items() for row in _rows("shaper", pair, _SHAPER, rounds=rounds)),
    )


_HISTORIES = Experiment(
    id="shapellm/table16",
    game="ipd",
    title="ShapeLLM, Table 16: Iterated Prisoner's Dilemma, less history",
    arms=(
        Arm("state-only", "Shaper sees the last round", "shapellm/ipd-state-only"),
        Arm("episode-only", "Shaper sees the episode", "shapellm/ipd-episode-only"),
    ),
    table=(
        *_rows("state-only", ((0.99, 0.00), (1.02, 0.01)), _SHAPER),
        *_rows("episode-only", ((0.99, 0.01), (1.02, 0.02)), _SHAPER),
    ),
)

ALIGNED = Preparation("ipd-second-model", MODEL, ALIGNMENT_RATES)
"""Appendix A.9: the second model is fine-tuned to play as the first one does before any learning."""

_SECOND_MODEL = Experiment(
    id="shapellm/table17",
    game="ipd",
    title="ShapeLLM, Table 17: Iterated Prisoner's Dilemma, another model",
    arms=(
        Arm(
            "baseline",
            "Baseline: two naive learners",
            "shapellm/ipd-second-model-baseline",
            twice_the_seeds=True,
            preparation=ALIGNED,
        ),
        Arm("shaper", "Shaper versus naive learner", "shapellm/ipd-second-model", preparation=ALIGNED),
    ),
    table=(
        *_rows("baseline", ((1.04, 0.05), (0.99, 0.02)), _BASELINE),
        *_rows("shaper", ((3.97, 0.01), (0.10, 0.2)), _SHAPER),
    ),
    text_only=True,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    _baseline_and_shaper(1, "ipd", ((1.00, 0.00), (1.00, 0.00)), ((3.96, 0.01), (0.10, 0.04))),
    _baseline_and_shaper(1, "imp", ((-0.03, 0.09), (0.03, 0.09)), ((0.99, 0.01), (-0.99, 0.01))),
    _baseline_and_shaper(1, "icg", ((2.00, 0.58), (2.00, 0.58)), ((2.98, 0.01), (1.01, 0.01))),
    _opponents(
        "ipd",
        {"75": ((3.99, 0.01), (0.01, 0.02)), "50": ((3.95, 0.01), (0.04, 0.03)), "25": ((3.98, 0.02), (0.07, 0.07))},
    ),
    _opponents(
        "imp",
        {"75": ((0.96, 0.02), (-0.96, 0.02)), "50": ((0.99, 0.01), (-0.99, 0.01)), "25": ((0.99, 0.01), (-0.99, 0.01))},
    ),
    _opponents(
        "icg",
        {"75": ((3.00, 0.00), (1.00, 0.00)), "50": ((2.99, 0.01), (1.01, 0.01)), "25": ((2.95, 0.01), (1.05, 0.01))},
    ),
    _baseline_and_shaper(3, "c-ipd", ((1.00, 0.00), (1.00, 0.00)), ((5.88, 0.03), (2.86, 0.02))),
    _baseline_and_shaper(3, "ish", ((1.30, 0.52), (1.30, 0.52)), ((3.96, 0.02), (3.96, 0.02))),
    _enriched("ipd", {"enriched": ((1.00, 0.00), (1.00, 0.00))}),
    _enriched("imp", {"enriched": ((-0.05, 0.09), (0.05, 0.09))}),
    _enriched("icg", {"enriched": ((2.60, 0.76), (1.38, 0.74)), "enriched-alternative": ((1.00, 0.00), (3.00, 0.00))}),
    _prompts("ipd", {"table-format": ((3.5, None), (0.53, None)), "switched-order": ((3.99, None),)}),
    _prompts("imp", {"table-format": ((0.94, None), (-0.94, None)), "switched-order": ((0.94, None), (-0.94, None))}),
    _prompts("icg", {"table-format": ((2.99, None), (1.01, None)), "switched-order": ((2.77, None),)}),
    _lengths(
        "ipd", {20: ((3.96, 0.01), (0.10, 0.04)), 50: ((3.97, 0.01), (0.09, 0.04)), 100: ((3.97, 0.01), (0.09, 0.04))}
    ),
    _lengths(
        "imp",
        {20: ((0.99, 0.01), (-0.99, 0.01)), 50: ((0.99, 0.01), (-0.99, 0.01)), 100: ((0.99, 0.01), (-0.99, 0.01))},
    ),
    _lengths(
        "icg", {20: ((2.98, 0.01), (1.01, 0.01)), 50: ((2.99, 0.01), (1.01, 0.01)), 100: ((2.99, 0.00), (1.01, 0.01))}
    ),
    _HISTORIES,
    _SECOND_MODEL,
)
"""All of them, table by table."""
