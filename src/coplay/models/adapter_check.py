"""An adapter that was read into a bank, compared with PEFT's own reading of it on the same base model.

Where PEFT is not installed, the reference is the base model with each update added to its weights, which Transformers then computes as any model.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from coplay.models.bank import REFERENCE, AdapterBank, RoutedLinear
from coplay.models.comparison import EXACT, ROUNDED, Difference
from coplay.models.final_hidden import ordinary_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coplay.models.scoring import Scorer

LENGTHS = (5, 24)
"""Tokens of the rows that are compared."""


@torch.no_grad()
def compare_with_peft(
    model: PreTrainedModel, bank: AdapterBank, slot: int, directory: Path, *, scorer: Scorer | None = None
) -> list[Difference]:
    """Compare the logits of a slot, into which an adapter was read, with PEFT's logits of the same adapter.

    PEFT gets a model of its own with the base model's tensors, so nothing is copied and the given model stays as it is.

    Args:
        model: the model, whose layers the bank has wrapped.
        bank: its adapters.
        slot: the one that :meth:`~coplay.models.bank.AdapterBank.import_peft` has read the adapter into.
        directory: the adapter's.
        scorer: computes the slot's logits; by default the model's own pass.

    Returns:
        For each length of rows one comparison of rows alone and one of rows beside those of all other slots and of the model without adapters; empty
        without PEFT for a model in 4 bits, to whose weights nothing can be added.
    """
    rows = [[ordinary_tokens(model, tokens, seed=seed) for seed in range(2)] for tokens in LENGTHS]
    plain = _without_bank(model, bank)
    bare = [_logits(plain, each) for each in rows]
    if find_spec("peft") is not None:
        other, against = _of_peft(plain, directory), f"PEFT {version('peft')}"
    elif getattr(model, "is_quantized", False):
        return []
    else:
        other, against = _merged(plain, bank, directory), "the base model with the update added to its weights"
    wanted = [_logits(other, each) for each in rows]
    found = []
    for each, bare_RV, wanted_RV in zip(rows, bare, wanted, strict=True):
        tokens = len(each[0])
        alone = torch.cat([_of_slots(model, bank, [slot], [row], scorer) for row in each])
        found.append(_difference(model, f"rows alone, against {against}", tokens, alone, wanted_RV))
        beside = [one for one in range(len(bank.slots)) if one != slot]
        mixed = _of_slots(
            model, bank, [slot, REFERENCE, *beside], [each[0], each[1], *(each[1] for _ in beside)], scorer
        )
        expected = torch.stack([wanted_RV[0], bare_RV[1]])
        found.append(_difference(model, f"beside rows of others, against {against}", tokens, mixed[:2], expected))
    return found


def _without_bank(model: PreTrainedModel, bank: AdapterBank) -> PreTrainedModel:
    """The base model as it was before the bank wrapped its layers: modules of its own around the same tensors."""
    shared: dict[int, object] = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    base = deepcopy(model, {**shared, id(bank): bank})
    for name, module in list(base.named_modules()):
        if isinstance(module, RoutedLinear):
            base.set_submodule(name, module.base)
    return base


def _of_peft(base: PreTrainedModel, directory: Path) -> PreTrainedModel:
    import peft

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they are about was checked when the adapter was read
        return cast("PreTrainedModel", peft.PeftModel.from_pretrained(base, str(directory)).eval())


def _merged(base: PreTrainedModel, bank: AdapterBank, directory: Path) -> PreTrainedModel:
    """The base model with the adapter's updates in its weights."""
    stored = bank.read_peft(directory)
    for name, place in bank.places.items():
        layer = cast(nn.Linear, base.get_submodule(name))
        A, B = (stored[f"{name}.{part}"].to(layer.weight.device, torch.float32) for part in ("lora_A", "lora_B"))
        update = place.scale * B @ A
        turned = update.T if type(layer).__name__ == "Conv1D" else update
        layer.weight = nn.Parameter((layer.weight.float() + turned).to(layer.weight.dtype), requires_grad=False)
    return base


def _logits(model: PreTrainedModel, rows: Sequence[tuple[int, ...]]) -> Tensor:
    """Next-token logits behind rows, float32, [R, V], each row alone."""
    device = next(model.parameters()).device
    found = [model(input_ids=torch.tensor([row], device=device), use_cache=False).logits[0, -1] for row in rows]
    return torch.stack(found).float()


def _of_slots(
    model: PreTrainedModel,
    bank: AdapterBank,
    slots: Sequence[int],
    rows: Sequence[tuple[int, ...]],
    scorer: Scorer | None,
) -> Tensor:
    """The same of rows of one length through slots, in one batch."""
    if scorer is not None:
        return scorer.score(slots, rows).logits_RV
    with bank.route(slots):
        ids_RL = torch.tensor(rows, device=bank.device)
        return cast(Tensor, model(input_ids=ids_RL, use_cache=False).logits)[:, -1].float()


def _difference(model: PreTrainedModel, what: str, tokens: int, got_RV: Tensor, wanted_RV: Tensor) -> Difference:
    spread = float(wanted_RV.std(-1).mean())
    off = (got_RV - wanted_RV).abs()
    if model.dtype == torch.float32 and not getattr(model, "is_quantized", False):
        return Difference(what, tokens, float(off.max()), spread, EXACT * spread)
    return Difference(what, tokens, float(off.square().mean().sqrt()), spread, ROUNDED * spread)
