"""The verbs that compute for a while: ``train``, ``reproduce`` and ``align``."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import replace
from pathlib import Path

from coplay.cli.options import (
    as_start,
    config_from,
    executor_from,
    refuse_model_of_tables,
    seeds_from,
    told_of_divergence,
)
from coplay.errors import UsageError
from coplay.games.choice_prompts import Spacing
from coplay.models.known import Precision
from coplay.models.loading import model_path
from coplay.runs.config import Adapter, Config
from coplay.runs.directory import RunDirectory, refuse_existing
from coplay.terminal.progress import Progress, epochs_shown
from coplay.text.rendering import counted, spans
from coplay.tracking.trackers import sinks_for, trackers_of

DEFAULT_SEEDS = 5
"""How many seeds `coplay reproduce` trains if none are named."""


def train(options: argparse.Namespace) -> int:
    """``coplay train``."""
    if options.resume is not None:
        others = ("recipe", "game", "seeds", "n_seeds", "model", "out", "scale", "learner")
        if (
            options.overrides
            or options.dry_run
            or options.measure
            or any(getattr(options, name) is not None for name in others)
        ):
            raise UsageError("--resume takes no recipe and no overrides: all settings are in the run's config.json")
        if not options.quiet and options.checkpoint is None:
            _tell_estimate_of_rest(Path(options.resume))
        run = _resume(Path(options.resume), options)
    else:
        if options.recipe is None:
            raise UsageError(
                "train needs a RECIPE (see `coplay list recipes`; for any game any/naive --game GAME) or --resume DIR"
            )
        if options.checkpoint is not None:
            raise UsageError("--from goes with --resume")
        if options.measure and not options.dry_run:
            raise UsageError("--measure goes with --dry-run: it trains a few trials in memory and keeps nothing")
        config = config_from(options)
        model_path(config.model)
        sinks_for(options.track)  # finds a package that is missing
        executor = executor_from(options)
        if options.dry_run:
            if options.out:
                refuse_existing(Path(options.out))
            return _dry_run(config, measures=options.measure)
        out = Path(options.out or f"runs/{config.recipe.replace('/', '-')}")
        if options.out:
            refuse_existing(out)
        if not options.quiet:
            _tell_estimate(config)
        if not executor.is_elsewhere:
            from coplay.runs.memory_text import check_memory

            check_memory(config)
        from coplay.runs.tasks import train_by

        run = train_by(executor, config, out, numbered=not options.out, quiet=options.quiet, track=options.track)
    return _print_result(run, quiet=options.quiet)


def _resume(path: Path, options: argparse.Namespace) -> RunDirectory:
    """Resume a run from its latest checkpoint, or the one that is named."""
    track, executor = list(dict.fromkeys([*options.track, *trackers_of(path)])), executor_from(options)
    sinks = sinks_for(track)
    if options.checkpoint is None:
        from coplay.runs.tasks import resume_by

        return resume_by(executor, path, quiet=options.quiet, track=track)
    if executor.is_elsewhere:
        raise UsageError(
            "--from goes back in this process; stop it after its next trial, and resume with --executor ray"
        )
    from coplay.runs.train import resume

    return resume(path, checkpoint=options.checkpoint, progress=Progress(quiet=options.quiet), sinks=sinks)


def _tell_estimate(config: Config) -> None:
    """Print what endpoints in the seats will be asked, even if their files are still missing; raises UsageError if they are."""
    from coplay.runs.estimate import asks_endpoints, games_of_run

    if not asks_endpoints(config):
        return
    from coplay.evaluation.estimate_text import tell_estimate
    from coplay.players.endpoint_file import NoEndpointFile
    from coplay.runs.checks import check_without_weights

    try:
        check_without_weights(config)
    except NoEndpointFile:
        tell_estimate(games_of_run(config))
        raise
    tell_estimate(games_of_run(config))


def _tell_estimate_of_rest(path: Path) -> None:
    """Print what endpoints will be asked when a run is resumed."""
    from coplay.evaluation.estimate_text import tell_estimate
    from coplay.runs.directory import refuse_no_run
    from coplay.runs.estimate import asks_endpoints, games_of_run, trials_done

    refuse_no_run(path)
    run = RunDirectory.open(path)
    if not run.is_finished and asks_endpoints(run.config):
        tell_estimate(games_of_run(run.config, first_trial=trials_done(path)))


def _print_result(run: RunDirectory, *, quiet: bool) -> int:
    """The evaluation as a table, or only what is wrong with it; and what to do next. Returns the exit status: 1 if a seed has diverged."""
    from coplay.evaluation.tables import diverged_lines, seeds_table, seeds_warning

    result = run.evaluation()
    if text := seeds_warning(result) if quiet else seeds_table(result):
        print(f"{text}\n")
    if status := told_of_divergence(diverged_lines(result)):
        left = f"{len(result['seeds'])} of {counted(len(run.config.seeds), 'seed')}"
        print(f"{run.path}: done, with {left}. Next: coplay report {shlex.quote(str(run.path))}")
        return status
    print(f"{run.path}: done. Next: coplay report {shlex.quote(str(run.path))}")
    return 0


def _dry_run(config: Config, *, measures: bool) -> int:
    from coplay.runs.checks import check_without_weights, checked, language_models
    from coplay.runs.config_input import assignments
    from coplay.runs.lengths import has_tokenizer
    from coplay.runs.memory_text import memory_lines
    from coplay.runs.prompts import prompts_after

    _tell_estimate(config)
    readable = not language_models(config) or has_tokenizer(config.model)
    (check_without_weights if readable else checked)(config)
    for assignment in assignments(config):
        print(shlex.quote(assignment))
    for seat, text in prompts_after(config, []).items() if readable else ():
        print(f"\n--- {seat} reads first ---\n{text}")
    if not readable:
        print(f"\n{config.model} has no tokenizer: prompts are not shown, and a token is taken for three letters")
    if memory := memory_lines(config):
        print("\n" + "\n".join(memory))
    if measures:
        from coplay.runs.hours import hours_lines, measured_hours

        print("\n" + "\n".join(hours_lines(measured_hours(config))))
    rounds = config.trials * config.episodes * config.rounds * config.games * len(config.seeds)
    sizes = f"{counted(len(config.seeds), 'seed')} ({spans(config.seeds)}), {counted(config.trials, 'trial')}"
    print(f"\n{sizes}: {counted(rounds, 'round')} of play. Nothing was written.")
    return 0


def reproduce(options: argparse.Namespace) -> int:
    """``coplay reproduce``."""
    from coplay.experiments.align import OWN
    from coplay.experiments.request import Request

    seeds = seeds_from(options) or list(range(DEFAULT_SEEDS))
    if options.model is not None:
        refuse_model_of_tables(options.learner)
        model_path(options.model)
    if options.align_to is not None and options.align_to != OWN:
        model_path(options.align_to)
    request = Request(
        id=options.id,
        game=options.game,
        scale=options.scale,
        learner=options.learner,
        seeds=tuple(seeds),
        model=options.model,
        trials=options.trials,
        align_to=options.align_to,
    )
    out, executor = Path(options.out) if options.out else Path("runs") / request.slug, executor_from(options)
    _ = request.arms  # finds an unknown id before torch is imported, which takes seconds
    from coplay.experiments.reproduce import reproduce as reproduce_request

    outcome = reproduce_request(request, out, quiet=options.quiet, executor=executor)
    print(outcome.text)
    print(f"\nReport: {outcome.report}")
    return told_of_divergence(outcome.diverged)


def align(options: argparse.Namespace) -> int:
    """``coplay align``."""
    from coplay.experiments.align import Request, checked, schedule_for, table
    from coplay.experiments.align import align as align_model
    from coplay.experiments.sft import refuse_taken

    for name, least in (("prompts", 1), ("epochs", 1), ("threads", 1), ("top-layers", 1), ("seed", 0)):
        value = getattr(options, name.replace("-", "_"))
        if value is not None and value < least:
            raise UsageError(f"--{name} must be at least {least}, got {value}")
    rate = options.learning_rate
    if rate is not None and not 0 < rate <= 1:
        raise UsageError(f"--learning-rate must be above 0 and at most 1, got {rate:g}")
    request = Request(
        model=options.model,
        to=options.to,
        game=options.game,
        spacing=Spacing(options.spacing),
        labels=None if options.labels is None else tuple(label.strip() for label in options.labels.split(",")),
        prompts=options.prompts,
        reciprocity=options.reciprocity,
        reciprocal_in=options.reciprocal_in,
        seed=options.seed,
        chat=options.chat,
        chat_date=options.chat_date,
        four_bit=options.four_bit,
        precision=Precision(options.precision),
        adapter=Adapter(top_layers=options.top_layers),
        threads=options.threads,
    )
    out = Path(options.out)
    refuse_taken(out)
    checked(request)  # before torch is imported
    given = {"epochs": options.epochs, "learning_rate": rate}
    schedule = replace(schedule_for(request.to), **{key: value for key, value in given.items() if value is not None})

    with epochs_shown(schedule.epochs, quiet=options.quiet) as show_epoch:
        alignment = align_model(request, out, schedule=schedule, progress=show_epoch)
    if options.json:
        print(json.dumps(alignment.record(), indent=2, ensure_ascii=False))
        return 0
    print(table(alignment))
    start = as_start(request.adapter, out, unless=Adapter())
    print(f"\n{out}: done. Next: coplay train RECIPE --model {options.model} {start}")
    return 0
