"""ShapeLLM's published numbers, table by table, with the recipes behind each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coplay.recipes.experiments import Alignment, Arm, Experiment, Published
from coplay.recipes.shapellm.settings import ALIGNMENT_RATES
from coplay.recipes.shapellm.variants import MODEL, TITLES

Number = tuple[float, float | None]
"""Mean and half-width of the interval, if it is given."""

Pair = tuple[Number, Number]
"""Row's and column's."""

_BASELINE, _SHAPER = ("Player 1", "Player 2"), ("Shaper", "Opponent")
_ENRICHED = ("Player 1 (enriched)", "Player 2")
"""Names of row and column in the tables."""

_LABELS = {
    "enriched": "Player 1 sees counts",
    "enriched-alternative": "Player 1 sees counts, other labels",
    "table-format": "Payoffs as a table",
    "switched-order": "Order reversed",
    "opponent-75": "First action near 75 %",
    "opponent-50": "First action near 50 %",
    "opponent-25": "First action near 25 %",
    "state-only": "Shaper sees the last round",
    "episode-only": "Shaper sees the episode",
}
"""Arms of one recipe each, as a reader is shown them."""

ALIGNED = Alignment("ipd-second-model", MODEL, ALIGNMENT_RATES)
"""Appendix A.9: the second model is fine-tuned to play as the first one does before any learning."""


def _rows(arm: str, roles: tuple[str, str], numbers: Sequence[Number], *, rounds: int = 20) -> list[Published]:
    """One row a seat, as far as there are numbers."""
    return [
        Published(arm, seat, role, value, ci95, rounds)
        for seat, role, (value, ci95) in zip(("row", "column"), roles, numbers, strict=False)
    ]


def _experiment(
    number: int, game: str, topic: str, arms: Sequence[Arm], table: Sequence[Published], *, text_only: bool = False
) -> Experiment:
    title = ", ".join(filter(None, (f"ShapeLLM, Table {number}: {TITLES[game]}", topic)))
    return Experiment(f"shapellm/table{number}", game, title, tuple(arms), tuple(table), text_only=text_only)


def _baseline_and_shaper(
    number: int, game: str, baseline: Pair, shaper: Pair, *, second_model: bool = False
) -> Experiment:
    """Tables 1, 3 and 17."""
    recipe, ready = (f"shapellm/{game}-second-model", ALIGNED) if second_model else (f"shapellm/{game}", None)
    ten = second_model or game in ("icg", "c-ipd", "ish")
    arms = (
        Arm("baseline", "Baseline: two naive learners", f"{recipe}-baseline", twice_the_seeds=ten, preparation=ready),
        Arm("shaper", "Shaper versus naive learner", recipe, preparation=ready),
    )
    table = (*_rows("baseline", _BASELINE, baseline), *_rows("shaper", _SHAPER, shaper))
    return _experiment(number, game, "another model" * second_model, arms, table, text_only=second_model)


def _variants(
    number: int,
    game: str,
    topic: str,
    numbers: Mapping[str, Sequence[Number]],
    *,
    roles: tuple[str, str] = _SHAPER,
    text_only: bool = False,
) -> Experiment:
    """Tables 2, 10, 11 (as far as the text of appendix A.5 has its numbers) and 16: arms of a recipe each."""
    arms = [Arm(arm, _LABELS[arm], f"shapellm/{game}-{arm}") for arm in numbers]
    table = [row for arm, own in numbers.items() for row in _rows(arm, roles, own)]
    return _experiment(number, game, topic, arms, table, text_only=text_only)


def _opponents(game: str, numbers: Mapping[str, Pair]) -> Experiment:
    return _variants(2, game, "other opponents", numbers)


def _enriched(game: str, numbers: Mapping[str, Pair]) -> Experiment:
    return _variants(10, game, "enriched observations", numbers, roles=_ENRICHED)


def _prompts(game: str, numbers: Mapping[str, Sequence[Number]]) -> Experiment:
    return _variants(11, game, "other prompts", numbers, text_only=True)


def _lengths(game: str, numbers: Mapping[int, Pair]) -> Experiment:
    """Table 15: Table 1's shapers in games of other lengths."""
    table = [row for rounds, own in numbers.items() for row in _rows("shaper", _SHAPER, own, rounds=rounds)]
    return _experiment(
        15, game, "longer games", [Arm("shaper", "Shaper versus naive learner", f"shapellm/{game}")], table
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    _baseline_and_shaper(1, "ipd", ((1.00, 0.00), (1.00, 0.00)), ((3.96, 0.01), (0.10, 0.04))),
    _baseline_and_shaper(1, "imp", ((-0.03, 0.09), (0.03, 0.09)), ((0.99, 0.01), (-0.99, 0.01))),
    _baseline_and_shaper(1, "icg", ((2.00, 0.58), (2.00, 0.58)), ((2.98, 0.01), (1.01, 0.01))),
    _opponents(
        "ipd",
        {
            "opponent-75": ((3.99, 0.01), (0.01, 0.02)),
            "opponent-50": ((3.95, 0.01), (0.04, 0.03)),
            "opponent-25": ((3.98, 0.02), (0.07, 0.07)),
        },
    ),
    _opponents(
        "imp",
        {
            "opponent-75": ((0.96, 0.02), (-0.96, 0.02)),
            "opponent-50": ((0.99, 0.01), (-0.99, 0.01)),
            "opponent-25": ((0.99, 0.01), (-0.99, 0.01)),
        },
    ),
    _opponents(
        "icg",
        {
            "opponent-75": ((3.00, 0.00), (1.00, 0.00)),
            "opponent-50": ((2.99, 0.01), (1.01, 0.01)),
            "opponent-25": ((2.95, 0.01), (1.05, 0.01)),
        },
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
    _variants(
        16,
        "ipd",
        "less history",
        {"state-only": ((0.99, 0.00), (1.02, 0.01)), "episode-only": ((0.99, 0.01), (1.02, 0.02))},
    ),
    _baseline_and_shaper(17, "ipd", ((1.04, 0.05), (0.99, 0.02)), ((3.97, 0.01), (0.10, 0.2)), second_model=True),
)
"""All of them, table by table."""
