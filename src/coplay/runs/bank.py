"""The bank of a run: the adapters of all learners, past selves and frozen co-players, and the reference policy's where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
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
        UsageError: if the ``init_adapter`` is no directory.
    """
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    kept = adapter.init_adapter is not None and adapter.reference == "start"
    slots = [*names, SlotName("reference", 0)] if kept else list(names)
    bank = AdapterBank(model, slots, rank=adapter.rank, alpha=adapter.alpha, targets=adapter.targets)
    if adapter.init_adapter is not None:
        directory = Path(adapter.init_adapter).expanduser()
        if not directory.is_dir():
            raise UsageError(
                f"adapter.init_adapter: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
            )
        for slot in range(len(slots)):
            bank.import_peft(slot, directory)
    return bank, len(names) if kept else REFERENCE
