"""Decoders: hidden states at the end of prompts, with the keys and values of a shared prefix encoded once.

:class:`HubDecoder` runs any Hugging Face model through its own forward pass; :class:`~coplay.models.fused_llama.LeanDecoder` runs small
models of the Llama architecture, as the embedded model is.

Rows come in a grid of P slots by N prompts, since all that a slot's prompts share is then a dimension and not a copy.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of a prefix in each layer, [P, heads, S, width]."""
Before = Layers | Tensor | None
"""What comes before the rows: keys and values of a prefix, its token ids [S], or nothing."""


class Decoder(Protocol):
    """Encodes prefixes and reads the ends of what follows them, under the adapters of the bank's current route."""

    def encode(self, prefix_S: Tensor, slots: int) -> Layers:
        """Keys and values of a prefix under each of so many slots."""
        ...

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, before: Before) -> Tensor:
        """Final hidden states at each row's last token.

        Args:
            ids_PNL: what follows the prefix, right-padded. Attention is causal, so padding is never seen and needs no mask.
            last_PN: position of each row's last token.
            before: the prefix; as token ids if gradients are to flow through it.

        Returns:
            [P * N, H].
        """
        ...

    def hidden_at(self, ids_NL: Tensor, places_NE: Tensor) -> Tensor:
        """Final hidden states at several places of each row, all rows under the one slot of the route.

        Args:
            ids_NL: token ids, right-padded.
            places_NE: positions, as many in each row.

        Returns:
            [N, E, H].
        """
        ...


class HubDecoder:
    """Any causal language model of the Hugging Face library, by its own forward pass."""

    def __init__(self, model: Any) -> None:
        self.decoder: Any = model.get_decoder()

    def encode(self, prefix_S: Tensor, slots: int) -> Layers:
        """Keys and values as the model's cache holds them."""
        from transformers import DynamicCache

        cache = DynamicCache()  # not told the config: layers with a sliding window would forget the prefix's beginning
        self.decoder(input_ids=prefix_S.expand(slots, -1), past_key_values=cache, use_cache=True)
        return [(layer.keys, layer.values) for layer in cache.layers]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, before: Before) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        from transformers import DynamicCache

        slots, rows, _ = ids_PNL.shape
        layers = self.encode(before, slots) if isinstance(before, Tensor) else before
        cache = None
        if layers is not None:
            cache = DynamicCache()
            for number, (keys, values) in enumerate(layers):
                cache.update(keys.repeat_interleave(rows, 0), values.repeat_interleave(rows, 0), number)
        output = self.decoder(input_ids=ids_PNL.flatten(0, 1), past_key_values=cache, use_cache=cache is not None)
        hidden_RLH: Tensor = output.last_hidden_state
        last_R = last_PN.flatten()
        return hidden_RLH[torch.arange(len(last_R), device=last_R.device), last_R]

    def hidden_at(self, ids_NL: Tensor, places_NE: Tensor) -> Tensor:
        """See :meth:`Decoder.hidden_at`."""
        hidden_NLH: Tensor = self.decoder(input_ids=ids_NL, use_cache=False).last_hidden_state
        return hidden_NLH.gather(1, places_NE[..., None].expand(-1, -1, hidden_NLH.shape[-1]))
