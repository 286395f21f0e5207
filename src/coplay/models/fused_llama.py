"""A forward pass with fused operations for small models of the Llama architecture, whose cost is the number of operations, not their size.

It gives the results of the library's own pass with fewer operations:

- a slot's adapters are merged into its weights; q, k and v are one product, gate and up another;
- in a large batch the first layer's q, k and v are computed once for each token at a position, which is all they depend on;
- in the last layer, queries and the MLP are computed only for the tokens whose hidden state is returned;
- a few short rows are packed behind their prefix into one sequence for each slot, with a mask that keeps them apart.

Shapes: P slots, N rows of a slot, T tokens of a row, K = N * T tokens of a slot, H hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from coplay.models.bank import AdapterBank, RoutedLinear
from coplay.models.decoder import KVCache, Prefix
from coplay.models.fused_functions import apply_rotary, batched_linear, rms_norm, swiglu

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedModel
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

_MAX_PARAMETERS = 20_000_000
"""Larger models gain nothing: merged weights are a copy of the adapted layers for each slot."""

_MAX_PACKED_TOKENS = 160
"""Length of the longest packed sequence: packing halves the number of operations, but attention grows with the square of the length."""

_MIN_TOKENS_TO_DEDUPLICATE = 1_000
"""Batches with more tokens than this compute the first layer's projections once for each token at a position."""

_MERGED_KEPT = 8
"""How many sets of merged weights are cached."""

_ROPE_TYPES = ("default", "linear", "llama3")
"""Rotary embeddings whose angles do not depend on the length of the sequence."""


class _LayerWeights(NamedTuple):
    """A layer's matrices, [out, in], or [P, out, in] where slots differ. The scale of the norm before a matrix is merged into it."""

    qkv: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True)
class _Layout:
    """Positions and attention mask of a sequence of T tokens behind a prefix of S."""

    cos: Tensor
    """Cosines of the rotary embedding, [T, heads, width], for the heads of queries, keys and values; values are rotated by zero."""
    sin: Tensor
    """Its sines, with the minus signs of the rotated first half."""
    mask: Tensor
    """What each token attends to, [T, S + T]: 0, or minus infinity."""


