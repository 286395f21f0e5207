"""The bank of a run: the adapters of all learners, past selves and frozen co-players, and the reference policies of those that have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.models.known import AdapterForm
from coplay.runs.config import Config

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

    starts, of_all = starts_of(config), start_of(config)
    kept = list(dict.fromkeys(starts.values())) if config.adapter.reference == "start" else []
    slots = [*names, *(SlotName("reference", i) for i in range(len(kept)))]
    bank = AdapterBank(model, slots, **_form(config, starts))
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
    of_all, found = start_of(config), {}
    for name, learner in config.learners.items():
        if learner.policy != "language_model":
            continue
        start = of_all
        if learner.init_adapter is not None:
            start = _checked(learner.init_adapter, config, f"learners.{name}.init_adapter")
        if start is not None:
            found[name] = start
    return found


def _form(config: Config, starts: Mapping[str, Path]) -> AdapterForm:
    """The form of the run's adapters: the settings', or the first start's where these are the defaults. Other starts fit into it or are refused."""
    if not config.has_form_of_start or not starts:
        return config.adapter.form
    from coplay.models.adapter_config import adapter_form

    return adapter_form(next(iter(starts.values())))


def start_of(config: Config) -> Path | None:
    """The directory of the ``init_adapter`` of all; None without one. Its weights are not looked at.

    Raises:
        UsageError: if there is none, or it holds an adapter of another kind.
    """
    start = config.adapter.init_adapter
    return None if start is None else _checked(start, config, "adapter.init_adapter")


def _checked(name: str, config: Config, key: str) -> Path:
    """A start's directory, which a setting names."""
    directory = user_path(name)
    if not directory.is_dir():
        raise UsageError(
            f"{key}: there is no directory {directory}; give one that `coplay align` or PEFT wrote, or move it back"
        )
    from coplay.models.adapter_config import read_settings

    settings, adapter = read_settings(directory), config.adapter
    if (
        not config.has_form_of_start
        and (settings.r, settings.lora_alpha) != (adapter.rank, adapter.alpha)
        and settings.is_plain
    ):
        raise UsageError(
            f"{key}: {directory / 'adapter_config.json'} has r={settings.r} lora_alpha={settings.lora_alpha:g}, this run has adapter.rank={adapter.rank}"
            f" adapter.alpha={adapter.alpha:g}. Set adapter.rank={settings.r} adapter.alpha={settings.lora_alpha:g}, or leave rank, alpha, targets and"
            " top_layers at their defaults: they are then the start's"
        )
    return directory
