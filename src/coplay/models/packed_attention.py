"""Attention for packed rows: what each token sees, and attention where several queries share a key.

Shapes: R rows, T tokens of the longest, L keys of each, D width of a head, h heads, g heads of keys and values, K tokens of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

_MOST_PRODUCTS = 2**15
"""Of a row's queries and keys, up to which they are computed outside of a kernel."""


class Masks:
    """Which keys the tokens of rows see, 0 or minus infinity, behind a beginning that all have in common.

    Args:
        start: S, tokens of the beginning.
        sizes: tokens of each row behind it.
        device: where the masks are.
    """

    def __init__(self, start: int, sizes: Sequence[int], device: torch.device) -> None:
        self.start, self.sizes, self.device = start, list(sizes), device
        self.longest = max(sizes)
        self.ragged = min(sizes) < self.longest
        self._behind: dict[int | None, Tensor] = {}
        self._causal: dict[int | None, Tensor] = {}
        if self.ragged:
            # places of the tokens in [R * T]; padding repeats a row's last token, which is not read again
            first, spread, place = 0, [], []
            for row, size in enumerate(self.sizes):
                spread += [first + min(t, size - 1) for t in range(self.longest)]
                place += [row * self.longest + t for t in range(size)]
                first += size
            self._spread, self._place = (torch.tensor(index, device=device) for index in (spread, place))

    def causal(self, size: int, window: int | None) -> Tensor:
        """Of ``size`` tokens in a row, [size, size]."""
        if window not in self._causal:
            self._causal[window] = _mask(0, size, window, self.device)
        return self._causal[window]

    def behind(self, window: int | None) -> Tensor:
        """Of the tokens of a row, padded to the longest, [T, S + T]."""
        if window not in self._behind:
            self._behind[window] = _mask(self.start, self.longest, window, self.device)
        return self._behind[window]

    def positions(self, first: int, slots: int) -> Tensor:
        """Where the tokens of these slots stand, [K]: in each those of its beginning, if it is read too (``first`` tokens), then those of its rows."""
        sizes = self.sizes[: len(self.sizes) // slots]
        own = [torch.arange(first, device=self.device)] if first else []
        if self.ragged:
            own += [torch.arange(self.start, self.start + size, device=self.device) for size in sizes]
        else:  # without a copy to the device, which a graph could not record
            row = torch.arange(self.start, self.start + self.longest, device=self.device)
            own.append(row.repeat(len(sizes)))
        return torch.cat(own).repeat(slots)

    def apart(self, x_KaD: Tensor) -> Tensor:
        """From packed tokens to padded rows, [R, T, a, D]."""
        if self.ragged:
            x_KaD = x_KaD.index_select(0, self._spread)
        return x_KaD.view(len(self.sizes), self.longest, *x_KaD.shape[1:])

    def together(self, x_RTA: Tensor) -> Tensor:
        """From padded rows to packed tokens, [K, A]."""
        x_KA = x_RTA.flatten(0, 1)
        return x_KA.index_select(0, self._place) if self.ragged else x_KA


def _mask(start: int, size: int, window: int | None, device: torch.device) -> Tensor:
    order = torch.arange(start + size, device=device)
    seen = order <= order[start:, None]
    if window is not None:
        seen &= order > order[start:, None] - window
    return torch.zeros(seen.shape, device=device).masked_fill_(~seen, -torch.inf)


def grouped_attention(
    q_RhTD: Tensor, k_RgLD: Tensor, v_RgLD: Tensor, mask: Tensor, *, scale: float, softcap: float | None
) -> Tensor:
    """softmax(cap(scale q k^T) + mask) v, the heads joined, [R, T, h * D].

    Queries that share a key stand where others have the tokens of a sequence, so keys are not repeated. For short rows, two products and a
    softmax in single precision: on a processor that is faster than the fused kernels, twice as fast in 16 bits. For long ones a fused kernel,
    which does not keep the products for the backward pass.

    Args:
        q_RhTD: queries.
        k_RgLD: keys; h is a multiple of g.
        v_RgLD: values.
        mask: what is seen, 0 or minus infinity; [T, L], or [R, 1, T, L].
        scale: of the products of queries and keys.
        softcap: c where they are capped at c * tanh(product / c); None where they are not.
    """
    R, h, T, D = q_RhTD.shape
    g, L = k_RgLD.shape[1:3]
    if softcap is None and T * L > _MOST_PRODUCTS:
        fused = functional.scaled_dot_product_attention(
            q_RhTD, k_RgLD, v_RgLD, mask.to(q_RhTD.dtype), scale=scale, enable_gqa=h > g
        )
        return fused.transpose(1, 2).flatten(2)
    products = torch.matmul((q_RhTD * scale).reshape(R, g, -1, D), k_RgLD.transpose(2, 3)).float().view(R, h, T, L)
    if softcap is not None:
        products = softcap * torch.tanh(products / softcap)
    probs = torch.softmax(products + mask, dim=-1).to(q_RhTD.dtype)
    out = torch.matmul(probs.view(R, g, -1, L), v_RgLD)
    return out.view(R, h, T, D).transpose(1, 2).flatten(2)
