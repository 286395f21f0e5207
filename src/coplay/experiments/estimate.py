"""The games of an experiment, for an estimate of what it will ask endpoints: those of all arms that are not finished."""

from __future__ import annotations

from pathlib import Path

from coplay.evaluation.estimate import Games
from coplay.experiments.request import Request, arm_directory, request_of
from coplay.runs.config_input import with_values
from coplay.runs.directory import is_finished, is_taken
from coplay.runs.estimate import asks_endpoints, games_of_evaluation, games_of_run, trials_done


def games_of_request(request: Request, out: Path) -> list[Games]:
    """All games that are left to play in a directory; of an arm that is not finished those after its latest checkpoint.

    Args:
        request: what is asked for.
        out: the directory, which may not exist yet.
    """
    found: list[Games] = []
    placed = request_of(out) if is_taken(out) else request
    for arm in request.arms:
        config, path = request.config(arm), arm_directory(placed, out, arm)
        if not is_finished(path):
            found += games_of_run(config, first_trial=trials_done(path)) if asks_endpoints(config) else []
        for setting in request.settings.get(arm.recipe, ()):
            other = with_values(config, setting.changes)
            if asks_endpoints(other) and not is_finished(path, [setting.file]):
                found += games_of_evaluation(other, rounds=setting.rounds)
    return found
