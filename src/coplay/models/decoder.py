"""Decoders: hidden states at the end of prompts, with the keys and values of a shared prefix computed once.

:class:`TransformersDecoder` and :class:`RowsDecoder` run any model through its own forward pass; :class:`~coplay.models.fused_llama.FusedLlama` runs
small models of the Llama architecture, as the embedded model is.

Rows come in a grid of P slots by N prompts: what a slot's prompts share is then a dimension and not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

import torch
from torch import Tensor

from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.final_hidden import FinalHidden

KVCache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, [rows, heads, L, width]; of a prefix, a row is a slot."""
Prefix = KVCache | Tensor | None
"""What precedes the rows: the cache of a prefix, its token ids [L], or nothing."""


class Decoder(Protocol):
    """Computes hidden states under the adapters of the bank's current route."""

    @property
    def shares_prefixes(self) -> bool:
        """Whether what rows begin with may be read once for all."""

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """Keys and values of a prefix, [L], under each of P slots."""

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """Final hidden states at each row's last token.

        Args:
            ids_PNL: what follows the prefix, right-padded. Attention is causal, so padding is never seen and needs no mask.
            last_PN: position of each row's last token.
            prefix: what precedes all rows; as token ids if gradients are to flow through it.

        Returns:
            [P * N, H].
        """

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """Final hidden states at K positions of each right-padded row, [N, K, H]; the route has one slot."""


class TransformersDecoder:
    """Any causal language model of transformers, by its own forward pass; what rows share is read once, and shorter rows are padded.

    Its caches hold keys and values of all layers alike, so it is no way for models that keep other states, or that read a token differently by the
    length of its row: for those there is :class:`RowsDecoder`.
    """

    shares_prefixes = True
    recomputes = False
    """Whether the model's layers are computed again in the backward pass, where a cache must not be written to a second time."""

    def __init__(self, final: FinalHidden) -> None:
        self.final = final

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`Decoder.encode_prefix`."""
        from transformers import DynamicCache

        cache = DynamicCache()  # not given the config: layers with a sliding window would forget the prefix's beginning
        self.final(input_ids=prefix_L.expand(slots, -1), past_key_values=cache, use_cache=True)
        return [(layer.keys, layer.values) for layer in cache.layers]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        from transformers import DynamicCache

        slots, rows, _ = ids_PNL.shape
        if self.recomputes and isinstance(prefix, Tensor):
            ids_PNL = torch.cat([prefix.expand(slots, rows, -1), ids_PNL], dim=-1)
            last_PN, prefix = last_PN + len(prefix), None
        layers = self.encode_prefix(prefix, slots) if isinstance(prefix, Tensor) else prefix
        cache = None
        if layers is not None:
            cache = DynamicCache()
            for number, (keys, values) in enumerate(layers):
                cache.update(keys.repeat_interleave(rows, 0), values.repeat_interleave(rows, 0), number)
        hidden_RLH = self.final(input_ids=ids_PNL.flatten(0, 1), past_key_values=cache, use_cache=cache is not None)
        last_R = last_PN.flatten()
        return hidden_RLH[torch.arange(len(last_R), device=last_R.device), last_R]

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """See :meth:`Decoder.hidden_at`."""
        hidden_NLH = self.final(input_ids=ids_NL, use_cache=False)
        return hidden_NLH.gather(1, positions_NK[..., None].expand(-1, -1, hidden_NLH.shape[-1]))


class RowsDecoder:
    """Any causal language model, each row as the model reads it alone: whole, without cache, padding or anything shared.

    Rows of one length go through the model together.

    Args:
        final: the model.
        bank: its adapters; rows of one length keep their slots.
        token_by_token: whether a token's hidden state is computed from the row up to that token only. What some models make of a token depends on
            how long its row is (longer rotary embeddings from some length on, for example), and replies are sampled from rows that grow.
    """

    shares_prefixes = False

    def __init__(self, final: FinalHidden, bank: AdapterBank, *, token_by_token: bool) -> None:
        self.final, self.bank, self.token_by_token = final, bank, token_by_token

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """Never asked for, as no beginning is shared."""
        raise NotImplementedError("rows are read whole")

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        ids_RL, route = ids_PNL.flatten(0, 1), self.bank.current
        slots = (REFERENCE,) if route is None else route.slots
        of_row = [slot for slot in slots for _ in range(len(ids_RL) // len(slots))]
        return self.ends(
            [row[: last + 1] for row, last in zip(ids_RL.tolist(), last_PN.flatten().tolist(), strict=True)], of_row
        )

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """See :meth:`Decoder.hidden_at`."""
        if not self.token_by_token:
            hidden_NLH = self.final(input_ids=ids_NL, use_cache=False)
            return hidden_NLH.gather(1, positions_NK[..., None].expand(-1, -1, hidden_NLH.shape[-1]))
        slot = REFERENCE if self.bank.current is None else self.bank.current.slots[0]
        rows = [
            row[: last + 1] for row, own in zip(ids_NL.tolist(), positions_NK.tolist(), strict=True) for last in own
        ]
        return self.ends(rows, [slot] * len(rows)).view(*positions_NK.shape, -1)

    def ends(self, rows: Sequence[Sequence[int]], slots: Sequence[int]) -> Tensor:
        """Final hidden states at the last token of each row, [R, H]; equal rows of one slot are read once."""
        keys = [(slot, tuple(row)) for slot, row in zip(slots, rows, strict=True)]
        hidden: dict[tuple[int, tuple[int, ...]], Tensor] = {}
        distinct = sorted(dict.fromkeys(keys), key=lambda key: (len(key[1]), key[0]))
        for _, group in groupby(distinct, key=lambda key: len(key[1])):
            alike = list(group)
            with self.bank.route(route_groups([slot for slot, _ in alike])):
                ids_NL = torch.tensor([row for _, row in alike], device=self.bank.device)
                hidden_NLH = self.final(input_ids=ids_NL, use_cache=False)
            hidden |= zip(alike, hidden_NLH[:, -1], strict=True)
        return torch.stack([hidden[key] for key in keys])


def route_groups(slots: Sequence[int]) -> list[int]:
    """Sorted rows' slots as the bank wants them: one an equal group of rows if there are such, else one a row."""
    distinct = list(dict.fromkeys(slots))
    return distinct if all(slots.count(slot) * len(distinct) == len(slots) for slot in distinct) else list(slots)
