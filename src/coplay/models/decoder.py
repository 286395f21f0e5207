"""Decoders: hidden states at the end of prompts, with the keys and values of a shared prefix encoded once.

:class:`HubDecoder` runs any Hugging Face model through its own forward pass. :class:`LlamaDecoder` runs the Llama architecture, which
the embedded model has, and leaves out what nobody reads: in the last layer only the last position of each prompt is attended from and
passed through the MLP, and a prefix needs no more than its keys and values there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, scaled_dot_product_attention

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, [rows, heads, positions, width]."""


class Decoder(Protocol):
    """Encodes prefixes and reads the ends of what follows them."""

    def encode(self, ids_PL: Tensor) -> Layers:
        """Keys and values of prefixes, one row a slot."""
        ...

    def last_hidden(self, ids_RL: Tensor, last_R: Tensor, prefix: Layers | None, prefix_row_R: Tensor) -> Tensor:
        """Final hidden state [R, H] at position ``last_R`` of each row.

        Args:
            ids_RL: what follows the prefix, right-padded. Attention is causal, so padding is never seen and needs no mask.
            last_R: position of each row's last token.
            prefix: keys and values of the prefixes, or None if the rows are whole prompts.
            prefix_row_R: which row of ``prefix`` each row continues.
        """
        ...


class HubDecoder:
    """Any causal language model of the Hugging Face library, by its own forward pass."""

    def __init__(self, model: Any) -> None:
        self.decoder: Any = model.get_decoder()

    def encode(self, ids_PL: Tensor) -> Layers:
        """Keys and values as the model's cache holds them."""
        from transformers import DynamicCache

        cache = DynamicCache()  # not told the config: layers with a sliding window would forget the prefix's beginning
        self.decoder(input_ids=ids_PL, past_key_values=cache, use_cache=True)
        return [(layer.keys, layer.values) for layer in cache.layers]

    def last_hidden(self, ids_RL: Tensor, last_R: Tensor, prefix: Layers | None, prefix_row_R: Tensor) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        from transformers import DynamicCache

        cache = None
        if prefix is not None:
            cache = DynamicCache()
            for number, (keys, values) in enumerate(prefix):
                cache.update(keys.index_select(0, prefix_row_R), values.index_select(0, prefix_row_R), number)
        output = self.decoder(input_ids=ids_RL, past_key_values=cache, use_cache=cache is not None)
        hidden_RLH: Tensor = output.last_hidden_state
        return hidden_RLH[torch.arange(len(last_R), device=last_R.device), last_R]


