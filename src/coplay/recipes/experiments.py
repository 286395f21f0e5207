"""Experiments: what a paper's table says of one game, and what its figures show, with the recipes behind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coplay.runs.settings import Setting
from coplay.statistics import mean_ci95

if TYPE_CHECKING:
    from coplay.evaluation.measures import Measure, Results
    from coplay.recipes.demonstrations import Demonstrations
    from coplay.recipes.kinds import ReciprocalIn, Scale
    from coplay.recipes.sft import SftSettings


@dataclass(frozen=True)
class Published:
    """One row of a table: a number of an arm, and the paper's for it if there is one."""

    arm: str
    """Which arm it is of."""
    seat: str
    """Which seat; empty for a number of the arm as a whole."""
    role: str
    """The table's name for that seat or number."""
    value: float | None
    """The paper's number; None where nothing is published, as for arms of our own."""
    ci95: float | None = None
    """Its 95 % interval's half-width, if it is given."""
    rounds: int = 20
    """Rounds of the games it was measured on."""
    measure: Measure | None = None
    """What is measured; None for the seat's mean reward per step."""
    second: float | None = None
    """The number of the paper's second model, in tables of two."""
    setting: str = ""
    """The name of the setting that it was measured in; empty for that of training."""


@dataclass(frozen=True)
class Preparation:
    """What is done once before the arms that name it are trained: an adapter that their learners start from."""

    name: str
    """Of its directory; arms of one name share it."""


@dataclass(frozen=True)
class Alignment(Preparation):
    """Their model is aligned to another one, or to its own policy with legal replies alone (:mod:`coplay.experiments.align`)."""

    targets: Mapping[Scale, str]
    """What it is aligned to, by scale: a model, or ``own``."""
    learning_rates: Mapping[Scale, float] = field(default_factory=dict)
    """The alignment's rate, by scale; the target's default where there is none."""
    reciprocity: float = 0.0
    """With the target ``own``: the share of tit for tat that is mixed into it."""
    reciprocal_in: ReciprocalIn = "counts"
    """Which prompts that is in: those of shapers alone, so that naive learners start the same whatever the share; or ``all``."""
    prompts: int | None = None
    """How many prompts are trained on; the target's default where it is not said."""
    epochs: int | None = None
    """Passes over them; the target's default where it is not said."""


