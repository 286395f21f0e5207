"""A model's outline: all of its tensors with their shapes, on the device ``meta``, where they take no memory. Only its config is read.

What a model takes on a real device, and what its passes take there, is measured on the outline.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.models.checkpoint import check_config
from coplay.models.hub import kept, only_here
from coplay.models.known import Precision
from coplay.models.loading import first_line, model_path

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

FOUR_BIT_BYTES = 0.5 + 4 / 64
"""Of a weight in 4 bits: half a byte, and a scale in single precision for 64 of them."""


@dataclass(frozen=True)
class Outline:
    """See the module."""

    model: PreTrainedModel
    """On the device ``meta``."""
    device: str
    """Where the model itself would be: ``cuda`` or ``cpu``."""

    @property
    def parameters(self) -> int:
        """How many numbers it has."""
        return sum(parameter.numel() for parameter in self.model.parameters() if not parameter.requires_grad)

    def weights(self, *, four_bit: bool) -> tuple[int, int]:
        """Bytes of all weights on the device, and of the largest layer's that are made floating-point again while it is computed.

        Args:
            four_bit: whether layers are quantised; the head is not.
        """
        import torch

        model, head = self.model, self.model.get_output_embeddings()
        quantised = {
            id(module.weight): module.weight
            for module in model.modules()
            if four_bit and hasattr(module, "in_features") and module is not head
        }
        total = sum(buffer.nbytes for buffer in model.buffers())
        for parameter in model.parameters():
            total += int(parameter.numel() * FOUR_BIT_BYTES) if id(parameter) in quantised else parameter.nbytes
        if self.device == "cpu" and head is not None and model.dtype != torch.float32:
            total += 4 * head.weight.numel()  # logits are computed in single precision there, with a copy of the head
        return total, max((weight.nbytes for weight in quantised.values()), default=0)


def device_of_models() -> str:
    """Where models are put: the GPU, if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def precision_on(device: str, precision: Precision) -> torch.dtype:
    """What a model's weights are held in on a device."""
    import torch

    if precision is Precision.AUTO:
        precision = Precision.BFLOAT16 if device.startswith("cuda") else Precision.FLOAT32
    return torch.bfloat16 if precision is Precision.BFLOAT16 else torch.float32


def outline_of(name: str, *, precision: Precision) -> Outline:
    """The outline of a model.

    Args:
        name: as for :func:`coplay.models.loading.load_model`; a directory needs no more than ``config.json``.
        precision: of its weights.

    Raises:
        UsageError: if there is no config, or none of a causal language model.
    """
    import torch
    from transformers import AutoModelForCausalLM

    device = device_of_models()
    dtype = precision_on(device, precision)
    path = model_path(name)
    try:
        config = _config_of(path)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False, dtype=dtype)
    except UsageError as error:
        raise UsageError(f"model: {name}: {error}") from None
    except Exception as error:  # configs raise errors of any kind
        raise UsageError(f"model: {name}: its config cannot be read: {first_line(error)}") from None
    if getattr(model.config, "attn_logit_softcapping", None) is not None:
        model.set_attn_implementation("eager")
    model.requires_grad_(False)
    model.eval()
    return Outline(model, device)


def _config_of(path: str) -> object:
    """The model's config; of a directory it is checked before it is believed."""
    from transformers import AutoConfig

    if Path(path).is_dir():
        check_config(Path(path))
        return AutoConfig.from_pretrained(path, trust_remote_code=False)
    if kept(path) is None:
        try:
            return AutoConfig.from_pretrained(path, trust_remote_code=False, local_files_only=only_here(path))
        except OSError:
            raise UsageError(
                "its config.json is needed, and is neither on this machine nor within reach; give --model a directory that holds it"
            ) from None
    return AutoConfig.from_pretrained(path, trust_remote_code=False, local_files_only=True)
