"""The verbs that compute for a while: ``train`` and ``reproduce``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from coplay.cli.options import config_from, seed_list
from coplay.config import Config
from coplay.errors import UsageError
from coplay.models.loading import model_path
from coplay.progress import Progress


def train(options: argparse.Namespace) -> int:
    """``coplay train``."""
    if options.resume is not None:
        if options.recipe is not None or options.overrides or options.seeds or options.model or options.out:
            raise UsageError("--resume takes no recipe and no overrides: the run's own config.json says everything")
        from coplay.train import resume

        run = resume(Path(options.resume), checkpoint=options.checkpoint, progress=Progress(quiet=options.quiet))
    else:
        if options.recipe is None:
            raise UsageError("train needs a RECIPE (see `coplay list recipes`) or --resume DIR")
        if options.checkpoint is not None:
            raise UsageError("--from goes with --resume")
        config = config_from(options)
        model_path(config.model)
        if options.dry_run:
            return _dry_run(config)
        out = Path(options.out) if options.out else free_directory(Path("runs"), config.recipe.replace("/", "-"))
        refuse_existing(out)
        from coplay.train import train as train_run

        run = train_run(config, out, progress=Progress(quiet=options.quiet))
    print(f"{run.path}: done. Next: coplay report {run.path}")
    return 0


def refuse_existing(out: Path) -> None:
    """A run directory is never overwritten."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already; resume it with --resume {out}, or choose another --out")


def free_directory(parent: Path, name: str) -> Path:
    """``parent/name``, or ``parent/name-2`` and so on if that is taken."""
    number = 1
    while (path := parent / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return path


def _dry_run(config: Config) -> int:
    from coplay.cli.reading import prompts_after

    print(json.dumps(config.model_dump(mode="json"), indent=2))
    for seat, text in prompts_after(config, []).items():
        print(f"\n--- {seat} reads first ---\n{text}")
    transitions = config.trials * config.episodes * config.rounds * config.games * len(config.seeds)
    print(f"\n{len(config.seeds)} seeds, {config.trials} trials: {transitions:,} rounds of play. Nothing was written.")
    return 0


def reproduce(options: argparse.Namespace) -> int:
    """``coplay reproduce``."""
    from coplay.reproduce import Request
    from coplay.reproduce import reproduce as reproduce_request

    seeds = list(range(int(options.seeds))) if options.seeds.isdecimal() else seed_list(options.seeds)
    if not seeds:
        raise UsageError("--seeds needs at least one seed")
    if options.model is not None:
        model_path(options.model)
    request = Request(
        id=options.id,
        game=options.game,
        scale=options.scale,
        learner=options.learner,
        seeds=tuple(seeds),
        model=options.model,
        trials=options.trials,
    )
    out = Path(options.out) if options.out else Path("runs") / request.slug
    outcome = reproduce_request(request, out, quiet=options.quiet)
    print(outcome.text)
    print(f"\nReport: {outcome.report}")
    return 0
