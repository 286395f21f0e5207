"""Alignment: give a model a policy before any learning: another's (ShapeLLM, appendix A.9), or its own with legal replies alone.

Reads the target, trains an adapter towards it and writes the adapter in PEFT's format with a record of what was done. A run starts
from it with ``adapter.init_adapter``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError, unknown
from coplay.experiments.sft import refuse_taken
from coplay.files.kinds import newest_version
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory
from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import Spacing
from coplay.games.memory import Memory
from coplay.models.known import TINY, Precision
from coplay.models.loading import load_model, model_path
from coplay.models.threads import available_threads, set_threads
from coplay.recipes.kinds import ReciprocalIn
from coplay.recipes.shapellm.table_14 import TABLE_14, LabelPair, state_index
from coplay.runs.config import Adapter
from coplay.terminal import tables
from coplay.text.chat import DAY, ChatFormat

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.learners.alignment import Fit, Schedule, Situation
    from coplay.models.bank import AdapterBank
    from coplay.models.loading import LoadedModel
    from coplay.models.scoring import Scorer
    from coplay.players.choice_model import ChoiceModel

    Situations = Mapping[str, Sequence[Situation]]

RECORD = "alignment.json"
"""What was done, beside the adapter."""

OWN = "own"
"""The target that is the model's own policy, renormalised over the labels."""

GOAL = 0.02
"""The policy of a model that is aligned to its own moves less than this."""

_TABLE = "table14:"

_PROMPTS = 1000
"""Prompts for all targets but :data:`OWN` (footnote 11)."""

_WIDTHS = (12, 4, 10, 8, 15, 7, 11, 7)
"""Least widths of the columns of :func:`table`, so that the tables of several alignments stand under one another."""


@dataclass(frozen=True)
class TableRow:
    """A row of Table 14 as a target: ``table14:GAME:A1/A2``."""

    game: str
    """The game it is about."""
    pair: LabelPair
    """The labels it was measured with."""


@dataclass(frozen=True)
class Request:
    """A model to be aligned, and the target."""

    model: str
    """The model whose adapter is trained: ``tiny``, a directory or a Hub id."""
    to: str = TINY
    """The target: a model, ``table14:GAME:A1/A2``, or ``own``."""
    game: str = "ipd"
    """The game whose prompts are used."""
    spacing: Spacing = Spacing.PAPER
    """Which spaces the prompts have. It must be what the runs starting from the adapter have."""
    labels: tuple[str, ...] | None = None
    """Action labels of both seats; None for the game's or, if the target is a table, for those of its row."""
    prompts: int | None = None
    """How many prompts are trained on, and as many are measured on; None for the target's default (:attr:`number_of_prompts`)."""
    reciprocity: float = 0.0
    """With the target ``own``: the share of tit for tat that is mixed into it, from 0 to 1."""
    reciprocal_in: ReciprocalIn = "all"
    """Which prompts that is in: ``all``, or those with ``counts``, which shapers read and naive learners do not."""
    seed: int = 0
    """Decides prompts, their order and the adapter's first weights."""
    adapter: Adapter = field(default_factory=Adapter)
    """Shape of the adapter. It must be the one that the runs starting from it have."""
    chat: ChatFormat | None = None
    """Chat format of the model; None for its own. The target's is always its own."""
    chat_date: str = DAY
    """What chat templates that write the date take for today."""
    four_bit: bool = False
    """Quantise the base model to 4 bits, as in the paper."""
    precision: Precision = Precision.AUTO
    """Of the model's products."""
    threads: int | None = None
    """CPU threads; None for all cores."""

    @property
    def number_of_prompts(self) -> int:
        """The prompts that are trained on: 1000, or fewer where the target is the model's own policy and the model is a real one."""
        if self.prompts is not None or self.to != OWN:
            return _PROMPTS if self.prompts is None else self.prompts
        from coplay.learners.own_target import OWN_PROMPTS

        return OWN_PROMPTS


@dataclass(frozen=True)
class Alignment:
    """A trained alignment and its distance from the target."""

    request: Request
    """What was asked for."""
    schedule: Schedule
    """How the adapter was trained."""
    labels: dict[str, tuple[str, ...]]
    """Each seat's action labels."""
    before: dict[str, Fit]
    """Distance from the target before training, by prompt form, on prompts not trained on."""
    after: dict[str, Fit]
    """The same after training."""
    losses: list[float]
    """Mean loss of each epoch."""

    def record(self) -> dict[str, object]:
        """What ``alignment.json`` holds."""
        settings = asdict(self.request) | {"labels": self.labels, "adapter": self.request.adapter.model_dump()}
        settings |= {"prompts": self.request.number_of_prompts, "schedule": asdict(self.schedule)}
        return {
            "version": newest_version(RECORD),
            "settings": settings,
            "before": {form: asdict(fit) for form, fit in self.before.items()},
            "after": {form: asdict(fit) for form, fit in self.after.items()},
            "losses": self.losses,
        }


