"""Parts of pages: runs as the arms of a report, and pages that were written: an experiment's, a figure's, and the one that a whole directory ends with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.evaluation.claims import CheckedClaim
from coplay.recipes import recipe_trials
from coplay.recipes.experiments import Experiment, FigureSpec, TableRow

if TYPE_CHECKING:
    from coplay.report.data import Arm


@dataclass(frozen=True)
class ExperimentPage:
    """An experiment that was summarised."""

    experiment: Experiment
    """Which one."""
    report: Path
    """Its page."""
    claims: list[CheckedClaim]
    """Its claims, checked."""
    rows: list[TableRow]
    """Our numbers beside the published ones."""
    lead: str
    """What happened, in a sentence or two."""
    text: str
    """The same with the claims, for the terminal."""


@dataclass(frozen=True)
class FigurePage:
    """A figure that was drawn."""

    figure: FigureSpec
    """Which one."""
    report: Path
    """Its page."""
    image: Path
    """The figure as PNG; a PDF lies beside it."""

    @property
    def text(self) -> str:
        """For the terminal."""
        return f"{self.figure.title}: {self.image}"


@dataclass(frozen=True)
class Conclusion:
    """What a whole directory came to."""

    report: Path
    """The page."""
    text: str
    """Verdict and claims, for the terminal."""
    diverged: tuple[str, ...] = ()
    """A line for each seed that has diverged."""


def load_arm(name: str, label: str | None, path: Path) -> Arm:
    """A run directory as an arm of a report; without a label it is called by its recipe and its directory."""
    from coplay.report.data import Arm, load_run

    run = load_run(path)
    label = label or f"{run.config.get('recipe', path.name)} ({path.name})"
    return Arm(name, label, run, recipe_trials(run.config))
