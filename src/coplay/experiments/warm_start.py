"""Preparations: alignments done once for an experiment's arms before they are trained, kept beside them and reused."""

from __future__ import annotations

from pathlib import Path

from coplay.experiments import align
from coplay.experiments.request import Reproduction, Request
from coplay.recipes.experiments import Arm
from coplay.terminal.progress import epochs_shown
from coplay.terminal.streams import tell


def alignment_of(request: Request, arm: Arm) -> align.Request | None:
    """The alignment that an arm needs before it is trained; None if its learners start from the model as it is.

    The arm's model is aligned, with an adapter of its shape, on its game's prompts.
    """
    if arm.preparation is None:
        return None
    config = request.config(arm)
    return align.Request(
        model=config.model,
        to=request.align_to or arm.preparation.targets[request.scale],
        game=config.game_name,
        adapter=config.adapter,
        chat=config.chat,
        four_bit=config.four_bit,
        threads=config.threads,
    )


def check_preparation(alignment: align.Request) -> None:
    """Find what is wrong with an alignment before anything is written, as far as it shows without weights; raises UsageError."""
    from coplay.models.loading import load_tokenizer

    _, row = align.checked(alignment)
    if row is None:
        load_tokenizer(alignment.to)


def prepared(arm: Arm, reproduction: Reproduction) -> Path | None:
    """Align an arm's model, unless that has been done; an alignment that was cut off left nothing and is repeated.

    Returns:
        The adapter's directory, absolute, that the arm's learners start from; None if they start from the model as it is.
    """
    request, quiet = reproduction.request, reproduction.quiet
    alignment = alignment_of(request, arm)
    if alignment is None or arm.preparation is None:
        return None
    path = (reproduction.out / "prepared" / arm.preparation.name).resolve()
    if (path / align.RECORD).exists():
        return path
    from coplay.learners.alignment import Schedule

    schedule = Schedule(learning_rate=arm.preparation.learning_rates[request.scale])
    with epochs_shown(schedule.epochs, label=f"aligning {alignment.model} to {alignment.to}", quiet=quiet) as show:
        done = align.align(alignment, path, schedule=schedule, progress=show)
    if not quiet:
        tell(align.table(done))
    return path
