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
from coplay.experiments.hours import hours_text
from coplay.experiments.pages import Conclusion
from coplay.experiments.preparations import (
    PreparationTask,
    check_continued,
    check_preparation,
    check_prepared,
    start_of_arm,
)
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
from coplay.runs.tasks import PartTask
from coplay.tasks.executors import LOCAL, TaskExecutor
from coplay.tasks.task import Task
from coplay.terminal.streams import tell

RECORD = "experiment.json"
"""What was asked for, in an experiment's directory."""


def reproduce(request: Request, out: Path, *, quiet: bool = False, executor: TaskExecutor = LOCAL) -> Conclusion:
    """Run all arms into ``out``, one directory each, then claims and report. What endpoints will be asked is estimated before.

    If ``out`` holds this very experiment already, finished arms are kept and unfinished ones are resumed. An arm that several
    tables share is run once.

    Args:
        request: what to reproduce.
        out: the directory.
        quiet: print nothing.
        executor: who trains the arms; all else is done in this process.

    Raises:
        UsageError: for an unknown experiment, or if ``out`` holds something else.
    """
    settings = request.settings
    executor.prepare(out, quiet=quiet)
    try:
        claim_directory(request, out)
    except NoEndpointFile:
        _tell_estimate(request, out, quiet=quiet)
        raise
    with locked(out):
        _tell_estimate(request, out, quiet=quiet)
        if not quiet:
            _tell_undecidable(request)
            _tell_hours(request, out, executor)
        return _reproduce(Reproduction(request, out, quiet), settings, executor)


def _tell_estimate(request: Request, out: Path, *, quiet: bool) -> None:
    """Print what endpoints will be asked, unless nothing is to be printed."""
    if not quiet:
        tell_estimate(games_of_request(request, out))


def _tell_hours(request: Request, out: Path, executor: TaskExecutor) -> None:
    """Print how long it will take, if it is trained on this machine."""
    text = "Time: not measured, since other machines train." if executor.is_elsewhere else hours_text(request, out)
    if text:
        tell(text)


def _tell_undecidable(request: Request) -> None:
    """Say which claims cannot hold whatever comes out, before anything is trained for them."""
    found = request.undecidable()
    if found:
        listed = ", ".join(f"{id} takes {seeds}" for id, seeds in found.items())
        tell(f"Too few seeds: some claims are about a share of seeds, and cannot hold with so few. {listed}.")


def _reproduce(
    reproduction: Reproduction, settings: Mapping[str, tuple[Setting, ...]], executor: TaskExecutor
) -> Conclusion:
    """Run what is missing, then summarise."""
    request, out = reproduction.request, reproduction.out
    Store.open(out, "experiment").tidy()
    check_prepared(out)
    tasks = arm_tasks(reproduction, settings)
    of_directory = {reproduction.directory(arm).absolute(): arm.recipe for arm in request.arms}
    found: dict[str, list[str]] = {}
    resume = f"the same command with --out {out} resumes it"
    for task, told in executor.run(tasks, resume=resume, quiet=reproduction.quiet):
        if (recipe := of_directory.get(task.directory.absolute())) is not None:
            found[recipe] = told
    diverged = {arm.recipe: found[arm.recipe] for arm in request.arms}
    known: Known = {}
    for experiment in request.experiments:
        if any(diverged[arm.recipe] for arm in experiment.arms):
            continue  # whoever plays after training plays with every seed
        play_cross_play(experiment, reproduction, known, executor)
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


def arm_tasks(reproduction: Reproduction, settings: Mapping[str, tuple[Setting, ...]]) -> list[Task]:
    """All that is trained: each arm, after what it starts from and whom it meets."""
    request = reproduction.request
    tasks: list[Task] = []
    for arm in request.arms:
        path = reproduction.directory(arm)
        config, after = request.config(arm), []
        start = start_of_arm(arm, reproduction)
        if start is not None and not is_finished(path):
            config = with_values(config, {"adapter.init_adapter": str(start)})
            after.append(start)
            if start not in [task.directory for task in tasks]:
                tasks.append(PreparationTask(directory=start, arm=arm, reproduction=reproduction))
        against = None
        if arm.against is not None:
            trained = next(one for one in request.arms if one.recipe == arm.against)
            against = reproduction.directory(trained)
            config = with_values(config, {"seats.bob": str(against.resolve())})
            after.append(against)
        tasks.append(
            PartTask(
                name=path.name,
                directory=path,
                after=tuple(after),
                config=config,
                settings=settings.get(arm.recipe, ()),
                against=against,
                resume_with=f"--out {reproduction.out}",
            )
        )
    return tasks


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
    prepared: dict[str, list[Arm]] = {}  # by the name of what they start from
    for arm in arms:
        if arm.preparation is not None:
            prepared.setdefault(arm.preparation.name, []).append(arm)
    for sharing in prepared.values():
        check_continued(request, sharing)
    configs = {arm.recipe: request.config(arm) for arm in arms}
    elsewhere = {
        f"{recipe}, evaluated as {setting.name}": with_values(configs[recipe], setting.changes)
        for recipe, settings in request.settings.items()
        for setting in settings
        if setting.changes
    }
    check_all({**configs, **elsewhere})
    for first, *_ in prepared.values():
        check_preparation(request, first)
