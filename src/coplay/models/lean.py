"""A lean forward pass for small models of the Llama architecture, where operations are so short that their number is what counts.

What differs from the library's own pass, and no result is changed by:

- a slot's adapters are merged into its weights, q, k and v are one product, gate and up another;
- prefix and rows go through each layer together; only attention tells them apart;
- in the last layer only each row's last token is attended from and passed through the MLP.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from coplay.models.bank import AdapterBank, RoutedLinear
from coplay.models.decoder import Before, Layers

_LARGEST = 20_000_000
"""Parameters of the largest model worth it: merged weights are a copy of the adapted layers for each slot."""

_REMEMBERED = 8
"""How many sets of merged weights are kept at a time."""

_ROPES = ("default", "linear", "llama3")
"""Rotary embeddings whose angles do not depend on the length of the sequence."""


class _Weights(NamedTuple):
    """A layer's matrices, [out, in], or [P, out, in] where slots differ. What follows a norm has the norm's scale in it."""

    qkv: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor


class LeanDecoder:
    """See the module.

    Args:
        model: the model, its targets wrapped.
        bank: the bank that wrapped them.
    """

    def __init__(self, model: Any, bank: AdapterBank) -> None:
        self.trunk: Any = model.model
        self.bank = bank
        self.eps = float(model.config.rms_norm_eps)
        self.width = int(self.trunk.layers[0].self_attn.head_dim)
        self.queries = int(model.config.num_attention_heads)
        self.keys = int(model.config.num_key_value_heads)
        self._merged: dict[tuple[tuple[int, int], ...], list[_Weights]] = {}
        self._positions: dict[tuple[int, int, int, int], tuple[Tensor, Tensor]] = {}
        self._masks: dict[tuple[int, int], Tensor] = {}

    @staticmethod
    def fits(model: Any) -> bool:
        """Whether the model is of this kind: a small Llama in float32, without biases."""
        if type(model).__name__ != "LlamaForCausalLM" or model.dtype != torch.float32:
            return False
        config = model.config
        rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
        plain = not (config.attention_bias or config.mlp_bias) and config.hidden_act == "silu" and rope in _ROPES
        return plain and model.num_parameters() <= _LARGEST

    def encode(self, prefix_S: Tensor, slots: int) -> Layers:
        """Keys after the rotary embedding, and values."""
        length = len(prefix_S)
        x_PTH = self.trunk.embed_tokens(prefix_S.expand(slots, -1))
        cos, sin = self._rotation(length, length, 0, 0)
        layers: Layers = []
        *lower, final = self._weights()
        for layer in lower:
            q, k, v = self._project(self._norm(x_PTH), layer.qkv, cos, sin)
            layers.append((k.transpose(1, 2), v.transpose(1, 2)))
            x_PTH = self._finish(x_PTH, self._attend(q, k, v), layer)
        _, k, v = self._project(self._norm(x_PTH), final.qkv, cos, sin)
        return [*layers, (k.transpose(1, 2), v.transpose(1, 2))]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, before: Before) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.last_hidden`."""
        P, N, L = ids_PNL.shape
        ids_PT = ids_PNL.flatten(1)
        kept: Layers | None = None
        fresh = start = 0
        if isinstance(before, Tensor):
            fresh = start = len(before)
            ids_PT = torch.cat([before.expand(P, -1), ids_PT], dim=1)
        elif before is not None:
            kept, start = before, before[0][0].shape[2]
        x_PTH = self.trunk.embed_tokens(ids_PT)
        cos, sin = self._rotation(fresh, start, N, L)
        mask_LK = self._causal(start, L)
        *lower, final = self._weights()
        for number, layer in enumerate(lower):
            q, k, v = self._project(self._norm(x_PTH), layer.qkv, cos, sin)
            first, rows, prefix = self._parted((q, k, v), fresh, N, kept and kept[number])
            attended = self._attend_rows(*rows, prefix, mask_LK)
            if fresh:
                attended = torch.cat([self._attend(*first), attended], dim=1)
            x_PTH = self._finish(x_PTH, attended, layer)
        # the last layer: keys and values of all tokens, the rest of those alone that are read
        Q = self.queries * self.width
        k, v = _times(self._norm(x_PTH), final.qkv[..., Q:, :]).unflatten(-1, (-1, self.width)).split(self.keys, dim=2)
        k = _rotated(k, cos[:, : self.keys], sin[:, : self.keys])
        _, rows, prefix = self._parted((k, v), fresh, N, kept and kept[-1])
        last_T = (last_PN + torch.arange(fresh, fresh + N * L, L, device=last_PN.device)).flatten()
        x_PNH = x_PTH.flatten(0, 1).index_select(0, last_T + _starts(P, N, x_PTH)).view(P, N, -1)
        q = _times(self._norm(x_PNH), final.qkv[..., :Q, :]).view(P * N, -1, self.width)
        q = _rotated(q, cos[last_T, : self.queries], sin[last_T, : self.queries])
        attended = self._attend_from_ends(q.view(P, N, -1, self.width), *rows, prefix, mask_LK[last_PN])
        x_PNH = self._finish(x_PNH, attended, final)
        return rms_norm(x_PNH, x_PNH.shape[-1:], self.trunk.norm.weight, self.eps).flatten(0, 1)

    def _norm(self, x: Tensor) -> Tensor:
        """Without the learned scale, which is in the weights that follow."""
        return rms_norm(x, x.shape[-1:], None, self.eps)

    def _project(self, normed: Tensor, qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [P, T, heads, width]."""
        out = _times(normed, qkv).unflatten(-1, (-1, self.width))
        turning, v = out.split([self.queries + self.keys, self.keys], dim=2)
        q, k = _rotated(turning, cos, sin).split([self.queries, self.keys], dim=2)
        return q, k, v

    def _parted(
        self, tensors: tuple[Tensor, ...], fresh: int, rows: int, kept: tuple[Tensor, Tensor] | None
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, Tensor] | None]:
        """Tensors over T as their prefix's part and their rows' [P, N, L, ...]; and the keys and values before the rows."""
        parts = [t.split([fresh, t.shape[1] - fresh], dim=1) for t in tensors]
        first = tuple(part[0] for part in parts)
        own = tuple(part[1].unflatten(1, (rows, -1)) for part in parts)
        return first, own, (first[-2].transpose(1, 2), first[-1].transpose(1, 2)) if fresh else kept

    def _attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal attention within a prefix, heads joined: [P, T, heads * width]."""
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.queries != self.keys)
        return out.transpose(1, 2).flatten(2)

    def _attend_rows(
        self, q: Tensor, k: Tensor, v: Tensor, prefix: tuple[Tensor, Tensor] | None, mask_LK: Tensor
    ) -> Tensor:
        """Attention of each row to itself and to what comes before: [P, N * L, heads * width]."""
        P, N, L = q.shape[:3]
        k, v = k.transpose(2, 3), v.transpose(2, 3)
        if prefix is not None:
            shared = (t[:, None].expand(-1, N, -1, -1, -1) for t in prefix)
            k, v = (torch.cat([before, own], dim=3) for before, own in zip(shared, (k, v), strict=True))
        q, k, v = q.transpose(2, 3).flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
        out = scaled_dot_product_attention(q, k, v, mask_LK, enable_gqa=self.queries != self.keys)
        return out.transpose(1, 2).reshape(P, N * L, -1)

    def _attend_from_ends(
        self, q: Tensor, k: Tensor, v: Tensor, prefix: tuple[Tensor, Tensor] | None, mask_PNK: Tensor
    ) -> Tensor:
        """Attention from one token of each row, so the prefix's keys need no copy for each: [P, N, heads * width]."""
        P, N, L, heads, width = k.shape
        q = q.view(P, N, heads, -1, width) * width**-0.5  # queries that share keys
        scores = (q[:, :, None] * k[..., None, :]).sum(-1).permute(0, 3, 1, 4, 2)  # [P, heads, N, sharing, L]
        if prefix is not None:
            q_PhGd = q.transpose(1, 2).flatten(2, 3)
            before = torch.matmul(q_PhGd, prefix[0].transpose(2, 3)).view(*scores.shape[:-1], -1)
            scores = torch.cat([before, scores], dim=-1)
        probs = (scores + mask_PNK[:, None, :, None]).softmax(-1)
        own = probs[..., -L:].permute(0, 2, 4, 1, 3)  # [P, N, L, heads, sharing]
        out = (own[..., None] * v[..., None, :]).sum(2)
        if prefix is not None:
            before = torch.matmul(probs[..., :-L].flatten(2, 3), prefix[1])
            out = out + before.view(P, heads, N, -1, width).transpose(1, 2)
        return out.flatten(2)

    def _finish(self, x: Tensor, attended: Tensor, layer: _Weights) -> Tensor:
        x = x + _times(attended, layer.out)
        gate, up = _times(self._norm(x), layer.gate_up).chunk(2, dim=-1)
        return x + _times(silu(gate) * up, layer.down)

    def _weights(self) -> list[_Weights]:
        """The layers' matrices under the current route; without gradients, remembered until a slot changes."""
        if torch.is_grad_enabled():
            return [self._layer(layer) for layer in self.trunk.layers]
        route = self.bank.current
        key = () if route is None else self.bank.versions_of(route.slots)
        if key not in self._merged:
            while len(self._merged) >= _REMEMBERED:
                del self._merged[next(iter(self._merged))]
            self._merged[key] = [self._layer(layer) for layer in self.trunk.layers]
        return self._merged[key]

    def _layer(self, layer: Any) -> _Weights:
        attention, mlp = layer.self_attn, layer.mlp
        return _Weights(
            _stacked(attention.q_proj, attention.k_proj, attention.v_proj) * layer.input_layernorm.weight,
            _weight(attention.o_proj),
            _stacked(mlp.gate_proj, mlp.up_proj) * layer.post_attention_layernorm.weight,
            _weight(mlp.down_proj),
        )

    def _rotation(self, fresh: int, start: int, rows: int, length: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines, [T, heads, width], of the first ``fresh`` positions and of rows that begin at ``start``."""
        key = (fresh, start, rows, length)
        if key not in self._positions:
            if len(self._positions) > 1000:
                self._positions.clear()
            device = self.bank.device
            own = torch.arange(start, start + length, device=device).repeat(rows)
            positions_T = torch.cat([torch.arange(fresh, device=device), own])
            with torch.no_grad():
                cos, sin = self.trunk.rotary_emb(self.trunk.embed_tokens.weight[:1], positions_T[None])
            sin = torch.cat([-sin[..., : self.width // 2], sin[..., self.width // 2 :]], dim=-1)
            heads = self.queries + self.keys
            # spelled out for every head: products of long runs are several times faster
            self._positions[key] = cos[0][:, None].repeat(1, heads, 1), sin[0][:, None].repeat(1, heads, 1)
        return self._positions[key]

    def _causal(self, start: int, length: int) -> Tensor:
        """What a row's tokens may look at, [L, start + L]: 0, or minus infinity."""
        key = (start, length)
        if key not in self._masks:
            if len(self._masks) > 1000:
                self._masks.clear()
            keys, queries = torch.arange(start + length), torch.arange(length)
            hidden = keys[None] > queries[:, None] + start
            self._masks[key] = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf).to(self.bank.device)
        return self._masks[key]


def _starts(slots: int, rows: int, x_PTH: Tensor) -> Tensor:
    """Where each row's slot begins in a flat list of tokens, [P * N]."""
    length = x_PTH.shape[1]
    return torch.arange(0, slots * length, length, device=x_PTH.device).repeat_interleave(rows)


def _times(x_PKI: Tensor, weight: Tensor) -> Tensor:
    """The product with a matrix that all slots share, or with each slot's own."""
    return linear(x_PKI, weight) if weight.dim() == 2 else torch.bmm(x_PKI, weight.transpose(1, 2))


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding; the sign of the halves' exchange is in ``sin``."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


def _weight(module: Any) -> Tensor:
    weight: Tensor = module.merged() if isinstance(module, RoutedLinear) else module.weight
    return weight


def _stacked(*modules: Any) -> Tensor:
    """Several matrices of the same input as one."""
    weights = [_weight(module) for module in modules]
    slots = max((weight.shape[0] for weight in weights if weight.dim() == 3), default=0)
    if slots:
        weights = [weight if weight.dim() == 3 else weight.expand(slots, -1, -1) for weight in weights]
    return torch.cat(weights, dim=-2)
