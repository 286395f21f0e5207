"""Sampling with the fused forward pass: prompts are read once, then a token at a time; rows end and split on the way.

The rows of a slot are computed together, since a slot's adapters are merged into its weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor

from coplay.models.bank import AdapterBank
from coplay.models.fused_functions import apply_rotary, batched_linear, rms_norm
from coplay.models.fused_llama import FusedLlama, attention


class FusedBatch:
    """R rows on their way through a small model.

    Args:
        slots: the slot of each row, those of a slot beside each other.
    """

    def __init__(
        self, decoder: FusedLlama, bank: AdapterBank, slots: Sequence[int], prompts: Sequence[Sequence[int]]
    ) -> None:
        self.parts = [
            _SlotRows(decoder, bank, slot, [prompts[row] for row in rows])
            for slot, rows in groupby(range(len(slots)), key=lambda row: slots[row])
        ]

    @property
    def hidden(self) -> Tensor:
        """Final hidden states from which each row's next token is taken, [R, H]."""
        return torch.cat([part.hidden_NH for part in self.parts])

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Read one more token behind each of these rows, ascending, some of them perhaps several times; the others are dropped."""
        left, start, at = [], 0, 0
        for part in self.parts:
            end = start + len(part.hidden_NH)
            until = at
            while until < len(rows) and rows[until] < end:
                until += 1
            if until > at:
                part.extend([row - start for row in rows[at:until]], tokens[at:until])
                left.append(part)
            start, at = end, until
        self.parts = left


class _SlotRows:
    """N rows of one slot, with their KV cache."""

    def __init__(self, decoder: FusedLlama, bank: AdapterBank, slot: int, prompts: Sequence[Sequence[int]]) -> None:
        self.decoder, self.bank, self.slot = decoder, bank, slot
        longest, device = max(map(len, prompts)), bank.device
        ids_NL = torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts], device=device)
        self.lengths_N = torch.tensor([len(prompt) for prompt in prompts], device=device)
        # padding stands behind the prompts: later tokens come after it and must not attend to it
        self.seen_NL = torch.arange(longest, device=device) < self.lengths_N[:, None]
        with bank.route([slot]):
            self.hidden_NH, self.cache = decoder.prefill(ids_NL, self.lengths_N - 1)

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        device = self.bank.device
        if list(rows) != list(range(len(self.lengths_N))):
            rows_N = torch.tensor(rows, device=device)
            self.cache = [(keys[rows_N], values[rows_N]) for keys, values in self.cache]
            self.lengths_N, self.seen_NL = self.lengths_N[rows_N], self.seen_NL[rows_N]
        self.seen_NL = torch.cat([self.seen_NL, torch.ones_like(self.seen_NL[:, :1])], dim=1)
        with self.bank.route([self.slot]):
            self._forward(torch.tensor(tokens, device=device))
        self.lengths_N = self.lengths_N + 1

    def _forward(self, tokens_N: Tensor) -> None:
        """One token in each row, at the row's own position."""
        decoder = self.decoder
        cos, sin = decoder.rotary_at(self.lengths_N)
        mask_N11L = self.seen_NL[:, None, None]
        x_1NH = decoder.model.embed_tokens(tokens_N)[None]
        cache = []
        for layer, (keys, values) in zip(decoder.weights(), self.cache, strict=True):
            qkv = batched_linear(rms_norm(x_1NH, decoder.eps), layer.qkv).view(len(tokens_N), -1, decoder.width)
            q, k, v = torch.split(apply_rotary(qkv, cos, sin)[:, :, None], decoder.heads, dim=1)
            k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
            cache.append((k, v))
            x_1NH = decoder.post_attention(x_1NH, attention(q, k, v, mask_N11L).transpose(0, 1), layer)
        self.cache = cache
        self.hidden_NH = decoder.final_norm(x_1NH[0])
