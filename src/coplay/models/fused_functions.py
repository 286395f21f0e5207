"""Functions of a fused pass: each does in one or two operations what the library's modules do in several."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, silu


def times(x_PKI: Tensor, weight: Tensor) -> Tensor:
    """The product with a matrix that all slots share, or with each slot's own."""
    return linear(x_PKI, weight) if weight.dim() == 2 else torch.bmm(x_PKI, weight.transpose(1, 2))


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding; the signs of the halves' exchange are in ``sin``."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


class _Norm(torch.autograd.Function):
    """Root mean square norm without a learned scale, in a third of the operations that autograd's own takes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        scale = _norm_scale(x, eps)
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        y, scale = ctx.saved_tensors
        along = (grad * y).mean(-1, keepdim=True)
        return torch.addcmul(grad, y, along, value=-1.0).mul_(scale), None


class _Gated(torch.autograd.Function):
    """silu(gate) * up of a tensor that holds both, whose gradient is written in one piece too."""

    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        open_gate = silu(gate)
        ctx.save_for_backward(gate_up, open_gate)
        return open_gate * up

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        gate_up, open_gate = ctx.saved_tensors
        gate, up = gate_up.chunk(2, dim=-1)
        out = torch.empty_like(gate_up)
        of_gate, of_up = out.chunk(2, dim=-1)
        torch.mul(grad, open_gate, out=of_up)
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=of_gate)
        return out


def normed(x: Tensor, eps: float) -> Tensor:
    """Root mean square norm without a learned scale, which is in the weights that follow."""
    if torch.is_grad_enabled():
        out: Tensor = _Norm.apply(x, eps)  # type: ignore[no-untyped-call]
        return out
    scaled: Tensor = x * _norm_scale(x, eps)
    return scaled


def _norm_scale(x: Tensor, eps: float) -> Tensor:
    """One over the root of the mean square."""
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return length.square_().mul_(1.0 / x.shape[-1]).add_(eps).rsqrt_()


def gated(gate_up: Tensor) -> Tensor:
    """silu(gate) * up of a tensor [..., 2 * I] that holds both."""
    if torch.is_grad_enabled():
        out: Tensor = _Gated.apply(gate_up)  # type: ignore[no-untyped-call]
        return out
    gate, up = gate_up.chunk(2, dim=-1)
    return torch.mul(silu(gate), up)
