"""The bank of a run: the adapters of all learners, past selves and frozen co-players, and the reference policy's where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.runs.config import Adapter

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coplay.models.bank import AdapterBank, SlotName


def make_bank(model: PreTrainedModel, names: Sequence[SlotName], adapter: Adapter) -> tuple[AdapterBank, int]:
    """The adapters of these names, and the slot of the reference policy.

    With an ``init_adapter`` that is the reference as well, one more slot holds it and is never trained.

    Args:
        model: what the adapters belong to.
        names: the slots to make, each as its start.
        adapter: their form and start.

    Raises:
        UsageError: if the ``init_adapter`` does not fit, or the adapters do not fit into memory.
    """
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    start = start_of(adapter)
    kept = start is not None and adapter.reference == "start"
    slots = [*names, SlotName("reference", 0)] if kept else list(names)
    bank = AdapterBank(model, slots, **adapter.form)
    if start is not None:
        for slot in range(len(slots)):
            bank.import_peft(slot, start)
    return bank, len(names) if kept else REFERENCE


def start_of(adapter: Adapter) -> Path | None:
    """The directory of the ``init_adapter``; None without one. Its weights are not looked at.

    Raises:
        UsageError: if there is none, or it holds an adapter of another kind.
    """
    if adapter.init_adapter is None:
        return None
    directory = user_path(adapter.init_adapter)
    if not directory.is_dir():
        raise UsageError(
            f"adapter.init_adapter: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
        )
    from coplay.models.checkpoint import check_adapter

    check_adapter(directory, rank=adapter.rank, alpha=adapter.alpha)
    return directory
