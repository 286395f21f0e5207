"""Preparations: alignments and fine-tunings done once for an experiment's arms before they are trained, kept beside them and reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from coplay.errors import UsageError
from coplay.experiments import align, sft
from coplay.experiments.request import Reproduction, Request
from coplay.files.kinds import Owner
from coplay.files.store import Store
from coplay.recipes.experiments import Alignment, Arm, WarmStart
from coplay.runs.config import Adapter
from coplay.runs.tasks import needs_of
from coplay.tasks.task import Needs, Task
from coplay.terminal.progress import Progress, epochs_shown
from coplay.terminal.streams import tell

RECORDS: dict[str, Owner] = {align.RECORD: "alignment", sft.RECORD: "sft"}
"""What an adapter's directory says of how it was made, and the kind of directory that it is."""


def check_preparation(request: Request, arm: Arm) -> None:
    """Find what is wrong with an arm's preparation before anything is written, as far as it shows without weights; raises UsageError."""
    if isinstance(arm.preparation, Alignment):
        alignment = alignment_of(request, arm, arm.preparation)
        _, row = align.checked(alignment)
        if row is None and alignment.to != align.OWN:
            from coplay.models.loading import load_tokenizer

            load_tokenizer(alignment.to)
    if isinstance(arm.preparation, WarmStart):
        arm.preparation.demonstrations.checked()


def check_continued(request: Request, arms: Sequence[Arm]) -> None:
    """Refuse arms that could not continue the adapter that is prepared for them, which is found out hours later otherwise.

    Args:
        request: what is asked for.
        arms: those of one preparation. It is made for the first of them; a fine-tuning's adapter has the shape that its settings say.

    Raises:
        UsageError: naming what an arm needs and what it would get.
    """
    if request.learner == "tabular":  # tables start from no adapter
        return
    made = _made_with(request, arms[0])
    if isinstance(arms[0].preparation, WarmStart):
        made |= _shape(arms[0].preparation.settings[request.scale].adapter)
    for arm in arms:
        needed = _made_with(request, arm)
        differing = ", ".join(f"{key}={needed[key]}, not {made[key]}" for key in made if made[key] != needed[key])
        if differing:
            start = "its start" if arm.preparation is None else f"its start, {arm.preparation.name},"
            raise UsageError(f"{arm.recipe}: {start} would not fit: the recipe has {differing}")


def _made_with(request: Request, arm: Arm) -> dict[str, object]:
    """With what an arm needs the adapter made that it starts from."""
    config = request.config(arm)
    needs = {"model": config.model, "chat": config.chat, "spacing": config.spacing, **_shape(config.adapter)}
    if isinstance(arm.preparation, WarmStart):  # whose demonstrations are prompts of that memory
        (learner,) = config.learners.values()
        needs["memory"] = learner.memory
    return needs


def _shape(adapter: Adapter) -> dict[str, object]:
    """An adapter's shape by setting."""
    return {f"adapter.{key}": value for key, value in adapter.form.items()}


def check_prepared(out: Path) -> None:
    """Refuse a directory of an experiment in which an adapter is damaged that was prepared in it; raises UsageError."""
    for path in sorted(out.glob("prepared/*")):
        kinds: list[Owner] = [kind for record, kind in RECORDS.items() if (path / record).exists()]
        Store.open(path, kinds[0] if kinds else "alignment").check()


def start_of_arm(arm: Arm, reproduction: Reproduction) -> Path | None:
    """The adapter's directory, absolute, that an arm's learners start from once it is there; None if they start from the model as it is."""
    if arm.preparation is None or reproduction.request.learner == "tabular":
        return None
    return (reproduction.out / "prepared" / arm.preparation.name).resolve()


def prepared(arm: Arm, reproduction: Reproduction) -> Path | None:
    """Prepare an arm's model, unless that has been done; what was cut off left nothing and is repeated. Returns as :func:`start_of_arm` does."""
    path = start_of_arm(arm, reproduction)
    if path is None or _is_there(path):
        return path
    if isinstance(arm.preparation, Alignment):
        _align(arm, arm.preparation, path, reproduction)
    if isinstance(arm.preparation, WarmStart):
        _fine_tune(arm, arm.preparation, path, reproduction)
    return path


