"""The catalogue: every experiment, figure and claim of every paper, and how to find them."""

from __future__ import annotations

from dataclasses import replace

from coplay.errors import unknown
from coplay.evaluation.claims import Claim
from coplay.recipes.experiments import Arm, Experiment, FigureSpec, Panel
from coplay.recipes.kinds import Scale
from coplay.runs.settings import Setting


def all_figures() -> list[FigureSpec]:
    """Every figure that can be drawn, in the order of the papers."""
    from coplay.recipes.mediation import figures as mediation
    from coplay.recipes.sepo import figures as sepo
    from coplay.recipes.shapellm.figures import FIGURES

    return [*FIGURES, *sepo.FIGURES, *mediation.FIGURES]


def figure_of(id: str, game: str | None = None) -> FigureSpec | None:
    """The figure of that id, or None if the id is no figure's.

    Args:
        id: ``shapellm/figure2``.
        game: its panels about one game alone.

    Raises:
        UsageError: for a game that it does not show.
    """
    figure = next((figure for figure in all_figures() if figure.id == id), None)
    if figure is None or game is None:
        return figure
    if game not in figure.games:
        raise unknown(f"game of {id}", game, figure.games)
    return replace(
        figure,
        panels=tuple(panel for panel in figure.panels if panel.game == game),
        columns=max(1, figure.columns // len(figure.games)),
    )


def all_experiments() -> list[Experiment]:
    """Every experiment, table by table, in the order of the papers."""
    from coplay.recipes.adalign import figures
    from coplay.recipes.adalign import smollm2 as adalign_smollm2
    from coplay.recipes.mediation import dilemmas, firms_table, language_table, market
    from coplay.recipes.sepo import tables as sepo
    from coplay.recipes.shapellm import controls, cross, explanations, qwen_coder, smollm2
    from coplay.recipes.shapellm.tables import EXPERIMENTS

    return [
        *EXPERIMENTS,
        controls.EXPERIMENT,
        cross.EXPERIMENT,
        *explanations.EXPERIMENTS,
        *smollm2.EXPERIMENTS,
        *qwen_coder.EXPERIMENTS,
        *figures.EXPERIMENTS,
        adalign_smollm2.EXPERIMENT,
        *sepo.EXPERIMENTS,
        *dilemmas.EXPERIMENTS,
        *market.EXPERIMENTS,
        firms_table.EXPERIMENT,
        language_table.EXPERIMENT,
    ]


def experiments_of(id: str, game: str | None = None) -> list[Experiment]:
    """The experiments that an id stands for: a table's, or with ``PAPER`` alone all that are the paper's own.

    Args:
        id: ``shapellm/table1``, or ``shapellm``.
        game: one game alone.

    Raises:
        UsageError: for an unknown id, or a game that it does not have; with the nearest one.
    """
    known = list(dict.fromkeys(experiment.id for experiment in all_experiments()))
    papers = {name.partition("/")[0] for name in known}
    found = [
        experiment
        for experiment in all_experiments()
        if id == experiment.id or (id == experiment.id.partition("/")[0] and not experiment.extra)
    ]
    if not found:
        raise unknown(
            "experiment", id, [*known, *(figure.id for figure in all_figures()), *papers], listed="experiments"
        )
    if game is None:
        return found
    games = list(dict.fromkeys(experiment.game for experiment in found))
    if game not in games:
        raise unknown(f"game of {id}", game, games)
    return [experiment for experiment in found if experiment.game == game]


def arm_of(panel: Panel) -> Arm:
    """The arm whose run a panel shows: figures show runs that tables are made from."""
    (experiment,) = experiments_of(panel.experiment, panel.game)
    return next(arm for arm in experiment.arms if arm.name == panel.arm)


def setting_of(panel: Panel, scale: Scale) -> Setting | None:
    """The setting other than that of training whose evaluation a panel shows; None for that of training."""
    (experiment,) = experiments_of(panel.experiment, panel.game)
    return next((one for one in experiment.evaluations(scale) if one.name == panel.setting), None)


def claims_of(experiment: str) -> list[Claim]:
    """The claims about an experiment, e.g. ``table1/ipd``."""
    return [claim for claim in all_claims() if claim.id.startswith(f"{experiment}/")]


def all_claims() -> list[Claim]:
    """Every claim, in the order of the papers."""
    from coplay.recipes.adalign import claims as adalign
    from coplay.recipes.adalign import smollm2 as adalign_smollm2
    from coplay.recipes.mediation import claims as mediation
    from coplay.recipes.mediation import firms_claims, language_table, market_claims
    from coplay.recipes.sepo import claims as sepo
    from coplay.recipes.shapellm import claims_explanations, controls, cross, qwen_coder, smollm2
    from coplay.recipes.shapellm.claims import CLAIMS

    return [
        *CLAIMS,
        *controls.CLAIMS,
        *cross.CLAIMS,
        *claims_explanations.CLAIMS,
        *smollm2.CLAIMS,
        *qwen_coder.CLAIMS,
        *adalign.CLAIMS,
        *adalign_smollm2.CLAIMS,
        *sepo.CLAIMS,
        *mediation.CLAIMS,
        *market_claims.CLAIMS,
        *firms_claims.CLAIMS,
        *language_table.CLAIMS,
    ]
