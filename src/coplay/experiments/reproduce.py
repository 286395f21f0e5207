"""Reproduce published tables and figures: train their arms, evaluate them, check the claims, write the report. The same command resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from coplay.errors import AllDiverged, UsageError
from coplay.evaluation.estimate_text import tell_estimate
from coplay.experiments.catalogue import arm_of
from coplay.experiments.cross_play import Known, play_cross_play
from coplay.experiments.estimate import games_of_request
from coplay.experiments.pages import Conclusion
from coplay.experiments.preparations import check_preparation, check_prepared, prepared
from coplay.experiments.request import WHAT, Reproduction, Request, requests_of
from coplay.experiments.summary import NothingFinished, summarise
from coplay.experiments.transcripts import play_transcripts
from coplay.files.kinds import newest_version
from coplay.files.lock import locked
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory
from coplay.players.endpoint_file import NoEndpointFile
from coplay.recipes.experiments import Arm
from coplay.runs.config_input import with_values
from coplay.runs.directory import is_finished, is_taken
from coplay.runs.factory import check_all
from coplay.runs.settings import Setting
from coplay.runs.train import evaluate_in, train_or_resume
from coplay.terminal.progress import Progress

RECORD = "experiment.json"
"""What was asked for, in an experiment's directory."""


def reproduce(request: Request, out: Path, *, quiet: bool = False) -> Conclusion:
    """Run all arms into ``out``, one directory each, then claims and report. What endpoints will be asked is estimated before.

    If ``out`` holds this very experiment already, finished arms are kept and unfinished ones are resumed. An arm that several
    tables share is run once.

    Raises:
        UsageError: for an unknown experiment, or if ``out`` holds something else.
    """
    settings = request.settings
    try:
        claim_directory(request, out)
    except NoEndpointFile:
        _tell_estimate(request, out, quiet=quiet)
        raise
    with locked(out):
        _tell_estimate(request, out, quiet=quiet)
        return _reproduce(Reproduction(request, out, quiet), settings)


def _tell_estimate(request: Request, out: Path, *, quiet: bool) -> None:
    """Print what endpoints will be asked, unless nothing is to be printed."""
    if not quiet:
        tell_estimate(games_of_request(request, out))


def _reproduce(reproduction: Reproduction, settings: Mapping[str, tuple[Setting, ...]]) -> Conclusion:
    """Run what is missing, then summarise."""
    request, out = reproduction.request, reproduction.out
    Store.open(out, "experiment").tidy()
    check_prepared(out)
    diverged: dict[str, list[str]] = {}
    for arm in request.arms:
        behind = diverged[arm.against] if arm.against is not None else []
        diverged[arm.recipe] = _not_trained(arm, reproduction) if behind else _finish_arm(arm, reproduction)
        if arm.recipe in settings and is_finished(reproduction.directory(arm)):
            evaluate_in(reproduction.directory(arm), settings[arm.recipe])
    known: Known = {}
    for experiment in request.experiments:
        if any(diverged[arm.recipe] for arm in experiment.arms):
            continue  # whoever plays after training plays with every seed
        play_cross_play(experiment, reproduction, known)
        play_transcripts(experiment, reproduction)
    if request.figure is not None and "labels" in request.figure.shows:
        from coplay.experiments.initial_policies import measure_first_policies

        measure_first_policies(request.figure, reproduction)
    lines = tuple(line for of_arm in diverged.values() for line in of_arm)
    try:
        return replace(summarise(out), diverged=lines)
    except NothingFinished as error:
        if lines:
            raise AllDiverged("\n".join([*lines, str(error)])) from None
        raise


def _finish_arm(arm: Arm, reproduction: Reproduction) -> list[str]:
    """Train an arm, unless that has been done; returns a line for each seed that has diverged."""
    request, path = reproduction.request, reproduction.directory(arm)
    if is_finished(path):
        return train_or_resume(request.config(arm), path, again="", progress=Progress(quiet=True))
    start = prepared(arm, reproduction)
    config = request.config(arm)
    if start is not None:
        config = with_values(config, {"adapter.init_adapter": str(start)})
    if arm.against is not None:
        trained = next(one for one in request.arms if one.recipe == arm.against)
        config = with_values(config, {"seats.bob": str(reproduction.directory(trained).resolve())})
    progress = Progress(path.name, quiet=reproduction.quiet)
    return train_or_resume(config, path, again=f"--out {reproduction.out}", progress=progress)


def _not_trained(arm: Arm, reproduction: Reproduction) -> list[str]:
    """What to say of an arm whose co-player is another arm, of which a seed has diverged."""
    against = next(one for one in reproduction.request.arms if one.recipe == arm.against)
    return [
        f"{reproduction.directory(arm)}: not trained, as it needs every seed of {reproduction.directory(against)}, of which one has diverged"
    ]


def claim_directory(request: Request, out: Path) -> None:
    """Make the directory, or find that it holds the same settings: tables and figures of the same settings can share one.

    Raises:
        UsageError: if it holds something else, or an arm cannot be trained.
    """
    asked = {"version": newest_version(RECORD), **asdict(request), "seeds": list(request.seeds)}
    if not is_taken(out):
        _check_arms(request)
        with new_directory(out) as temporary:
            Store(temporary, "experiment").replace(RECORD, json_text(asked))
        return
    store = Store.open(out, "experiment")
    if not store.has(RECORD):
        raise UsageError(f"{out} exists already and is no experiment of `coplay reproduce`; choose another --out")
    found = store.read_object(RECORD)
    differing = [key for key in asked if key not in WHAT and found.get(key) != asked[key]]
    if differing:
        was = ", ".join(f"{key}={found.get(key)!r}" for key in differing)
        raise UsageError(f"{out} holds another experiment ({was}); choose another --out")
    if request not in requests_of(out):
        _check_arms(request)
        also = [*found.get("also", []), {key: asked[key] for key in WHAT}]
        store.replace(RECORD, json_text({**found, "also": also}))


def _check_arms(request: Request) -> None:
    """Find what is wrong with any arm before anything is written; raises UsageError."""
    arms, figure = request.arms, request.figure
    if figure is not None and not arms:  # no training, but a model is read
        arms = [arm_of(panel) for panel in figure.panels]
    configs = {arm.recipe: request.config(arm) for arm in arms}
    elsewhere = {
        f"{recipe}, evaluated as {setting.name}": with_values(configs[recipe], setting.changes)
        for recipe, settings in request.settings.items()
        for setting in settings
        if setting.changes
    }
    check_all({**configs, **elsewhere})
    for arm in {arm.preparation.name: arm for arm in arms if arm.preparation}.values():
        check_preparation(request, arm)