class LlamaDecoder:
    """The Llama architecture in float32, without the work whose results nobody reads."""

    def __init__(self, model: Any) -> None:
        self.trunk: Any = model.model
        self.eps = float(model.config.rms_norm_eps)
        self._masks: dict[tuple[int, int], Tensor] = {}

    @staticmethod
    def fits(model: Any) -> bool:
        """Whether the model is of this kind."""
        return type(model).__name__ == "LlamaForCausalLM" and model.dtype == torch.float32

    def encode(self, ids_PL: Tensor) -> Layers:
        """Keys after the rotary embedding, and values."""
        x_PLH = self.trunk.embed_tokens(ids_PL)
        cos, sin = self._rotation(x_PLH, start=0)
        mask = self._causal(ids_PL.shape[1], 0, ids_PL.device)
        layers: Layers = []
        for number, layer in enumerate(self.trunk.layers):
            normed = self._norm(layer.input_layernorm, x_PLH)
            keys, values = self._keys_values(layer.self_attn, normed, cos, sin)
            layers.append((keys, values))
            if number + 1 < len(self.trunk.layers):
                queries = _rotated(_heads(layer.self_attn, layer.self_attn.q_proj(normed)), cos, sin)
                x_PLH = self._finish(layer, x_PLH, _attend(queries, keys, values, mask))
        return layers

    def last_hidden(self, ids_RL: Tensor, last_R: Tensor, prefix: Layers | None, prefix_row_R: Tensor) -> Tensor:
        """See :meth:`Decoder.last_hidden`."""
        start = 0 if prefix is None else prefix[0][0].shape[2]
        rows = torch.arange(len(last_R), device=last_R.device)
        x_RLH = self.trunk.embed_tokens(ids_RL)
        cos, sin = self._rotation(x_RLH, start=start)
        mask = self._causal(ids_RL.shape[1], start, ids_RL.device)
        final = len(self.trunk.layers) - 1
        for number, layer in enumerate(self.trunk.layers):
            attention = layer.self_attn
            normed = self._norm(layer.input_layernorm, x_RLH)
            keys, values = self._keys_values(attention, normed, cos, sin)
            if prefix is not None:
                old_keys, old_values = prefix[number]
                keys = torch.cat([old_keys.index_select(0, prefix_row_R), keys], dim=2)
                values = torch.cat([old_values.index_select(0, prefix_row_R), values], dim=2)
            if number == final:
                normed, x_RLH = normed[rows, last_R][:, None], x_RLH[rows, last_R][:, None]
                cos, sin = cos[last_R][:, None, None], sin[last_R][:, None, None]
                mask = mask[last_R][:, None, None]
            queries = _rotated(_heads(attention, attention.q_proj(normed)), cos, sin)
            x_RLH = self._finish(layer, x_RLH, _attend(queries, keys, values, mask))
        return self._norm(self.trunk.norm, x_RLH[:, 0])

    def _norm(self, norm: Any, x: Tensor) -> Tensor:
        return rms_norm(x, (x.shape[-1],), norm.weight, self.eps)

    def _keys_values(self, attention: Any, normed: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        keys = _rotated(_heads(attention, attention.k_proj(normed)), cos, sin)
        return keys, _heads(attention, attention.v_proj(normed))

    def _finish(self, layer: Any, x: Tensor, attended: Tensor) -> Tensor:
        x = x + layer.self_attn.o_proj(attended)
        normed = self._norm(layer.post_attention_layernorm, x)
        out: Tensor = x + layer.mlp(normed)
        return out

    def _rotation(self, x: Tensor, *, start: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines [L, width] of the positions from ``start``."""
        positions = torch.arange(start, start + x.shape[1], device=x.device)[None]
        with torch.no_grad():
            cos, sin = self.trunk.rotary_emb(x, positions)
        return cos[0], sin[0]

    def _causal(self, length: int, start: int, device: torch.device) -> Tensor:
        """True where query i (row) may look at key j, [L, start + L]."""
        key = (length, start)
        if key not in self._masks:
            if len(self._masks) > 1000:
                self._masks.clear()
            queries, keys = torch.arange(length, device=device), torch.arange(start + length, device=device)
            self._masks[key] = keys[None] <= queries[:, None] + start
        return self._masks[key]


def decoder_for(model: Any) -> Decoder:
    """The leanest decoder that fits the model."""
    return LlamaDecoder(model) if LlamaDecoder.fits(model) else HubDecoder(model)


def _heads(attention: Any, x_RLD: Tensor) -> Tensor:
    """Split the last dimension into heads: [R, heads, L, width]."""
    rows, length, width = x_RLD.shape
    return x_RLD.view(rows, length, width // int(attention.head_dim), -1).transpose(1, 2)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding."""
    half = x.shape[-1] // 2
    swapped = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + swapped * sin


def _attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Masked attention, heads joined again: [R, L, D]."""
    grouped = queries.shape[1] != keys.shape[1]
    attended = scaled_dot_product_attention(queries, keys, values, attn_mask=mask, enable_gqa=grouped)
    return attended.transpose(1, 2).flatten(2)


def rows_of(order: Sequence[int], slots: Sequence[int], device: torch.device) -> Tensor:
    """Where each row's slot stands in ``order``."""
    place = {slot: row for row, slot in enumerate(order)}
    return torch.tensor([place[slot] for slot in slots], device=device)
