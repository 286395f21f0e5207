"""The packed decoder on a grid of prompts, as many of one length for each slot: for a GPU.

On a processor a pass costs its products, so slots are read one by one, without padding
(:class:`~coplay.models.packed_prompts.PackedPrompts`). On a GPU a pass of one slot waits for its thousands of operations to be started. One
pass of all slots starts as many, and what padding adds to its products is small beside that.

Shapes: P slots, N rows of a slot, L tokens of a row, S tokens of a beginning, H hidden width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coplay.models.decoder import KVCache, Prefix
from coplay.models.packed_attention import Masks
from coplay.models.packed_decoder import PackedDecoder


class PackedGrid:
    """See the module; a :class:`~coplay.models.decoder.Decoder`."""

    shares_prefixes = True

    def __init__(self, decoder: PackedDecoder) -> None:
        self.decoder = decoder

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`Decoder.encode_prefix`; keys are rotated."""
        decoder, S = self.decoder, len(prefix_L)
        masks = Masks(0, [S] * slots, decoder.device)
        cache: KVCache = []

        def attend(layer: int, q_KhD: Tensor, k_KgD: Tensor, v_KgD: Tensor) -> Tensor:
            q, k, v = (masks.apart(t).transpose(1, 2) for t in (q_KhD, k_KgD, v_KgD))
            cache.append((k, v))
            return masks.together(decoder.attention(q, k, v, masks.behind(decoder.windows[layer])))

        one_P = torch.arange(slots, device=decoder.device) * S  # keys and values are wanted, not hidden states
        decoder.forward(decoder.embed(prefix_L.repeat(slots)), masks.positions(0, slots), attend, one_P)
        return cache

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        P, N, L = ids_PNL.shape
        ids_PK, first, known = ids_PNL.flatten(1), 0, None
        if isinstance(prefix, Tensor):
            ids_PK, first = torch.cat([prefix.expand(P, -1), ids_PK], dim=1), len(prefix)
        elif prefix is not None:
            known = torch.stack([torch.stack(layer) for layer in prefix])
        starts_PN = torch.arange(P, device=ids_PK.device)[:, None] * ids_PK.shape[1] + first
        ends_PN = starts_PN + torch.arange(N, device=ids_PK.device) * L + last_PN
        x_KH = self.decoder.embed(ids_PK.flatten())
        return self.decoder.read_alike(x_KH, first, [L] * N, known, wanted_W=ends_PN.flatten(), slots=P)

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """See :meth:`Decoder.hidden_at`."""
        N, L = ids_NL.shape
        wanted_NK = positions_NK + torch.arange(N, device=ids_NL.device)[:, None] * L
        x_KH = self.decoder.embed(ids_NL.flatten())
        hidden_WH = self.decoder.read_alike(x_KH, 0, [L] * N, wanted_W=wanted_NK.flatten())
        return hidden_WH.view(*positions_NK.shape, -1)