@dataclass(frozen=True)
class WarmStart(Preparation):
    """Their model is fine-tuned on demonstrations of their game (:mod:`coplay.experiments.sft`)."""

    demonstrations: Demonstrations
    """What is shown."""
    settings: Mapping[Scale, SftSettings]
    """How, by scale; the arms that start from it must have the shape of its adapter."""
    seed: int
    """Of the demonstrations and of the training, whatever the seeds of the arms."""


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
    preparation: Preparation | None = None
    """What every learner of the arm starts from, and is pulled towards; None for the model as it is."""
    against: str | None = None
    """The recipe of an arm trained before, whose outcome is this arm's frozen co-player."""
    cell: tuple[str, str] | None = None
    """Its place in a map of pairs: row's learner and column's, as a reader is shown them."""


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
    """Its arms, in the order of the report."""
    table: tuple[Published, ...]
    """Its rows, with the published numbers."""
    meets: tuple[str, ...] = ()
    """The players of the cross-play after training: arms by name, and scripted players."""
    watched: tuple[str, str] | None = None
    """The players whose games are recorded after training, first seat's and second's: arms by name, and scripted players."""
    text_only: bool = False
    """Whether it is about words or needs language models beside tables, so that it cannot be run on tables alone."""
    extra: bool = False
    """Whether it is ours and not the paper's: run by its own id, not with the whole paper."""
    settings: Mapping[Scale, tuple[Setting, ...]] = field(default_factory=dict)
    """Settings other than that of training in which every arm is evaluated too, by scale."""
    models: tuple[str, ...] = ()
    """The paper's models that the published numbers are of, one or two; empty for that of the recipes at the paper's scale."""

    @property
    def name(self) -> str:
        """A name for directories: ``table1-ipd``."""
        return f"{self.id.partition('/')[2]}-{self.game}"

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of games it evaluates, beyond that of training."""
        return tuple(sorted({row.rounds for row in self.table} - {20}))

    def evaluations(self, scale: Scale) -> tuple[Setting, ...]:
        """All settings that it evaluates, beyond that of training: games of other lengths first."""
        return (*map(Setting.of_length, self.lengths), *self.settings.get(scale, ()))


@dataclass(frozen=True)
class Panel:
    """One arm in a figure."""

    experiment: str
    """The table whose arm it is, ``shapellm/table1``."""
    game: str
    """The game."""
    arm: str
    """The arm's name there."""
    title: str
    """What stands above it; of checkpoints and maps, panels of one title are drawn together."""
    setting: str = ""
    """The setting of the evaluation that is shown; empty for that of training."""
    family: str = ""
    """The training of which the arm is a checkpoint; empty for an arm that was not trained."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a paper: which runs it shows, and what of them."""

    id: str
    """``PAPER/FIGURE``."""
    title: str
    """For the report."""
    caption: str
    """What is drawn, in our words."""
    panels: tuple[Panel, ...]
    """The arms, row by row."""
    columns: int
    """Panels in a row."""
    shows: tuple[str, ...] = ("reward", "states")
    """``reward`` and ``states`` over training, one above the other; or ``labels``, first policies for every pair of labels; or ``gain``, how much
    a row of the table is higher in every second panel's arm than in the one before it; or ``actions``, what a mediator did over training; or rows
    of tables by checkpoint: ``checkpoints``, perhaps with ``training``, the mediator's reward; ``frontier``, two rows against each other, the mean
    over the settings shown; or ``map``, families and their checkpoints by setting."""
    row: str = ""
    """The row of the tables: of ``gain``, ``checkpoints``, ``map``, and upwards of ``frontier``."""
    across: str = ""
    """The row of the tables to the right, of ``frontier``."""
    marked: float | None = None
    """What a line marks: of ``actions`` a trial, of ``frontier`` a value to the right."""
    mark: str = ""
    """The name of what is marked."""
    reference: str = ""
    """The label of the arm that others are compared with, of ``frontier``."""
    text_only: bool = False
    """Whether it is about words, so that tabular learners cannot take part."""

    @property
    def name(self) -> str:
        """A name for directories: ``figure2``."""
        return self.id.partition("/")[2]

    @property
    def games(self) -> tuple[str, ...]:
        """The games it shows."""
        return tuple(dict.fromkeys(panel.game for panel in self.panels))


@dataclass(frozen=True)
class TableRow:
    """Our number beside the published one."""

    arm: str
    """The arm; ``ARM@SETTING`` for games in another setting than that of training, ``ARM@ROUNDS`` for games of another length."""
    seat: str
    """The seat; empty for a number of the arm as a whole."""
    role: str
    """The table's name for that seat or number."""
    published: float | None
    """The paper's number; None where nothing is published."""
    published_ci95: float | None
    """Half-width of the paper's 95 % interval, if it is given."""
    measured: float | None
    """Our mean over seeds; None if no seed has a number."""
    ci95: float | None
    """Half-width of its 95 % t-interval; None for a single seed."""
    n_seeds: int
    """Number of seeds."""
    second: float | None = None
    """The number of the paper's second model, in tables of two."""


def table_rows(experiment: Experiment, results: Results, *, only: str | None = None) -> list[TableRow]:
    """Our numbers beside the published ones, of all arms or of one alone in games of the length it was trained in."""
    rows = []
    for published in experiment.table:
        setting = str(published.rounds) if published.rounds in experiment.lengths else published.setting
        if only is not None and (published.arm != only or setting):
            continue
        arm = f"{published.arm}@{setting}" if setting else published.arm
        measured = _measured(published, arm, results)
        rows.append(
            TableRow(arm, published.seat, published.role, published.value, published.ci95, *measured, published.second)
        )
    return rows


def _measured(published: Published, arm: str, results: Results) -> tuple[float | None, float | None, int]:
    """Mean over seeds, half-width of its interval, and number of seeds."""
    if published.measure is not None:
        values = [value for value in published.measure(results) if math.isfinite(value)]
        if not values:
            return (None, None, 0)
        interval = mean_ci95(values)
        return (interval.mean, interval.half_width, interval.n)
    ours = results.evals[arm]["seats"][published.seat]["per_round"]
    return (None, None, 0) if ours is None else (ours["mean"], ours["ci95"], ours["n"])
