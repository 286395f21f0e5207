"""Sampling with the lean forward pass: prompts read once, then a token at a time, rows dropped and split as they go.

Rows of a slot are a part of the batch, since a slot's adapters are merged into its weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from coplay.models.bank import AdapterBank
from coplay.models.fused_functions import normed, rotated, times
from coplay.models.fused_llama import LeanDecoder


class LeanBatch:
    """Rows on their way through a small model; the interface of :class:`coplay.models.generation.Batch`.

    Args:
        decoder: the lean forward pass.
        bank: the adapters.
        slots: the slot of each row, those of a slot beside each other.
        prompts: token ids of each row.
    """

    def __init__(
        self, decoder: LeanDecoder, bank: AdapterBank, slots: Sequence[int], prompts: Sequence[Sequence[int]]
    ) -> None:
        self.parts: list[_Part] = []
        for slot, rows in groupby(range(len(slots)), key=lambda row: slots[row]):
            self.parts.append(_Part(decoder, bank, slot, [prompts[row] for row in rows]))

    def hidden(self) -> Tensor:
        """Final hidden states from which each row's next token is taken, [R, H]."""
        return torch.cat([part.hidden_NH for part in self.parts])

    def go_on(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Read one more token behind each of these rows, some of them perhaps several times; the others are dropped.

        Args:
            rows: ascending.
            tokens: one for each.
        """
        left, start, at = [], 0, 0
        for part in self.parts:
            end = start + len(part.hidden_NH)
            until = at
            while until < len(rows) and rows[until] < end:
                until += 1
            if until > at:
                part.go_on([row - start for row in rows[at:until]], tokens[at:until])
                left.append(part)
            start, at = end, until
        self.parts = left


class _Part:
    """The rows of one slot, with the keys and values of what they have read."""

    def __init__(self, decoder: LeanDecoder, bank: AdapterBank, slot: int, prompts: Sequence[Sequence[int]]) -> None:
        self.decoder, self.bank, self.slot = decoder, bank, slot
        longest, device = max(map(len, prompts)), bank.device
        ids_NL = torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts], device=device)
        self.lengths_N = torch.tensor([len(prompt) for prompt in prompts], device=device)
        # padding stands behind the prompts: later tokens come after it and must not look at it
        self.seen_NL = torch.arange(longest, device=device) < self.lengths_N[:, None]
        with bank.route([slot]):
            self.hidden_NH, self.layers = decoder.begin(ids_NL, self.lengths_N - 1)

    def go_on(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        device = self.bank.device
        if list(rows) != list(range(len(self.lengths_N))):
            rows_N = torch.tensor(rows, device=device)
            self.layers = [(keys[rows_N], values[rows_N]) for keys, values in self.layers]
            self.lengths_N, self.seen_NL = self.lengths_N[rows_N], self.seen_NL[rows_N]
        self.seen_NL = torch.cat([self.seen_NL, torch.ones_like(self.seen_NL[:, :1])], dim=1)
        with self.bank.route([self.slot]):
            self._read(torch.tensor(tokens, device=device))
        self.lengths_N = self.lengths_N + 1

    def _read(self, tokens_N: Tensor) -> None:
        """One token in each row, at the row's own position."""
        decoder = self.decoder
        cos_Nhw, sin_Nhw = decoder.rotation_at(self.lengths_N)
        mask_N11L = self.seen_NL[:, None, None]
        x_1NH = decoder.trunk.embed_tokens(tokens_N)[None]
        layers = []
        for layer, (keys, values) in zip(decoder.weights(), self.layers, strict=True):
            qkv = times(normed(x_1NH, decoder.eps), layer.qkv).view(len(tokens_N), -1, decoder.width)
            q, k, v = torch.split(rotated(qkv, cos_Nhw, sin_Nhw)[:, :, None], decoder.heads, dim=1)
            k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
            layers.append((k, v))
            out = scaled_dot_product_attention(q, k, v, mask_N11L, enable_gqa=q.shape[1] != k.shape[1])
            x_1NH = decoder.finish(x_1NH, out.flatten(1)[None], layer)
        self.layers = layers
        self.hidden_NH = rms_norm(x_1NH[0], x_1NH.shape[-1:], decoder.trunk.norm.weight, decoder.eps)
