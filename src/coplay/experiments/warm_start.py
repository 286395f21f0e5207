"""Preparations: what is done once for an experiment's arms before they are trained, kept beside them, and found again."""

from __future__ import annotations

from pathlib import Path

from coplay.experiments import align
from coplay.experiments.request import Request
from coplay.recipes import Scale
from coplay.recipes.experiments import Arm, Preparation
from coplay.runs.config import Config
from coplay.terminal.progress import epochs_shown
from coplay.terminal.streams import tell


def prepared_directory(out: Path, preparation: Preparation) -> Path:
    """Where an experiment's directory keeps the adapter that a preparation makes."""
    return out / "prepared" / preparation.name


def alignment_of(preparation: Preparation, config: Config, *, scale: Scale, to: str | None = None) -> align.Request:
    """What is to be aligned to what.

    Args:
        preparation: of the arm.
        config: of the arm: its model is aligned, with an adapter of its shape, on its game's prompts.
        scale: which target and which rate.
        to: another target than the scale's.

    Returns:
        The request for :func:`coplay.experiments.align.align`.
    """
    return align.Request(
        model=config.model,
        to=to or preparation.targets[scale],
        game=config.game_name,
        adapter=config.adapter,
        chat=config.chat,
        four_bit=config.four_bit,
        threads=config.threads,
    )


def check_preparation(request: align.Request) -> None:
    """Find what is wrong with an alignment before anything is written, as far as it shows without weights; raises UsageError."""
    from coplay.models.loading import load_tokenizer

    _, row = align.checked(request)
    if row is None:
        load_tokenizer(request.to)


def prepare(preparation: Preparation, request: align.Request, out: Path, *, scale: Scale, quiet: bool = False) -> Path:
    """Align the model, unless that has been done; an alignment that was cut off left nothing and is done again.

    Args:
        preparation: what to do.
        request: as :func:`alignment_of` returns it.
        out: the experiment's directory.
        scale: which rate.
        quiet: whether to say nothing.

    Returns:
        The adapter's directory, absolute.
    """
    path = prepared_directory(out, preparation).resolve()
    if (path / align.RECORD).exists():
        return path
    from coplay.learners.sft import Schedule

    schedule = Schedule(learning_rate=preparation.learning_rates[scale])

    with epochs_shown(schedule.epochs, label=f"aligning {request.model} to {request.to}", quiet=quiet) as show:
        alignment = align.align(request, path, schedule=schedule, progress=show)
    if not quiet:
        tell(align.table(alignment))
    return path


def prepared(request: Request, arm: Arm, out: Path, *, quiet: bool = False) -> Path | None:
    """Do what an arm needs before it is trained, unless it has been done.

    Returns:
        The adapter's directory that its learners start from; None if they start from the model as it is.
    """
    if arm.preparation is None:
        return None
    alignment = alignment_of(arm.preparation, request.config(arm), scale=request.scale, to=request.align_to)
    return prepare(arm.preparation, alignment, out, scale=request.scale, quiet=quiet)