class FusedLlama:
    """See the module."""

    shares_prefixes = True

    def __init__(self, model: LlamaForCausalLM, bank: AdapterBank) -> None:
        self.model = model.model
        self.bank = bank
        self.eps = float(model.config.rms_norm_eps)
        self.width = int(self.model.layers[0].self_attn.head_dim)
        heads, kv_heads = int(model.config.num_attention_heads), int(model.config.num_key_value_heads)
        self.heads = [heads, kv_heads, kv_heads]
        """Numbers of heads of queries, keys and values."""
        self._frozen: dict[nn.Module, Tensor] = {}
        self._merged: dict[tuple[tuple[int, int], ...], list[_LayerWeights]] = {}
        self._layouts: dict[tuple[int, int, int, int], _Layout] = {}

    @staticmethod
    def supports(model: PreTrainedModel) -> bool:
        """Whether the model is of this kind: a small Llama in float32, without biases, and not quantised."""
        if type(model).__name__ != "LlamaForCausalLM" or model.dtype != torch.float32:
            return False
        if any(not weight.is_floating_point() for weight in model.parameters()):
            return False
        config = model.config
        rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
        plain = not (config.attention_bias or config.mlp_bias) and config.hidden_act == "silu" and rope in _ROPE_TYPES
        return plain and model.num_parameters() <= _MAX_PARAMETERS

    # ------------------------------------------------------------------ passes

    def encode_prefix(self, prefix_L: Tensor, slots: int) -> KVCache:
        """See :meth:`~coplay.models.decoder.Decoder.encode_prefix`; keys are rotated."""
        layout = self._layout(0, len(prefix_L))
        *lower, final = self.weights()
        cache: KVCache = []
        x_PKH = self.model.embed_tokens(prefix_L.expand(slots, -1))
        for layer in lower:
            q, k, v = torch.split(self._project(x_PKH, layer.qkv, layout).squeeze(1).transpose(1, 2), self.heads, dim=1)
            cache.append((k, v))
            x_PKH = self.post_attention(x_PKH, attention(q, k, v, layout.mask), layer)
        kv = self._project(x_PKH, self._kv_weight(final), layout).squeeze(1).transpose(1, 2)
        k, v = torch.split(kv, self.heads[1:], dim=1)
        return [*cache, (k, v)]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, prefix: Prefix) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.last_hidden`."""
        P, N, L = ids_PNL.shape
        if not isinstance(prefix, Tensor):
            start = 0 if prefix is None else prefix[0][0].shape[2]
            return self._forward(ids_PNL, last_PN[..., None], prefix, self._layout(start, L))
        S = len(prefix)
        if S + N * L > _MAX_PACKED_TOKENS:
            return self.last_hidden(ids_PNL, last_PN, self.encode_prefix(prefix, P))
        ids_P1T = torch.cat([prefix.expand(P, -1), ids_PNL.flatten(1)], dim=1)[:, None]
        last_P1N = (last_PN + torch.arange(S, S + N * L, L, device=last_PN.device))[:, None]
        return self._forward(ids_P1T, last_P1N, None, self._layout(0, S, N, L))

    def hidden_at(self, ids_NL: Tensor, positions_NK: Tensor) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.hidden_at`."""
        hidden = self._forward(ids_NL[None], positions_NK[None], None, self._layout(0, ids_NL.shape[1]))
        return hidden.view(*positions_NK.shape, -1)

    def prefill(self, ids_NL: Tensor, last_N: Tensor) -> tuple[Tensor, KVCache]:
        """Final hidden states at each row's last token, [N, H], and the rows' cache; one slot, right-padded."""
        cache: KVCache = []
        layout = self._layout(0, ids_NL.shape[1])
        hidden_NH = self._forward(ids_NL[None], last_N[None, :, None], None, layout, cache=cache)
        return hidden_NH, cache

    def rotary_at(self, positions_N: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotary embedding of queries, keys and values at each position, [N, heads, width]."""
        needed = int(positions_N.max()) + 1
        length = 64 * -(-needed // 64)  # few different lengths, so that layouts are found in the cache
        layout = self._layout(0, length)
        return layout.cos[positions_N], layout.sin[positions_N]

    def _forward(
        self,
        ids_PNT: Tensor,
        ends_PNE: Tensor,
        prefix: KVCache | None,
        layout: _Layout,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Hidden states at E positions of N sequences a slot, [P * N * E, H]; each sequence continues its slot's prefix.

        The sequences' own keys and values are appended to ``cache``, if it is given.
        """
        P, N, T = ids_PNT.shape
        *lower, final = self.weights()
        x_PKH = self.model.embed_tokens(ids_PNT.flatten(1))
        for number, layer in enumerate(lower):
            # how many different ones there are does not show in an outline
            if number == 0 and ids_PNT.numel() > _MIN_TOKENS_TO_DEDUPLICATE and not ids_PNT.is_meta:
                qkv = self._project_distinct(ids_PNT, layer.qkv, layout)
            else:
                qkv = self._project(x_PKH, layer.qkv, layout)
            q, k, v = torch.split(qkv.flatten(0, 1).transpose(1, 2), self.heads, dim=1)
            if cache is not None:
                cache.append((k, v))
            if prefix is not None:
                k, v = (_prepend(first, own) for first, own in zip(prefix[number], (k, v), strict=True))
            x_PKH = self.post_attention(x_PKH, attention(q, k, v, layout.mask).view(P, N * T, -1), layer)
        # the last layer: keys and values of all tokens, the rest only where hidden states are returned
        k, v = torch.split(self._project(x_PKH, self._kv_weight(final), layout), self.heads[1:], dim=3)
        if cache is not None:
            cache.append((k.flatten(0, 1).transpose(1, 2), v.flatten(0, 1).transpose(1, 2)))
        ends_R = (ends_PNE + torch.arange(0, P * N * T, T, device=ends_PNE.device).view(P, N, 1)).flatten()
        x_PEH = x_PKH.flatten(0, 1).index_select(0, ends_R).view(P, -1, x_PKH.shape[-1])
        q = batched_linear(rms_norm(x_PEH, self.eps), final.qkv[..., : self.heads[0] * self.width, :])
        cos, sin = layout.cos[ends_PNE][..., :1, :], layout.sin[ends_PNE][..., :1, :]
        q = apply_rotary(q.view(*ends_PNE.shape, -1, self.width), cos, sin)
        mask = layout.mask[ends_PNE]
        if prefix is None:
            q, k, v = (t.flatten(0, 1).transpose(1, 2) for t in (q, k, v))
            attended = attention(q, k, v, mask.flatten(0, 1)[:, None])
        else:
            attended = _last_token_attention(q.squeeze(2), k, v, prefix[-1], mask.squeeze(2))
        x_PEH = self.post_attention(x_PEH, attended.reshape(*x_PEH.shape[:2], -1), final)
        return self.final_norm(x_PEH).flatten(0, 1)

    # ------------------------------------------------------------------ parts of a layer

    def _project(self, x_PKH: Tensor, weight: Tensor, layout: _Layout) -> Tensor:
        """Rotated queries, keys and values (or keys and values alone, by the weight), [P, N, T, heads, width]."""
        T, heads = len(layout.cos), weight.shape[-2] // self.width
        out = batched_linear(rms_norm(x_PKH, self.eps), weight).view(len(x_PKH), -1, T, heads, self.width)
        return apply_rotary(out, layout.cos[:, -heads:], layout.sin[:, -heads:])

    def _project_distinct(self, ids_PNT: Tensor, weight: Tensor, layout: _Layout) -> Tensor:
        """:meth:`_project` in the first layer, each token at a position once."""
        P, N, T = ids_PNT.shape
        code_U, place = torch.unique(ids_PNT * T + torch.arange(T, device=ids_PNT.device), return_inverse=True)
        positions_U = code_U % T
        of_distinct = _Layout(layout.cos[positions_U], layout.sin[positions_U], layout.mask)
        x_UH = self.model.embed_tokens(code_U // T)
        out_PUD = self._project(x_UH.expand(P, -1, -1), weight, of_distinct).view(P * len(code_U), -1)
        place_PNT = place + torch.arange(0, len(out_PUD), len(code_U), device=place.device).view(P, 1, 1)
        return out_PUD.index_select(0, place_PNT.flatten()).view(P, N, T, -1, self.width)

    def _kv_weight(self, layer: _LayerWeights) -> Tensor:
        return layer.qkv[..., self.heads[0] * self.width :, :]

    def post_attention(self, x: Tensor, attended: Tensor, layer: _LayerWeights) -> Tensor:
        """The rest of a layer: attention's output projection, then the MLP, each added to the residual stream [P, K, H]."""
        x = x + batched_linear(attended, layer.out)
        return x + batched_linear(swiglu(batched_linear(rms_norm(x, self.eps), layer.gate_up)), layer.down)

    def final_norm(self, x: Tensor) -> Tensor:
        """The norm behind the last layer, with its learned scale; [..., H]."""
        return nn.functional.rms_norm(x, x.shape[-1:], self.model.norm.weight, self.eps)

    # ------------------------------------------------------------------ weights and layouts

    def weights(self) -> list[_LayerWeights]:
        """The layers' matrices under the current route; without gradients, cached until a slot changes."""
        if torch.is_grad_enabled():
            return [self._layer(layer) for layer in self.model.layers]
        route = self.bank.current
        key = () if route is None else self.bank.versions_of(route.slots)
        if key not in self._merged:
            while len(self._merged) >= _MERGED_KEPT:
                del self._merged[next(iter(self._merged))]
            self._merged[key] = [self._layer(layer) for layer in self.model.layers]
        return self._merged[key]

    def _layer(self, layer: LlamaDecoderLayer) -> _LayerWeights:
        attn, mlp = layer.self_attn, layer.mlp
        return _LayerWeights(
            self._stacked([attn.q_proj, attn.k_proj, attn.v_proj], layer.input_layernorm.weight),
            self._stacked([attn.o_proj]),
            self._stacked([mlp.gate_proj, mlp.up_proj], layer.post_attention_layernorm.weight),
            self._stacked([mlp.down_proj]),
        )

    def _stacked(self, modules: Sequence[RoutedLinear | nn.Linear], scale: Tensor | None = None) -> Tensor:
        """Matrices of the same input as one, times the scale of the norm before them; those without adapters are computed once."""
        if modules[0] in self._frozen:
            return self._frozen[modules[0]]
        weights = [module.merged() if isinstance(module, RoutedLinear) else module.weight for module in modules]
        slots = max((weight.shape[0] for weight in weights if weight.dim() == 3), default=0)
        if slots:
            weights = [weight if weight.dim() == 3 else weight.expand(slots, -1, -1) for weight in weights]
        stacked = torch.cat(weights, dim=-2) if len(weights) > 1 else weights[0]
        if scale is not None:
            stacked = stacked * scale
        if not any(isinstance(module, RoutedLinear) for module in modules):
            self._frozen[modules[0]] = stacked
        return stacked

    def _layout(self, start: int, length: int, rows: int = 0, row: int = 0) -> _Layout:
        """The layout of ``length`` tokens from position ``start``, with ``rows`` continuations of ``row`` tokens packed behind them."""
        key = (start, length, rows, row)
        if key not in self._layouts:
            if len(self._layouts) > 1000:
                self._layouts.clear()
            group = torch.arange(1, rows + 1).repeat_interleave(row)
            group = torch.cat([torch.zeros(start + length, dtype=torch.long), group])
            order = torch.arange(len(group))
            seen = (order <= order[:, None]) & ((group == 0) | (group == group[:, None]))
            mask = torch.zeros(seen.shape).masked_fill(~seen, -torch.inf)[start:]
            position = torch.cat([torch.arange(start + length), start + length + torch.arange(row).repeat(rows)])
            cos, sin = self._rotary(position[start:].to(self.bank.device))
            self._layouts[key] = _Layout(cos, sin, mask.to(self.bank.device))
        return self._layouts[key]

    @torch.no_grad()
    def _rotary(self, positions_T: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = self.model.rotary_emb(self.model.embed_tokens.weight[:1], positions_T[None])
        sin = torch.cat([-sin[..., : self.width // 2], sin[..., self.width // 2 :]], dim=-1)
        # repeated for every head: products of long contiguous runs are several times faster
        cos, sin = (t[0][:, None].repeat(1, sum(self.heads), 1) for t in (cos, sin))
        cos[:, -self.heads[2] :], sin[:, -self.heads[2] :] = 1.0, 0.0
        return cos, sin


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention of [rows, heads, T, width] with the heads joined again, [rows, T, heads * width]."""
    out = functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=q.shape[1] != k.shape[1])
    return out.transpose(1, 2).flatten(2)


def _last_token_attention(q: Tensor, k: Tensor, v: Tensor, prefix: tuple[Tensor, Tensor], mask_PNK: Tensor) -> Tensor:
    """Attention from one token a row, where the prefix's keys and values need no copy for each row.

    Args:
        q: queries, [P, N, query heads, width].
        k: keys of the row's own tokens, [P, N, T, key heads, width].
        v: their values, like the keys.
        prefix: keys and values [P, key heads, S, width].
        mask_PNK: what is seen of the prefix and the row, 0 or minus infinity.

    Returns:
        [P, N, query heads * width].
    """
    P, N, T, heads, width = k.shape
    q = q.view(P, N, heads, -1, width) * width**-0.5  # [P, N, heads, queries that share a key, width]
    q_PhGd = q.transpose(1, 2).flatten(2, 3)
    of_prefix = torch.matmul(q_PhGd, prefix[0].transpose(2, 3)).view(P, heads, N, -1, prefix[0].shape[2])
    of_row = (q[:, :, None] * k[..., None, :]).sum(-1).permute(0, 3, 1, 4, 2)
    probs = (torch.cat([of_prefix, of_row], dim=-1) + mask_PNK[:, None, :, None]).softmax(-1)
    of_prefix, of_row = torch.split(probs, [probs.shape[-1] - T, T], dim=-1)
    out_prefix = torch.matmul(of_prefix.flatten(2, 3), prefix[1]).view(P, heads, N, -1, width).transpose(1, 2)
    out_row = (of_row.permute(0, 2, 4, 1, 3)[..., None] * v[..., None, :]).sum(2)
    return (out_prefix + out_row).flatten(2)


def _prepend(prefix: Tensor, own: Tensor) -> Tensor:
    """Keys or values of each slot's prefix [P, heads, S, width] before those of each of its rows [P * N, heads, T, width]."""
    rows = own.view(len(prefix), -1, *own.shape[1:])
    return torch.cat([prefix[:, None].expand(-1, rows.shape[1], -1, -1, -1), rows], dim=3).flatten(0, 1)
