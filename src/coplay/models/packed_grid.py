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
from coplay.models.packed_decoder import PackedDecoder


class PackedGrid:
    """See the module; a :class:`~coplay.models.decoder.Decoder`."""

    def __init__(self, decoder: PackedDecoder) -> None:
        self.decoder = decoder

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`Decoder.encode_prefix`; keys are rotated."""
        x_KH = self.decoder.embed(prefix_L.repeat(slots))
        _, kv_P = self.decoder.read_hidden(x_KH, [len(prefix_L)] * slots, [None] * slots)
        return [(kv_PgSD[0], kv_PgSD[1]) for kv_PgSD in torch.stack(kv_P, dim=2)]

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
