"""How much memory tensors take while something is computed, at most: measured by watching each tensor come and go.

The tensors may be on the device ``meta``, where they have shapes and take no memory: what a pass of a large model would take is then measured on a
small machine, by the same code that computes on a GPU. Attention there must be asked for the kernel that a processor or a GPU would choose, since on
``meta`` there is none but the one that keeps all products.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class MemoryMeter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """In its block, adds up the bytes of all tensors that are alive.

    Args:
        known: tensors that are there before, which are not counted: a model's weights.
    """

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.alive = 0
        """Bytes of the tensors that were made in the block and are still there."""
        self.peak = 0
        """The most that there were at a time."""
        self._sizes: dict[int, int] = {}
        for tensor in known:
            self._watch(tensor, counts=False)

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation and count what it makes; what it only looks at in another way is not counted twice."""
        out = func(*args, **(kwargs or {}))
        for one in tree_leaves(out):
            if isinstance(one, Tensor):
                self._watch(one, counts=True)
        return out

    def _watch(self, tensor: Tensor, *, counts: bool) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._sizes:
            return
        self._sizes[key] = storage.nbytes() if counts else 0
        self.alive += self._sizes[key]
        self.peak = max(self.peak, self.alive)
        weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self.alive -= self._sizes.pop(key)


@contextlib.contextmanager
def fused_attention() -> Iterator[None]:
    """In the block, attention on the device ``meta`` keeps what a fused kernel keeps: its result, and a number a query.

    The library's function is replaced while the block runs: a mode of functions would not reach what the backward pass computes again.
    """
    before = functional.scaled_dot_product_attention
    functional.scaled_dot_product_attention = _fused
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = before


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,  # as the shapes say
) -> Tensor:
    """The arguments of ``scaled_dot_product_attention``; keys that queries share are not repeated."""
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = attn_mask.to(query.dtype)
    if attn_mask is not None:
        while attn_mask.dim() < 4:
            attn_mask = attn_mask[None]
    out, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query,
        key,
        value,
        dropout_p,
        is_causal,
        attn_mask=attn_mask,
        scale=1 / math.sqrt(query.shape[-1]) if scale is None else scale,
    )
    found: Tensor = out
    return found
