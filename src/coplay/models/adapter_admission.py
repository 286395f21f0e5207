"""Adapters that others wrote are compared with PEFT's reading of them before they are used, each once on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.models.adapter_check import compare_with_peft
from coplay.models.adapter_config import is_from_elsewhere
from coplay.models.admission_record import EngineTrial, adapter_key, keep_admitted, was_admitted
from coplay.models.bank import AdapterBank
from coplay.models.scoring import Engine, Scorer

if TYPE_CHECKING:
    from coplay.models.loading import LoadedModel


def admit_adapters(loaded: LoadedModel, bank: AdapterBank, engine: Engine, key: str) -> None:
    """Compare the adapters that a bank has read and others wrote with PEFT's reading of them, once for each.

    Args:
        loaded: the model.
        bank: its adapters.
        engine: what computes the model.
        key: by which the model's admission is kept.

    Raises:
        UsageError: for an adapter that is read otherwise than by PEFT, with the difference.
    """
    slot_of = {directory: slot for slot, directory in bank.imported.items() if is_from_elsewhere(directory)}
    for directory, slot in slot_of.items():
        own_key = adapter_key(key, directory)
        if was_admitted(own_key):
            continue
        trial = adapter_trial(loaded, bank, slot, directory, engine)
        if not trial.agrees:
            raise UsageError(f"{directory}: the adapter is read otherwise than by PEFT: {trial.reason}")
        keep_admitted(own_key)


def adapter_trial(loaded: LoadedModel, bank: AdapterBank, slot: int, directory: Path, engine: Engine) -> EngineTrial:
    """An adapter that was read into a slot, compared with PEFT's reading of it.

    Args:
        loaded: the model.
        bank: its adapters.
        slot: the adapter's.
        directory: where it was read from.
        engine: what computes the model.
    """
    scorer = Scorer(loaded.model, bank, engine)
    found = compare_with_peft(loaded.model, bank, slot, directory, scorer=scorer)
    if not found:
        return EngineTrial(engine, failure="PEFT is not installed, and nothing else says what it means in 4 bits")
    return EngineTrial.of(engine, found)
