"""Experiments: the tables of the papers, with the recipes behind each column and the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coplay.errors import unknown


@dataclass(frozen=True)
class Published:
    """One number of a published table."""

    arm: str
    """Which arm it is of."""
    seat: str
    """Which seat."""
    role: str
    """The table's name for that seat."""
    value: float
    """Mean reward per step."""
    ci95: float | None
    """Its 95 % interval's half-width, if it is given."""
    rounds: int = 20
    """Rounds of the games it was measured on."""


@dataclass(frozen=True)
class Arm:
    """One treatment."""

    name: str
    """Identifier within the experiment."""
    label: str
    """What a reader is shown."""
    recipe: str
    """The recipe."""
    twice_the_seeds: bool = False
    """Whether the paper has ten seeds here where it has five elsewhere."""


@dataclass(frozen=True)
class Experiment:
    """What one table says of one game."""

    id: str
    """``PAPER/TABLE``."""
    game: str
    """The game."""
    title: str
    """For the report."""
    arms: tuple[Arm, ...]
    """Its arms, in the order to be told."""
    table: tuple[Published, ...]
    """The published numbers."""
    text_only: bool = False
    """Whether it is about words, so that tabular learners cannot take part."""

    @property
    def name(self) -> str:
        """A name for directories: ``table1-ipd``."""
        return f"{self.id.partition('/')[2]}-{self.game}"

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of games it evaluates, beyond that of training."""
        return tuple(sorted({row.rounds for row in self.table} - {20}))


TITLES = {
    "ipd": "Iterated Prisoner's Dilemma",
    "imp": "Iterated Matching Pennies",
    "icg": "Iterated Chicken Game",
    "c-ipd": "Cooperative IPD",
    "ish": "Iterated Stag Hunt",
}

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

_ALL = (
    _baseline_and_shaper(1, "ipd", ((1.00, 0.00), (1.00, 0.00)), ((3.96, 0.01), (0.10, 0.04))),
    _baseline_and_shaper(1, "imp", ((-0.03, 0.09), (0.03, 0.09)), ((0.99, 0.01), (-0.99, 0.01))),
    _baseline_and_shaper(1, "icg", ((2.00, 0.58), (2.00, 0.58)), ((2.98, 0.01), (1.01, 0.01))),
    _opponents(
        "ipd",
        {
            "75": ((3.99, 0.01), (0.01, 0.02)),
            "50": ((3.95, 0.01), (0.04, 0.03)),
            "25": ((3.98, 0.02), (0.07, 0.07)),
        },
    ),
    _opponents(
        "imp",
        {
            "75": ((0.96, 0.02), (-0.96, 0.02)),
            "50": ((0.99, 0.01), (-0.99, 0.01)),
            "25": ((0.99, 0.01), (-0.99, 0.01)),
        },
    ),
    _opponents(
        "icg",
        {
            "75": ((3.00, 0.00), (1.00, 0.00)),
            "50": ((2.99, 0.01), (1.01, 0.01)),
            "25": ((2.95, 0.01), (1.05, 0.01)),
        },
    ),
    _baseline_and_shaper(3, "c-ipd", ((1.00, 0.00), (1.00, 0.00)), ((5.88, 0.03), (2.86, 0.02))),
    _baseline_and_shaper(3, "ish", ((1.30, 0.52), (1.30, 0.52)), ((3.96, 0.02), (3.96, 0.02))),
    _enriched("ipd", {"enriched": ((1.00, 0.00), (1.00, 0.00))}),
    _enriched("imp", {"enriched": ((-0.05, 0.09), (0.05, 0.09))}),
    _enriched(
        "icg",
        {
            "enriched": ((2.60, 0.76), (1.38, 0.74)),
            "enriched-alternative": ((1.00, 0.00), (3.00, 0.00)),
        },
    ),
    _prompts("ipd", {"table-format": ((3.5, None), (0.53, None)), "switched-order": ((3.99, None),)}),
    _prompts("imp", {"table-format": ((0.94, None), (-0.94, None)), "switched-order": ((0.94, None), (-0.94, None))}),
    _prompts("icg", {"table-format": ((2.99, None), (1.01, None)), "switched-order": ((2.77, None),)}),
    _lengths(
        "ipd",
        {
            20: ((3.96, 0.01), (0.10, 0.04)),
            50: ((3.97, 0.01), (0.09, 0.04)),
            100: ((3.97, 0.01), (0.09, 0.04)),
        },
    ),
    _lengths(
        "imp",
        {
            20: ((0.99, 0.01), (-0.99, 0.01)),
            50: ((0.99, 0.01), (-0.99, 0.01)),
            100: ((0.99, 0.01), (-0.99, 0.01)),
        },
    ),
    _lengths(
        "icg",
        {
            20: ((2.98, 0.01), (1.01, 0.01)),
            50: ((2.99, 0.01), (1.01, 0.01)),
            100: ((2.99, 0.00), (1.01, 0.01)),
        },
    ),
    _HISTORIES,
)

EXPERIMENTS: dict[str, dict[str, Experiment]] = {}
"""What can be reproduced: id, then game."""
for _experiment in _ALL:
    EXPERIMENTS.setdefault(_experiment.id, {})[_experiment.game] = _experiment


def experiments_of(id: str, game: str | None = None) -> list[Experiment]:
    """The experiments that an id stands for: a table's, or with ``PAPER`` alone all of the paper's.

    Args:
        id: ``shapellm/table1``, or ``shapellm``.
        game: one game alone.

    Raises:
        UsageError: for an unknown id, or a game that it does not have; with the nearest one.
    """
    papers = {name.partition("/")[0] for name in EXPERIMENTS}
    tables = [name for name in EXPERIMENTS if id in (name, name.partition("/")[0])]
    if not tables:
        raise unknown("experiment", id, [*EXPERIMENTS, *papers])
    found = [experiment for name in tables for experiment in EXPERIMENTS[name].values()]
    if game is None:
        return found
    games = list(dict.fromkeys(experiment.game for experiment in found))
    if game not in games:
        raise unknown(f"game of {id}", game, games)
    return [experiment for experiment in found if experiment.game == game]
