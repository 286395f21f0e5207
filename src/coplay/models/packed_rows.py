"""Rows that are continued token by token behind keys and values that were computed before."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coplay.models.block_reader import BlockReader, ReadPrompt
from coplay.models.scoring import Prompt


class PackedRows:
    """R rows that are continued token by token, with their keys and values in one buffer, which has room for more.

    Args:
        reader: has read the rows, through the model's last layers at least.
        texts: the rows' tokens.
        read: what it computed of each.
        room: tokens that may be added.
    """

    def __init__(self, reader: BlockReader, texts: Sequence[Prompt], read: Sequence[ReadPrompt], room: int) -> None:
        self.reader, self.texts = reader, list(texts)
        self.hidden = torch.cat([one.hidden[-1:] for one in read])
        """Final hidden states from which each row's next token is taken, [R, H]."""
        kvs = [one.kv for one in read]
        lengths = list(map(len, texts))
        first = kvs[0]
        layers, _, heads, _, width = first.shape
        self.kv = first.new_zeros(layers, 2, len(kvs), heads, max(lengths) + room, width)
        for row, kv in enumerate(kvs):
            self.kv[:, :, row, :, : lengths[row]] = kv
        self.lengths_R = torch.tensor(lengths, device=first.device)
        self.live = list(range(len(kvs)))
        """The places in the buffer of the rows that are left."""

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Read one more token behind each of these rows, some of them perhaps several times; the others are dropped."""
        self.texts = [(*self.texts[row], token) for row, token in zip(rows, tokens, strict=True)]
        places = [self.live[row] for row in rows]
        if len(set(places)) < len(places) or len(places) < 0.7 * self.kv.shape[2]:
            places_R = torch.tensor(places, device=self.lengths_R.device)
            self.kv, self.lengths_R = self.kv[:, :, places_R], self.lengths_R[places_R]
            places = list(range(len(places)))
        self.live = places
        at_R = torch.tensor(places, device=self.lengths_R.device)
        positions_R = self.lengths_R[at_R]
        whole = len(places) == self.kv.shape[2] and places == list(range(len(places)))
        longest = int(positions_R.max()) + 1
        decoder, first = self.reader.decoder, self.reader.layers[0]
        order_L, last_R1 = torch.arange(longest, device=at_R.device), positions_R[:, None]

        def attend(layer: int, q_RhD: Tensor, k_RgD: Tensor, v_RgD: Tensor) -> Tensor:
            keys, values = self.kv[layer - first]
            keys[at_R, :, positions_R], values[at_R, :, positions_R] = k_RgD, v_RgD
            keys, values = keys[:, :, :longest], values[:, :, :longest]
            if not whole:
                keys, values = keys[at_R], values[at_R]
            seen_RL, window = order_L <= last_R1, decoder.windows[layer]
            if window is not None:
                seen_RL = seen_RL & (order_L > last_R1 - window)
            mask_R11L = torch.zeros_like(seen_RL, dtype=torch.float32).masked_fill_(~seen_RL, -torch.inf)[:, None, None]
            return decoder.attention(q_RhD[:, :, None], keys, values, mask_R11L)[:, 0]

        x_RH = self.reader.inputs(self.texts, [len(text) - 1 for text in self.texts])
        self.hidden = decoder.forward(x_RH, positions_R, attend, layers=self.reader.layers)
        self.lengths_R = self.lengths_R.index_add(0, at_R, torch.ones_like(at_R))