def _is_there(path: Path) -> bool:
    return any((path / record).exists() for record in RECORDS)


@dataclass(frozen=True, kw_only=True)
class PreparationTask(Task):
    """An adapter that is made once for all arms that start from it."""

    arm: Arm
    """The first of them."""
    reproduction: Reproduction
    """Where."""
    locks: ClassVar[bool] = False

    def run(self, progress: Progress, *, again: bool = False) -> list[str]:
        """See :func:`prepared`."""
        prepared(self.arm, self.reproduction)
        return []

    def needs(self, cpus: int, gpus: float) -> Needs:
        """As the arm."""
        return needs_of(self.reproduction.request.config(self.arm), cpus, gpus)

    def is_done(self) -> bool:
        """Whether the adapter is there."""
        return _is_there(self.directory)


def alignment_of(request: Request, arm: Arm, wanted: Alignment) -> align.Request:
    """The alignment that an arm needs before it is trained: its model, with an adapter of its shape, on its game's prompts."""
    config = request.config(arm)
    return align.Request(
        model=config.model,
        to=request.align_to or wanted.targets[request.scale],
        game=config.game_name,
        prompts=wanted.prompts if _as_planned(request, wanted) else None,
        reciprocity=wanted.reciprocity,
        reciprocal_in=wanted.reciprocal_in,
        adapter=config.adapter,
        spacing=config.spacing,
        chat=config.chat,
        chat_date=config.chat_date,
        four_bit=config.four_bit,
        precision=config.precision,
        threads=config.threads,
    )


def _as_planned(request: Request, wanted: Alignment) -> bool:
    """Whether the target is the arm's own or one like it; its prompts, epochs and rate are for those."""
    target = wanted.targets[request.scale]
    return ((request.align_to or target) == align.OWN) == (target == align.OWN)


def _align(arm: Arm, wanted: Alignment, path: Path, reproduction: Reproduction) -> None:
    request, quiet = reproduction.request, reproduction.quiet
    alignment = alignment_of(request, arm, wanted)
    schedule = align.schedule_for(alignment.to)
    if _as_planned(request, wanted):
        schedule = replace(
            schedule,
            learning_rate=wanted.learning_rates.get(request.scale, schedule.learning_rate),
            epochs=wanted.epochs or schedule.epochs,
        )
    with epochs_shown(schedule.epochs, label=f"aligning {alignment.model} to {alignment.to}", quiet=quiet) as show:
        done = align.align(alignment, path, schedule=schedule, progress=show)
    if not quiet:
        tell(align.table(done))


def _fine_tune(arm: Arm, wanted: WarmStart, path: Path, reproduction: Reproduction) -> None:
    """Write the demonstrations, unless they are there, and train on them; their prompts have the memory of the arm's learner."""
    from coplay.experiments.demonstrate import demonstrate

    request, quiet = reproduction.request, reproduction.quiet
    config, data = request.config(arm), reproduction.out / "demonstrations" / wanted.name
    (learner,) = config.learners.values()
    if not data.exists():
        demonstrate([wanted.demonstrations], data, seed=wanted.seed, memory=learner.memory)
    settings = wanted.settings[request.scale]
    asked = sft.Request(
        model=config.model,
        data=str(data),
        settings=settings,
        seed=wanted.seed,
        chat=config.chat,
        chat_date=config.chat_date,
        four_bit=config.four_bit,
        precision=config.precision,
        threads=config.threads,
    )
    label = f"fine-tuning {asked.model} on {wanted.demonstrations.game}"
    with epochs_shown(settings.epochs, label=label, loss="loss", quiet=quiet) as show:
        done = sft.sft(asked, path, progress=show)
    if not quiet:
        tell(sft.table(done))
