"""A forward pass of Llama for many conversations: rows of any length packed without padding, behind keys and values that are known already.

It computes what the library's own pass does, by the model's own modules, so adapters of the bank's current route count.

Shapes: R rows, K tokens of all rows together, H hidden width, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedModel
    from transformers.models.llama.modeling_llama import LlamaAttention

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""From a layer's number and the rotated queries [K, heads, D], keys and values of all tokens to what they attend to, [K, heads * D]."""

_ROPE_TYPES = ("default", "linear", "llama3")
"""Rotary embeddings whose angles do not depend on the length of the sequence."""


class PackedLlama:
    """See the module."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.model = model.model
        self.width = int(self.model.layers[0].self_attn.head_dim)
        self.kv_heads = int(model.config.num_key_value_heads)

    @staticmethod
    def supports(model: PreTrainedModel) -> bool:
        """Whether the model is of this kind."""
        rope = (getattr(model.config, "rope_parameters", None) or {}).get("rope_type", "default")
        return type(model).__name__ == "LlamaForCausalLM" and rope in _ROPE_TYPES

    def read(self, rows: Sequence[Sequence[int]], known: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        """Read rows behind what is known of them.

        Args:
            rows: the new tokens of each row, one at least.
            known: keys and values of the tokens before, [layers, 2, heads, tokens, D].

        Returns:
            The final hidden state of each row's last token, [R, H], and the keys and values of each row's new tokens.
        """
        starts = [0 if kv is None else kv.shape[3] for kv in known]
        sizes = [len(row) for row in rows]
        device = self.model.embed_tokens.weight.device
        masks = [_causal(start, size, device) for start, size in zip(starts, sizes, strict=True)]
        new: list[list[Tensor]] = [[] for _ in rows]

        def attend(layer: int, q_KhD: Tensor, k_KgD: Tensor, v_KgD: Tensor) -> Tensor:
            out = []
            parts = zip(*(torch.split(t, sizes) for t in (q_KhD, k_KgD, v_KgD)), strict=True)
            for row, (q, k, v) in enumerate(parts):
                k, v = k.transpose(0, 1), v.transpose(0, 1)
                new[row].append(torch.stack([k, v]))
                before = known[row]
                if before is not None:
                    k, v = torch.cat([before[layer, 0], k], dim=1), torch.cat([before[layer, 1], v], dim=1)
                out.append(_grouped(q, k, v, masks[row]))
            return torch.cat(out)

        ids_K = torch.tensor([token for row in rows for token in row], device=device)
        positions_K = torch.cat([torch.arange(a, a + n, device=device) for a, n in zip(starts, sizes, strict=True)])
        ends_R = torch.tensor(sizes, device=device).cumsum(0) - 1
        hidden_KH = self.forward(ids_K, positions_K, attend)
        return hidden_KH[ends_R], [torch.stack(layers) for layers in new]

    def forward(self, ids_K: Tensor, positions_K: Tensor, attend: Attend) -> Tensor:
        """Final hidden states of all tokens, [K, H]."""
        x_1KH = self.model.embed_tokens(ids_K)[None]
        cos, sin = self.model.rotary_emb(x_1KH, positions_K[None])
        cos_K1D, sin_K1D = cos[0, :, None], sin[0, :, None]
        for number, layer in enumerate(self.model.layers):
            normed = layer.input_layernorm(x_1KH)
            q, k, v = self._projected(layer.self_attn, normed)
            q, k = (t * cos_K1D + _half_turned(t) * sin_K1D for t in (q, k))
            x_1KH = x_1KH + layer.self_attn.o_proj(attend(number, q, k, v)[None])
            x_1KH = x_1KH + layer.mlp(layer.post_attention_layernorm(x_1KH))
        hidden_1KH: Tensor = self.model.norm(x_1KH)
        return hidden_1KH[0]

    def _projected(self, attention: LlamaAttention, x_1KH: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [K, heads, D]."""
        q, k, v = (
            projection(x_1KH)[0].view(x_1KH.shape[1], -1, self.width)
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        return q, k, v


class PackedRows:
    """R rows that are continued token by token, with their keys and values in one buffer, which has room for more.

    Args:
        llama: the model.
        hidden_RH: the final hidden states of the rows' last tokens.
        kvs: keys and values of each row.
        room: tokens that may be added.
    """

    def __init__(self, llama: PackedLlama, hidden_RH: Tensor, kvs: Sequence[Tensor], room: int) -> None:
        self.llama, self.hidden = llama, hidden_RH
        lengths = [kv.shape[3] for kv in kvs]
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
        places = [self.live[row] for row in rows]
        if len(set(places)) < len(places) or len(places) < 0.7 * self.kv.shape[2]:
            places_R = torch.tensor(places, device=self.lengths_R.device)
            self.kv, self.lengths_R = self.kv[:, :, places_R], self.lengths_R[places_R]
            places = list(range(len(places)))
        self.live = places
        at_R = torch.tensor(places, device=self.lengths_R.device)
        ids_R = torch.tensor(tokens, device=self.lengths_R.device)
        positions_R = self.lengths_R[at_R]
        whole = len(places) == self.kv.shape[2] and places == list(range(len(places)))
        longest = int(positions_R.max()) + 1
        mask_R11L = (torch.arange(longest, device=at_R.device) <= positions_R[:, None])[:, None, None]

        def attend(layer: int, q_RhD: Tensor, k_RgD: Tensor, v_RgD: Tensor) -> Tensor:
            keys, values = self.kv[layer, 0], self.kv[layer, 1]
            keys[at_R, :, positions_R], values[at_R, :, positions_R] = k_RgD, v_RgD
            keys, values = keys[:, :, :longest], values[:, :, :longest]
            if not whole:
                keys, values = keys[at_R], values[at_R]
            # queries that share a key stand where others have the tokens of a sequence
            q_RgnD = q_RhD.view(len(q_RhD), self.llama.kv_heads, -1, self.llama.width)
            out = scaled_dot_product_attention(q_RgnD, keys, values, mask_R11L)
            return out.flatten(1)

        self.hidden = self.llama.forward(ids_R, positions_R, attend)
        self.lengths_R = self.lengths_R.index_add(0, at_R, torch.ones_like(at_R))


def _grouped(q_ThD: Tensor, k_gSD: Tensor, v_gSD: Tensor, mask_TS: Tensor) -> Tensor:
    """Attention of T tokens of one row, [T, heads * D]; several queries share a key."""
    T, heads, width = q_ThD.shape
    groups = len(k_gSD)
    shared = heads // groups
    q = q_ThD.transpose(0, 1).reshape(1, groups, shared * T, width)
    out = scaled_dot_product_attention(q, k_gSD[None], v_gSD[None], mask_TS.repeat(shared, 1))
    return out.view(heads, T, width).transpose(0, 1).reshape(T, heads * width)


def _causal(start: int, size: int, device: torch.device) -> Tensor:
    """What each of ``size`` tokens behind ``start`` others sees, [size, start + size]."""
    order = torch.arange(start + size, device=device)
    return order <= order[start:, None]


def _half_turned(x: Tensor) -> Tensor:
    """The other half of the rotation."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat([-right, left], dim=-1)
