"""A lean forward pass for small models of the Llama architecture, where operations are so short that their number is what counts.

It gives the results of the library's own pass, and does less for them:

- a slot's adapters are merged into its weights, q, k and v are one product, gate and up another;
- in a large batch the first layer's q, k and v are computed once for each token at a position, which is all they depend on;
- in the last layer only the tokens whose hidden state is read are attended from and passed through the MLP;
- a few short rows are packed behind their prefix into one sequence for each slot, and see of each other nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from coplay.models.bank import AdapterBank, RoutedLinear
from coplay.models.decoder import Before, Layers
from coplay.models.fused_functions import gated, normed, rotated, times

_LARGEST = 20_000_000
"""Parameters of the largest model worth it: merged weights are a copy of the adapted layers for each slot."""

_LONGEST_PACK = 160
"""Tokens of the longest packed sequence: attention grows with the square, the number of operations is halved."""

_MANY_TOKENS = 1_000
"""Batches with more tokens than this look for those that occur at the same position more than once."""

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


@dataclass(frozen=True)
class _Layout:
    """Where the tokens of a sequence stand, and what they see."""

    cos: Tensor
    """Of their rotation, [T, heads, width] for the heads of queries, keys and values; values are turned by zero."""
    sin: Tensor
    """The same, with the signs of the halves' exchange."""
    mask: Tensor
    """What a token may look at, [T, S + T]: 0, or minus infinity."""


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
        heads, shared = int(model.config.num_attention_heads), int(model.config.num_key_value_heads)
        self.heads = [heads, shared, shared]
        """Of queries, keys and values."""
        self._frozen: dict[nn.Module, Tensor] = {}
        self._merged: dict[tuple[tuple[int, int], ...], list[_Weights]] = {}
        self._layouts: dict[tuple[int, int, int, int], _Layout] = {}

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
        layout = self._layout(0, len(prefix_S))
        *lower, final = self.weights()
        layers: Layers = []
        x_PKH = self.trunk.embed_tokens(prefix_S.expand(slots, -1))
        for layer in lower:
            q, k, v = torch.split(self._project(x_PKH, layer.qkv, layout).squeeze(1).transpose(1, 2), self.heads, dim=1)
            layers.append((k, v))
            x_PKH = self.finish(x_PKH, self._attend(q, k, v, layout.mask), layer)
        kv = self._project(x_PKH, self._keys_values(final), layout).squeeze(1).transpose(1, 2)
        k, v = torch.split(kv, self.heads[1:], dim=1)
        return [*layers, (k, v)]

    def last_hidden(self, ids_PNL: Tensor, last_PN: Tensor, before: Before) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.last_hidden`."""
        P, N, L = ids_PNL.shape
        if not isinstance(before, Tensor):
            start = 0 if before is None else before[0][0].shape[2]
            return self._read(ids_PNL, last_PN[..., None], before, self._layout(start, L))
        S = len(before)
        if S + N * L > _LONGEST_PACK:
            return self.last_hidden(ids_PNL, last_PN, self.encode(before, P))
        ids_P1T = torch.cat([before.expand(P, -1), ids_PNL.flatten(1)], dim=1)[:, None]
        last_P1N = (last_PN + torch.arange(S, S + N * L, L, device=last_PN.device))[:, None]
        return self._read(ids_P1T, last_P1N, None, self._layout(0, S, N, L))

    def hidden_at(self, ids_NL: Tensor, places_NE: Tensor) -> Tensor:
        """See :meth:`~coplay.models.decoder.Decoder.hidden_at`."""
        hidden = self._read(ids_NL[None], places_NE[None], None, self._layout(0, ids_NL.shape[1]))
        return hidden.view(*places_NE.shape, -1)

    def begin(self, ids_NL: Tensor, last_N: Tensor) -> tuple[Tensor, Layers]:
        """Final hidden states at each row's last token, [N, H], and all keys and values, [N, heads, L, width]; one slot, right-padded."""
        layers: Layers = []
        layout = self._layout(0, ids_NL.shape[1])
        hidden_NH = self._read(ids_NL[None], last_N[None, :, None], None, layout, kept=layers)
        return hidden_NH, layers

    def rotation_at(self, positions_N: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotation of queries, keys and values at each position, [N, heads, width]."""
        needed = int(positions_N.max()) + 1
        length = 64 * -(-needed // 64)  # few different lengths, so that layouts are found again
        layout = self._layout(0, length)
        return layout.cos[positions_N], layout.sin[positions_N]

    def _read(
        self, ids_PNT: Tensor, ends_PNE: Tensor, prefix: Layers | None, layout: _Layout, *, kept: Layers | None = None
    ) -> Tensor:
        """Hidden states at the ends, [P * N * E, H], of N sequences a slot that each go on from the slot's prefix.

        The sequences' own keys and values are added to ``kept``, if it is given.
        """
        P, N, T = ids_PNT.shape
        *lower, final = self.weights()
        x_PKH = self.trunk.embed_tokens(ids_PNT.flatten(1))
        for number, layer in enumerate(lower):
            if number == 0 and ids_PNT.numel() > _MANY_TOKENS:
                qkv = self._project_distinct(ids_PNT, layer.qkv, layout)
            else:
                qkv = self._project(x_PKH, layer.qkv, layout)
            q, k, v = torch.split(qkv.flatten(0, 1).transpose(1, 2), self.heads, dim=1)
            if kept is not None:
                kept.append((k, v))
            if prefix is not None:
                k, v = (_after(first, own) for first, own in zip(prefix[number], (k, v), strict=True))
            x_PKH = self.finish(x_PKH, self._attend(q, k, v, layout.mask).view(P, N * T, -1), layer)
        # the last layer: keys and values of all tokens, the rest of those alone that are read
        k, v = torch.split(self._project(x_PKH, self._keys_values(final), layout), self.heads[1:], dim=3)
        if kept is not None:
            kept.append((k.flatten(0, 1).transpose(1, 2), v.flatten(0, 1).transpose(1, 2)))
        ends_R = (ends_PNE + torch.arange(0, P * N * T, T, device=ends_PNE.device).view(P, N, 1)).flatten()
        x_PEH = x_PKH.flatten(0, 1).index_select(0, ends_R).view(P, -1, x_PKH.shape[-1])
        q = times(normed(x_PEH, self.eps), final.qkv[..., : self.heads[0] * self.width, :])
        q = rotated(
            q.view(*ends_PNE.shape, -1, self.width), layout.cos[ends_PNE][..., :1, :], layout.sin[ends_PNE][..., :1, :]
        )
        mask = layout.mask[ends_PNE]
        if prefix is None:
            q, k, v = (t.flatten(0, 1).transpose(1, 2) for t in (q, k, v))
            attended = self._attend(q, k, v, mask.flatten(0, 1)[:, None])
        else:
            attended = _attend_from_ends(q.squeeze(2), k, v, prefix[-1], mask.squeeze(2))
        x_PEH = self.finish(x_PEH, attended.reshape(*x_PEH.shape[:2], -1), final)
        return rms_norm(x_PEH, x_PEH.shape[-1:], self.trunk.norm.weight, self.eps).flatten(0, 1)

    def _project(self, x_PKH: Tensor, weight: Tensor, layout: _Layout) -> Tensor:
        """Queries, keys and values, or the last two, [P, N, T, heads, width]."""
        T, heads = len(layout.cos), weight.shape[-2] // self.width
        out = times(normed(x_PKH, self.eps), weight).view(len(x_PKH), -1, T, heads, self.width)
        return rotated(out, layout.cos[:, -heads:], layout.sin[:, -heads:])

    def _project_distinct(self, ids_PNT: Tensor, weight: Tensor, layout: _Layout) -> Tensor:
        """The same of the first layer, each token at a position once."""
        P, N, T = ids_PNT.shape
        code_U, place = torch.unique(ids_PNT * T + torch.arange(T, device=ids_PNT.device), return_inverse=True)
        positions_U = code_U % T
        turned = _Layout(layout.cos[positions_U], layout.sin[positions_U], layout.mask)
        x_UH = self.trunk.embed_tokens(code_U // T)
        out_PUD = self._project(x_UH.expand(P, -1, -1), weight, turned).view(P * len(code_U), -1)
        place_PNT = place + torch.arange(0, len(out_PUD), len(code_U), device=place.device).view(P, 1, 1)
        return out_PUD.index_select(0, place_PNT.flatten()).view(P, N, T, -1, self.width)

    def _keys_values(self, layer: _Weights) -> Tensor:
        return layer.qkv[..., self.heads[0] * self.width :, :]

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """Attention, heads joined again, [B, T, heads * width]."""
        out = scaled_dot_product_attention(q, k, v, mask, enable_gqa=q.shape[1] != k.shape[1])
        return out.transpose(1, 2).flatten(2)

    def finish(self, x: Tensor, attended: Tensor, layer: _Weights) -> Tensor:
        """What comes after attention in a layer: its output, then the MLP, each added to the stream [P, K, H]."""
        x = x + times(attended, layer.out)
        return x + times(gated(times(normed(x, self.eps), layer.gate_up)), layer.down)

    def weights(self) -> list[_Weights]:
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
            self._stacked([attention.q_proj, attention.k_proj, attention.v_proj], layer.input_layernorm),
            self._stacked([attention.o_proj]),
            self._stacked([mlp.gate_proj, mlp.up_proj], layer.post_attention_layernorm),
            self._stacked([mlp.down_proj]),
        )

    def _stacked(self, modules: Sequence[Any], norm: Any = None) -> Tensor:
        """Matrices of the same input as one, with the scale of the norm before them; those without adapters once and for all."""
        if modules[0] in self._frozen:
            return self._frozen[modules[0]]
        weights = [module.merged() if isinstance(module, RoutedLinear) else module.weight for module in modules]
        slots = max((weight.shape[0] for weight in weights if weight.dim() == 3), default=0)
        if slots:
            weights = [weight if weight.dim() == 3 else weight.expand(slots, -1, -1) for weight in weights]
        stacked = torch.cat(weights, dim=-2) if len(weights) > 1 else weights[0]
        if norm is not None:
            stacked = stacked * norm.weight
        if not any(isinstance(module, RoutedLinear) for module in modules):
            self._frozen[modules[0]] = stacked
        return stacked

    def _layout(self, start: int, length: int, rows: int = 0, row: int = 0) -> _Layout:
        """Of ``length`` tokens from position ``start``, with ``rows`` continuations of ``row`` tokens packed behind them."""
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
            cos, sin = self._rotation(position[start:].to(self.bank.device))
            self._layouts[key] = _Layout(cos, sin, mask.to(self.bank.device))
        return self._layouts[key]

    @torch.no_grad()
    def _rotation(self, position_T: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = self.trunk.rotary_emb(self.trunk.embed_tokens.weight[:1], position_T[None])
        sin = torch.cat([-sin[..., : self.width // 2], sin[..., self.width // 2 :]], dim=-1)
        # spelled out for every head: products of long runs are several times faster
        cos, sin = (t[0][:, None].repeat(1, sum(self.heads), 1) for t in (cos, sin))
        cos[:, -self.heads[2] :], sin[:, -self.heads[2] :] = 1.0, 0.0
        return cos, sin


def _attend_from_ends(q: Tensor, k: Tensor, v: Tensor, prefix: tuple[Tensor, Tensor], mask_PNK: Tensor) -> Tensor:
    """Attention from one token a row, where the prefix's keys and values need no copy for each row.

    Args:
        q: queries, [P, N, heads of queries, width].
        k: keys of the row's own tokens, [P, N, T, heads of keys, width].
        v: their values, like the keys.
        prefix: keys and values [P, heads of keys, S, width].
        mask_PNK: what is seen of the prefix and the row, 0 or minus infinity.

    Returns:
        [P, N, heads of queries * width].
    """
    P, N, T, heads, width = k.shape
    q = q.view(P, N, heads, -1, width) * width**-0.5  # the queries that share a key
    q_PhGd = q.transpose(1, 2).flatten(2, 3)
    before = torch.matmul(q_PhGd, prefix[0].transpose(2, 3)).view(P, heads, N, -1, prefix[0].shape[2])
    own = (q[:, :, None] * k[..., None, :]).sum(-1).permute(0, 3, 1, 4, 2)
    probs = (torch.cat([before, own], dim=-1) + mask_PNK[:, None, :, None]).softmax(-1)  # [P, heads, N, sharing, K]
    before, own = torch.split(probs, [probs.shape[-1] - T, T], dim=-1)
    of_prefix = torch.matmul(before.flatten(2, 3), prefix[1]).view(P, heads, N, -1, width).transpose(1, 2)
    of_row = (own.permute(0, 2, 4, 1, 3)[..., None] * v[..., None, :]).sum(2)
    return (of_prefix + of_row).flatten(2)


def _after(prefix: Tensor, own: Tensor) -> Tensor:
    """Keys or values of each slot's prefix [P, heads, S, width] before those of each of its rows [P * N, heads, T, width]."""
    rows = own.view(len(prefix), -1, *own.shape[1:])
    return torch.cat([prefix[:, None].expand(-1, rows.shape[1], -1, -1, -1), rows], dim=3).flatten(0, 1)
