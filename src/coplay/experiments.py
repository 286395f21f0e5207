"""Experiments: what a paper's table says of one game, with the recipes behind each column; and how to find them."""

from __future__ import annotations

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


def all_experiments() -> list[Experiment]:
    """Every experiment, table by table, in the order of the papers."""
    from coplay.recipes.shapellm.tables import EXPERIMENTS

    return list(EXPERIMENTS)


def experiments_of(id: str, game: str | None = None) -> list[Experiment]:
    """The experiments that an id stands for: a table's, or with ``PAPER`` alone all of the paper's.

    Args:
        id: ``shapellm/table1``, or ``shapellm``.
        game: one game alone.

    Raises:
        UsageError: for an unknown id, or a game that it does not have; with the nearest one.
    """
    known = list(dict.fromkeys(experiment.id for experiment in all_experiments()))
    papers = {name.partition("/")[0] for name in known}
    found = [experiment for experiment in all_experiments() if id in (experiment.id, experiment.id.partition("/")[0])]
    if not found:
        raise unknown("experiment", id, [*known, *papers])
    if game is None:
        return found
    games = list(dict.fromkeys(experiment.game for experiment in found))
    if game not in games:
        raise unknown(f"game of {id}", game, games)
    return [experiment for experiment in found if experiment.game == game]