def align(
    request: Request,
    out: Path,
    *,
    schedule: Schedule | None = None,
    progress: Callable[[int, float], None] = lambda epoch, kl: None,
) -> Alignment:
    """Train an adapter towards the target and write it to a new directory.

    Args:
        request: what is to be aligned to what.
        out: the directory of the adapter.
        schedule: how the adapter is trained; None for the target's (:func:`schedule_for`).
        progress: called after each epoch with its number and its mean loss.

    Raises:
        UsageError: for anything wrong with the request or the directory, before anything is written.
    """
    refuse_taken(out)
    game, row = checked(request)
    from coplay.learners.alignment import make_dataset, measure, train_slot
    from coplay.models.admission import admitted_scorer
    from coplay.models.bank import AdapterBank, SlotName

    set_threads(request.threads or available_threads())
    schedule = schedule or schedule_for(request.to)
    situations = {purpose: _situations(request, game, row, purpose) for purpose in ("train", "measure")}
    labels = request.labels or (None if row is None else row.pair)
    targets: dict[str, Tensor] = {}
    if row is not None:
        targets = {purpose: _row_target(row, game, part) for purpose, part in situations.items()}
    elif request.to != OWN:  # the target is gone from memory before the other model is loaded
        targets = _model_targets(request, game, labels, situations)
    loaded = load_model(
        request.model,
        four_bit=request.four_bit,
        chat=request.chat,
        chat_date=request.chat_date,
        precision=request.precision,
    )
    adapter = request.adapter
    slots = [SlotName("aligned", request.seed)]
    bank = AdapterBank(loaded.model, slots, **adapter.form)
    scorer = admitted_scorer(loaded, bank)
    policies = _policies(loaded, scorer, game, labels, request.spacing)
    if request.to == OWN:
        targets = _own_targets(policies, game, request, situations)
    data = {purpose: make_dataset(policies, situations[purpose], targets[purpose]) for purpose in situations}
    before = measure(scorer, 0, data["measure"])
    losses = train_slot(scorer, 0, data["train"], schedule, seed=request.seed, progress=progress)
    used = {seat: tuple(labels or game.labels[seat]) for seat in policies}
    alignment = Alignment(request, schedule, used, before, measure(scorer, 0, data["measure"]), losses)
    _write(out, bank, alignment)
    return alignment


def parse_row(target: str) -> TableRow | None:
    """The row of Table 14 that a target names, or None if it names a model.

    Raises:
        UsageError: if there is no such row, listing those there are.
    """
    if not target.startswith(_TABLE):
        return None
    game, _, pair = target.removeprefix(_TABLE).partition(":")
    if game not in TABLE_14:
        raise unknown("game in Table 14", game, TABLE_14)
    rows = {"/".join(labels): labels for labels in TABLE_14[game]}
    if pair not in rows:
        raise UsageError(f"{target}: Table 14 has no such row; write {_TABLE}{game}: and one of {', '.join(rows)}")
    return TableRow(game, rows[pair])


def schedule_for(to: str) -> Schedule:
    """How an adapter is trained towards a target unless a schedule is given."""
    from coplay.learners.alignment import Schedule
    from coplay.learners.own_target import OWN_SCHEDULE

    return OWN_SCHEDULE if to == OWN else Schedule()


def checked(request: Request) -> tuple[MatrixGame, TableRow | None]:
    """The game, and the table's row if the target is one. Finds all that can be found without loading a model.

    Raises:
        UsageError: saying what does not fit.
    """
    game, row = matrix_game(request.game, what="coplay align"), parse_row(request.to)
    actions = [len(game.actions[seat]) for seat in game.seats]
    if actions[0] != actions[1]:
        raise UsageError(f"game {game.name!r}: alignment needs a game with as many actions for row as for column")
    if row is not None and row.game != game.name:
        raise UsageError(
            f"{request.to} is about game {row.game!r}, the prompts about {game.name!r}: set game {row.game}"
        )
    if request.labels is not None and len(request.labels) != actions[0]:
        named = ", ".join(game.actions[game.seats[0]])
        raise UsageError(f"labels: game {game.name!r} needs {actions[0]} (for {named}), got {len(request.labels)}")
    if request.prompts is not None and request.prompts < 1:
        raise UsageError(f"prompts: there must be at least 1, got {request.prompts}")
    _check_reciprocity(request, game)
    for name in (request.model,) if row is not None or request.to == OWN else (request.model, request.to):
        model_path(name)
    return game, row


