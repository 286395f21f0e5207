"""Decoders: hidden states at the end of prompts, with the keys and values of a shared prefix computed once.

:class:`HuggingFaceDecoder` runs any model through its own forward pass; :class:`~coplay.models.fused_llama.FusedLlama` runs small models of
the Llama architecture, as the embedded model is.

Rows come in a grid of P slots by N prompts: what a slot's prompts share is then a dimension and not a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel

KVCache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, [rows, heads, L, width]; of a prefix, a row is a slot."""
Prefix = KVCache | Tensor | None
"""What precedes the rows: the cache of a prefix, its token ids [L], or nothing."""


class Decoder(Protocol):
    """Computes hidden states under the adapters of the bank's current route."""

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


class HuggingFaceDecoder:
    """Any causal language model of transformers, by its own forward pass."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.decoder = model.get_decoder()

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`Decoder.encode_prefix`."""
        from transformers import DynamicCache

        cache = DynamicCache()  # not told the config: layers with a sliding window would forget the prefix's beginning
        self.decoder(input_ids=prefix_L.expand(slots, -1), past_key_values=cache, use_cache=True)
        return [(layer.keys, layer.values) for layer in cache.layers]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        from transformers import DynamicCache

        slots, rows, _ = ids_PNL.shape
        layers = self.encode_prefix(prefix, slots) if isinstance(prefix, Tensor) else prefix
        cache = None
        if layers is not None:
            cache = DynamicCache()
            for number, (keys, values) in enumerate(layers):
                cache.update(keys.repeat_interleave(rows, 0), values.repeat_interleave(rows, 0), number)
        output = self.decoder(input_ids=ids_PNL.flatten(0, 1), past_key_values=cache, use_cache=cache is not None)
        hidden_RLH: Tensor = output.last_hidden_state
        last_R = last_PN.flatten()
        return hidden_RLH[torch.arange(len(last_R), device=last_R.device), last_R]

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """See :meth:`Decoder.hidden_at`."""
        hidden_NLH: Tensor = self.decoder(input_ids=ids_NL, use_cache=False).last_hidden_state
        return hidden_NLH.gather(1, positions_NK[..., None].expand(-1, -1, hidden_NLH.shape[-1]))
