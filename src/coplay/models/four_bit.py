"""Bases of 4 bits: quantised by bitsandbytes, and checked to be what adapters can be trained on.

An adapter is trained through the layers above it, so a quantised layer must hand gradients on. On a CPU with AVX512-BF16 instructions, bitsandbytes
repacks the weights of a layer for faster inference when it first computes something without gradients, and from then on the layer hands
none on; it also fails for widths that its packing does not divide. Repacking is therefore switched off. Whatever a version or a device does, one layer of
each shape is compared with its own weights made floating-point again: what it computes, after a pass without gradients, and the gradient of its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from coplay.errors import UsageError, missing_extra

if TYPE_CHECKING:
    from transformers import BitsAndBytesConfig, PreTrainedModel

_REPACKS = "support_avx512bf16_for_cpu"
"""The attribute of a layer by which bitsandbytes decides whether to repack it; older versions have none, and do not repack."""

_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 5e-2}
"""How far a product and a gradient may be from those of the floating-point weights, as a share of the largest."""

_ROWS = 3
"""Of the input that layers are tried with."""


def four_bit_config(compute_dtype: torch.dtype) -> BitsAndBytesConfig:
    """How transformers is asked to quantise a model (nf4); raises UsageError without bitsandbytes or accelerate."""
    for package in ("bitsandbytes", "accelerate"):
        try:
            __import__(package)
        except ImportError:
            raise missing_extra(package, "quantized") from None
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=compute_dtype)


def make_trainable(model: PreTrainedModel, *, asked: bool = True) -> None:
    """Have the quantised layers of a model hand gradients on, and see that they do.

    Args:
        model: the model, whose layers are computed in its precision from now on, whatever its files say.
        asked: whether 4 bits were asked for; else its files may be of 4 bits.

    Raises:
        UsageError: if a layer does not compute what its weights say, or does not hand gradients on; or none is of 4 bits though that
            was asked for or is said by its files.
    """
    layers = {name: module for name, module in model.named_modules() if _is_quantised(module)}
    if not layers and asked:
        raise UsageError("none of its layers was quantised to 4 bits; leave out four_bit")
    if not layers and getattr(model, "is_loaded_in_4bit", False):
        raise UsageError(
            "its config.json says that its weights are of 4 bits, but none is; leave out its quantization_config"
        )
    by_shape: dict[tuple[int, int], str] = {}
    for name, layer in layers.items():
        layer.compute_dtype = model.dtype
        if hasattr(layer, _REPACKS):
            setattr(layer, _REPACKS, False)
        by_shape.setdefault((layer.in_features, layer.out_features), name)
    for name in by_shape.values():
        off = _off_by(layers[name], model.dtype)
        if not off <= _TOLERANCE[model.dtype]:
            told = "hands no gradient on" if off == float("inf") else f"is off by {off:.2g} of its largest number"
            raise UsageError(
                f"in 4 bits its layer {name} {told} on this {next(model.parameters()).device.type}, so nothing can be trained on it;"
                " set four_bit=false, or use a GPU or another version of bitsandbytes"
            )


def _is_quantised(module: nn.Module) -> bool:
    return getattr(getattr(module, "weight", None), "quant_state", None) is not None


def _off_by(layer: nn.Module, dtype: torch.dtype) -> float:
    """How far a layer's product and the gradient of its input are from those of its weights in floating point; infinite without a gradient."""
    import bitsandbytes as bnb

    weight: Any = layer.weight
    weight_OI: Tensor = bnb.functional.dequantize_4bit(weight.data, weight.quant_state).to(dtype)
    generator = torch.Generator().manual_seed(0)
    x_NI = torch.randn(_ROWS, weight_OI.shape[1], generator=generator).to(weight_OI)
    with torch.no_grad():
        layer(x_NI)
    found, expected = ((x_NI.clone().requires_grad_(True)) for _ in range(2))
    out_NO, true_NO = layer(found), nn.functional.linear(expected, weight_OI, cast("Tensor | None", layer.bias))
    if not out_NO.requires_grad:
        return float("inf")
    by_out_NO = torch.randn(true_NO.shape, generator=generator).to(true_NO)
    pairs = [(out_NO, true_NO)]
    pairs += zip(
        torch.autograd.grad(out_NO, found, by_out_NO), torch.autograd.grad(true_NO, expected, by_out_NO), strict=True
    )
    return max(float((mine - theirs).detach().abs().max() / theirs.detach().abs().max()) for mine, theirs in pairs)