def _check_reciprocity(request: Request, game: MatrixGame) -> None:
    if not 0.0 <= request.reciprocity <= 1.0:
        raise UsageError(f"reciprocity: must be from 0 to 1, got {request.reciprocity:g}")
    if request.reciprocity == 0.0:
        return
    if request.to != OWN:
        raise UsageError(f"reciprocity is mixed into the model's own policy: it goes with the target {OWN!r}")
    first, second = (game.actions[seat] for seat in game.seats)
    if first != second:
        raise UsageError(
            f"reciprocity: tit for tat repeats the co-player's action, and in {game.name!r} row has {', '.join(first)},"
            f" column {', '.join(second)}; choose a game in which both have the same actions"
        )


def _situations(request: Request, game: MatrixGame, row: TableRow | None, purpose: str) -> list[Situation]:
    from coplay.learners.alignment import PAPERS_MEMORIES, sample_situations
    from coplay.learners.own_target import own_situations

    n, seed = request.number_of_prompts, request.seed
    if request.to == OWN:
        return own_situations(game, n, seed=seed, purpose=purpose)
    memories = PAPERS_MEMORIES if row is None else (Memory.LAST_ROUND,)  # the table says nothing of counts
    return sample_situations(game, n, seed=seed, purpose=purpose, memories=memories)


def _policies(
    loaded: LoadedModel, scorer: Scorer, game: MatrixGame, labels: tuple[str, ...] | None, spacing: Spacing
) -> dict[str, ChoiceModel]:
    from coplay.players.choice_model import ChoiceModel

    make = partial(
        ChoiceModel, loaded=loaded, scorer=scorer, game=game, memory=Memory.LAST_ROUND, labels=labels, spacing=spacing
    )
    return {seat: make(seat, seats=[seat]) for seat in game.seats}


def _model_targets(
    request: Request, game: MatrixGame, labels: tuple[str, ...] | None, situations: Situations
) -> dict[str, Tensor]:
    """Target probabilities [N, A] of each set of situations, as a model gives them in its own format and tokens."""
    from coplay.learners.alignment import read_target
    from coplay.models.admission import base_scorer

    loaded = load_model(request.to, chat_date=request.chat_date)
    policies = _policies(loaded, base_scorer(loaded), game, labels, request.spacing)
    return {purpose: read_target(policies, part) for purpose, part in situations.items()}


def _own_targets(
    policies: Mapping[str, ChoiceModel], game: MatrixGame, request: Request, situations: Situations
) -> dict[str, Tensor]:
    """Target probabilities [N, A] of each set of situations: those of the model as it is, with a share of tit for tat."""
    from coplay.learners.alignment import read_target
    from coplay.learners.own_target import with_reciprocity

    own = {purpose: read_target(policies, part) for purpose, part in situations.items()}
    share, counts_only = request.reciprocity, request.reciprocal_in == "counts"
    return {
        purpose: with_reciprocity(own[purpose], part, game, share=share, counts_only=counts_only)
        for purpose, part in situations.items()
    }


def _row_target(row: TableRow, game: MatrixGame, situations: Sequence[Situation]) -> Tensor:
    import torch

    states = [state_index(game, situation.seat, situation.observation.last) for situation in situations]
    first_N = torch.tensor([TABLE_14[row.game][row.pair][state] for state in states])
    return torch.stack([first_N, 1.0 - first_N], dim=1)


def _write(out: Path, bank: AdapterBank, alignment: Alignment) -> None:
    """Write everything beside ``out`` and move it there, so that nobody meets half of it."""
    with new_directory(out) as temporary:
        store = Store(temporary, "alignment")
        for name, content in bank.peft_files(0, base_model=alignment.request.model).items():
            store.write(name, content)
        store.write(RECORD, json_text(alignment.record()))
        store.commit(finished=True)


def table(alignment: Alignment) -> str:
    """Distance from the target before and after, by prompt form, for people."""
    rows = [["prompts", "n", "KL before", "after", "illegal before", "after", "gap before", "after"]]
    for form, before in alignment.before.items():
        after = alignment.after[form]
        kl, illegal = (f"{before.kl:.4f}", f"{after.kl:.4f}"), (f"{before.illegal:.2%}", f"{after.illegal:.2%}")
        gap = f"{before.gap:.3f}", f"{after.gap:.3f}"
        rows.append([form, str(before.prompts), *kl, *illegal, *gap])
    lines = tables.align(rows, numbers=True, least=_WIDTHS)
    if alignment.request.to == OWN and alignment.request.reciprocity == 0.0:
        moved = alignment.after["all"].gap
        verdict = "" if moved < GOAL else f", not less than {GOAL}: try more epochs"
        lines.append(f"The policy among the labels has moved by at most {moved:.4f}{verdict}.")
    return "\n".join(lines)
