"""Of whom an experiment's numbers are: the model that learns, or who plays where none does."""

from __future__ import annotations

from coplay.experiments.request import Request
from coplay.recipes.experiments import Experiment
from coplay.runs.checks import language_models, players_of
from coplay.runs.config_input import with_values


def model_name(request: Request, experiment: Experiment) -> str:
    """What an experiment's numbers were measured on: the model that learns, or who plays where none does."""
    if request.learner == "tabular":
        return "tabular"
    return players_named(request, experiment) or request.config(experiment.arms[0]).model


def players_named(request: Request, experiment: Experiment) -> str | None:
    """Who plays, in words, in an experiment in which no language model learns; None in others."""
    config = request.config(experiment.arms[0])
    if language_models(config):
        return None
    settings = [with_values(config, one.changes) for one in experiment.evaluations(request.scale) if one.changes]
    return "; ".join(dict.fromkeys(map(players_of, [config, *settings])))
