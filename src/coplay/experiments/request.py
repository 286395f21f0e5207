"""Requests: what `coplay reproduce` is asked for, the arms that takes, and the directory that holds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from coplay.errors import UsageError
from coplay.evaluation.claims import Claim
from coplay.experiments import catalogue
from coplay.files.reading import expected_shape
from coplay.files.store import Store
from coplay.recipes import RECIPES, LearnerKind, Scale, make_config
from coplay.recipes.experiments import Arm, Experiment, FigureSpec
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.settings import Setting

WHAT = ("id", "game")
"""The parts of a request in which those that share a directory may differ."""


@dataclass(frozen=True)
class Request:
    """What to reproduce, and how."""

    id: str
    """A table, e.g. ``shapellm/table1``, a figure, e.g. ``shapellm/figure2``, or a whole paper's tables, e.g. ``shapellm``."""
    game: str | None = None
    """One of the games alone."""
    scale: Scale = "tiny"
    """Model and hyper-parameters."""
    learner: LearnerKind = "language_model"
    """What the learners are made of."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Seeds; where the paper has twice as many as elsewhere, as many again follow the largest."""
    model: str | None = None
    """Another model than the scale's, in all arms but those that are about a model of their own."""
    trials: int | None = None
    """Another number of trials than the recipes', in every arm that is trained."""
    align_to: str | None = None
    """Another model than the scale's for arms to be aligned to."""

    @property
    def slug(self) -> str:
        """A directory name that says what is in it."""
        parts = ["reproduce", self.id.replace("/", "-"), *([self.game] if self.game else []), self.scale]
        parts += ["tabular"] if self.learner == "tabular" else []
        return "-".join([*parts, f"{len(self.seeds)}seeds"])

    @property
    def figure(self) -> FigureSpec | None:
        """The figure that is asked for; None if it is a table or a paper.

        Raises:
            UsageError: for a game that it does not show; or if tabular learners cannot take part.
        """
        found = catalogue.figure_of(self.id, self.game)
        if found is not None and found.text_only and self.learner == "tabular":
            raise UsageError(f"{self.id} is about text, which tabular learners do not read")
        return found

    @property
    def experiments(self) -> list[Experiment]:
        """The tables that are asked for; none if it is a figure.

        Raises:
            UsageError: for an unknown id or game, with the nearest one; or if tabular learners can take part in none of it.
        """
        if self.figure is not None:
            return []
        found = catalogue.experiments_of(self.id, self.game)
        if self.learner != "tabular":
            return found
        possible = [experiment for experiment in found if not experiment.text_only]
        if not possible:
            raise UsageError(f"{self.id} is about text, or has language models in it; leave out --learner tabular")
        return possible

    @property
    def arms(self) -> list[Arm]:
        """The arms to be run, each recipe once."""
        figure = self.figure
        if figure is None:
            found = [arm for experiment in self.experiments for arm in experiment.arms]
        else:
            found = [catalogue.arm_of(panel) for panel in figure.panels if "labels" not in figure.shows]
        return list({arm.recipe: arm for arm in found}.values())

    @property
    def settings(self) -> dict[str, tuple[Setting, ...]]:
        """By recipe, the settings besides that of training in which its runs are evaluated."""
        found: dict[str, dict[str, Setting]] = {}
        for table in self.experiments:
            for arm in table.arms:
                found.setdefault(arm.recipe, {}).update({one.file: one for one in table.evaluations(self.scale)})
        for panel in self.figure.panels if self.figure is not None else ():
            setting = catalogue.setting_of(panel, self.scale)
            if setting is not None:
                found.setdefault(catalogue.arm_of(panel).recipe, {})[setting.file] = setting
        return {recipe: tuple(settings.values()) for recipe, settings in found.items() if settings}

    def claims_about(self, experiment: Experiment) -> list[Claim]:
        """The claims that are checked of one of its tables."""
        found = catalogue.claims_of(f"{experiment.id.partition('/')[2]}/{experiment.game}")
        return [claim for claim in found if not (claim.in_text and self.learner == "tabular")]

    def undecidable(self) -> dict[str, int]:
        """The claims about shares of seeds that cannot hold with so few, by id, and how many seeds each takes."""
        found: dict[str, int] = {}
        for experiment in self.experiments:
            most = max((len(self.seeds_of(arm)) for arm in experiment.arms), default=len(self.seeds))
            needed = {claim.id: claim.fewest_seeds or 0 for claim in self.claims_about(experiment)}
            found |= {id: seeds for id, seeds in needed.items() if seeds > most}
        return found

    def seeds_of(self, arm: Arm) -> list[int]:
        """The seeds of one arm."""
        seeds = list(self.seeds)
        if arm.twice_the_seeds:
            seeds += range(max(seeds) + 1, max(seeds) + 1 + len(seeds))
        return seeds

    def config(self, arm: Arm) -> Config:
        """The config of one arm."""
        changes: dict[str, object] = {"seeds": self.seeds_of(arm)}
        changes |= {"model": self.model} if self.model is not None and not RECIPES[arm.recipe].own_model else {}
        config = make_config(arm.recipe, scale=self.scale, learner=self.learner)
        if self.trials is not None and config.trials:
            changes |= {"trials": self.trials}
        return with_values(config, changes)


def arm_directory(request: Request, out: Path, arm: Arm) -> Path:
    """Where an arm's run is in a directory made for a request.

    Under the arm's name if the request is one experiment that has it; else under its recipe's, so that tables and figures can share it.
    """
    own = request.experiments
    if len(own) == 1 and arm.recipe in [one.recipe for one in own[0].arms]:
        return out / arm.name
    return out / "runs" / arm.recipe.partition("/")[2]


def request_of(out: Path) -> Request:
    """What an experiment's directory was made for."""
    return requests_of(out)[0]


def requests_of(out: Path) -> list[Request]:
    """All that was asked of an experiment's directory: what it was made for, then what has joined it.

    In published results a table that was made again can have seeds of its own.
    """
    try:
        found = Store.open(out, "experiment").read_object("experiment.json")
    except FileNotFoundError:
        raise UsageError(f"{out} is no directory of `coplay reproduce`: it has no experiment.json") from None
    with expected_shape(out / "experiment.json"):
        found.pop("version", None)
        also = found.pop("also", [])
        first = Request(**{**found, "seeds": tuple(found["seeds"])})
        return [first, *(replace(first, **{**what, "seeds": tuple(what.get("seeds", first.seeds))}) for what in also)]


@dataclass(frozen=True)
class Reproduction:
    """A request as it is carried out in a directory."""

    request: Request
    """What is asked for."""
    out: Path
    """The directory, made for this request or an earlier one."""
    quiet: bool = False
    """Whether to print nothing."""

    def directory(self, arm: Arm) -> Path:
        """Where an arm's run is."""
        return arm_directory(request_of(self.out), self.out, arm)
