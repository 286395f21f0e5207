"""The bank of a run: the adapters of all learners, past selves and frozen co-players, and the reference policies of those that have one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.runs.config import Adapter, Config

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coplay.models.bank import AdapterBank, SlotName


def make_bank(model: PreTrainedModel, names: Sequence[SlotName], config: Config) -> tuple[AdapterBank, dict[str, int]]:
    """The adapters of these names, and the slots of the learners' reference policies.

    Where starts are the reference as well, one more slot for each of them holds it and is never trained.

    Args:
        model: what the adapters belong to.
        names: the slots to make, each as its learner's start; those of nobody who learns as the start of all.
        config: the run, which says the adapters' form and starts.

    Returns:
        The bank, and the slot of each language model's reference policy by the learner's name.

    Raises:
        UsageError: if an ``init_adapter`` does not fit, or the adapters do not fit into memory.
    """
    from coplay.models.bank import REFERENCE, AdapterBank, SlotName

    starts, of_all = starts_of(config), start_of(config.adapter)
    kept = list(dict.fromkeys(starts.values())) if config.adapter.reference == "start" else []
    bank = AdapterBank(model, [*names, *(SlotName("reference", i) for i in range(len(kept)))], **config.adapter.form)
    for slot, start in enumerate([*(starts.get(name.learner, of_all) for name in names), *kept]):
        if start is not None:
            bank.import_peft(slot, start)
    models = [name for name, learner in config.learners.items() if learner.policy == "language_model"]
    slot_of = {start: len(names) + i for i, start in enumerate(kept)}
    return bank, {name: slot_of.get(starts[name], REFERENCE) if name in starts else REFERENCE for name in models}


def starts_of(config: Config) -> dict[str, Path]:
    """The directory of the adapter that each language model starts from, by the learner's name; without those that start from the model itself.

    Raises:
        UsageError: if there is none, or it holds an adapter of another kind.
    """
    of_all, found = start_of(config.adapter), {}
    for name, learner in config.learners.items():
        if learner.policy != "language_model":
            continue
        start = of_all
        if learner.init_adapter is not None:
            start = _checked(learner.init_adapter, config.adapter, f"learners.{name}.init_adapter")
        if start is not None:
            found[name] = start
    return found


def start_of(adapter: Adapter) -> Path | None:
    """The directory of the ``init_adapter`` of all; None without one. Its weights are not looked at.

    Raises:
        UsageError: if there is none, or it holds an adapter of another kind.
    """
    return None if adapter.init_adapter is None else _checked(adapter.init_adapter, adapter, "adapter.init_adapter")


def _checked(name: str, adapter: Adapter, key: str) -> Path:
    """A start's directory, which a setting names."""
    directory = user_path(name)
    if not directory.is_dir():
        raise UsageError(
            f"{key}: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
        )
    from coplay.models.checkpoint import check_adapter

    check_adapter(directory, rank=adapter.rank, alpha=adapter.alpha)
    return directory
