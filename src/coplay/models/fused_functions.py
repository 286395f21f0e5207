"""Functions of the fused Llama pass: each takes one or two operations where the library's modules take several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import linear, silu

if TYPE_CHECKING:
    from torch.autograd.function import FunctionCtx


def batched_linear(x_PKI: Tensor, weight: Tensor) -> Tensor:
    """The product with one matrix for all slots, [O, I], or with one for each slot, [P, O, I]. Shape [P, K, O]."""
    return linear(x_PKI, weight) if weight.dim() == 2 else torch.bmm(x_PKI, weight.transpose(1, 2))


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of [..., width]; ``sin`` holds the minus signs of the rotated first half."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


class _RMSNorm(torch.autograd.Function):
    """Its backward pass takes a third of the operations of autograd's own."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, eps: float) -> Tensor:
        inverse = _inverse_rms(x, eps)
        y = x * inverse
        ctx.save_for_backward(y, inverse)
        return y

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        y, inverse = ctx.saved_tensors  # type: ignore[attr-defined]
        along = (grad * y).mean(-1, keepdim=True)
        return torch.addcmul(grad, y, along, value=-1.0).mul_(inverse), None


class _SwiGLU(torch.autograd.Function):
    """Its backward pass writes the gradients of gate and up into one tensor."""

    @staticmethod
    def forward(ctx: FunctionCtx, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        activation = silu(gate)
        ctx.save_for_backward(gate_up, activation)
        return activation * up

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        gate_up, activation = ctx.saved_tensors  # type: ignore[attr-defined]
        gate, up = gate_up.chunk(2, dim=-1)
        grad_gate_up = torch.empty_like(gate_up)
        grad_gate, grad_up = grad_gate_up.chunk(2, dim=-1)
        torch.mul(grad, activation, out=grad_up)
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=grad_gate)
        return grad_gate_up


def rms_norm(x: Tensor, eps: float) -> Tensor:
    """Root mean square norm over the last dimension, without the learned scale, which is merged into the next matrix."""
    if torch.is_grad_enabled():
        out: Tensor = _RMSNorm.apply(x, eps)  # type: ignore[no-untyped-call]
        return out
    return x * _inverse_rms(x, eps)


def scaled_rms_norm(x: Tensor, scale_H: Tensor, eps: float) -> Tensor:
    """The norm with a learned scale that is not trained: one kernel where there is one, which saves seven on a GPU."""
    if x.is_cuda:
        return torch.nn.functional.rms_norm(x, scale_H.shape, scale_H, eps)
    return rms_norm(x, eps) * scale_H


def _inverse_rms(x: Tensor, eps: float) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return length.square_().mul_(1.0 / x.shape[-1]).add_(eps).rsqrt_()


def swiglu(gate_up: Tensor) -> Tensor:
    """silu(gate) * up of a tensor [..., 2 * I] that holds both; [..., I]."""
    if torch.is_grad_enabled():
        out: Tensor = _SwiGLU.apply(gate_up)  # type: ignore[no-untyped-call]
        return out
    gate, up = gate_up.chunk(2, dim=-1)
    return torch.mul(silu(gate), up)
