"""The bank of a run: the learners' adapters, and the reference policy's where that is not the model as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coplay.config import Adapter
from coplay.errors import UsageError

if TYPE_CHECKING:
    from coplay.models.bank import AdapterBank, SlotName


def make_bank(model: Any, learners: list[SlotName], adapter: Adapter) -> tuple[AdapterBank, int]:
    """The learners' adapters, and the slot of the reference policy.

    With a start that is the reference as well, one more slot holds the start and is never trained.

    Args:
        model: what the adapters belong to.
        learners: the slots to make, each as its start.
        adapter: their form and start.

    Raises:
        UsageError: if the start is no directory.
    """
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    kept = adapter.start is not None and adapter.reference == "start"
    names = [*learners, SlotName("reference", 0)] if kept else learners
    bank = AdapterBank(model, names, rank=adapter.rank, alpha=adapter.alpha, targets=adapter.targets)
    if adapter.start is not None:
        directory = Path(adapter.start).expanduser()
        if not directory.is_dir():
            raise UsageError(
                f"adapter.start: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
            )
        for slot in range(len(names)):
            bank.import_peft(slot, directory)
    return bank, len(learners) if kept else REFERENCE


def count_fixed(bank: AdapterBank) -> int:
    """The bank's slots that are never trained and are the same for all seeds."""
    return sum(slot.learner == "reference" for slot in bank.slots)
