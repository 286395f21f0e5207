"""Checks of shapes: broadcasting would make numbers of arrays that do not belong together."""

from __future__ import annotations

from torch import Tensor


def require_same_shape(**tensors: Tensor) -> None:
    """Raise ValueError, naming all shapes, unless these tensors have the same one."""
    if len({tensor.shape for tensor in tensors.values()}) > 1:
        shapes = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"these must have one shape: {shapes}")
