"""A forward pass for rows of any length that begin alike: packed without padding behind keys and values that were computed once.

It computes what the library's own pass does for the families below, by the model's own linear layers, so adapters of the bank's current route
count. What it leaves out: the shared beginning of the rows is one sequence and not a copy for each row, no product sees padding, and the last layer
is computed only where hidden states are returned. Where the weights are in 16 bits, products are too; sums, norms and softmax are in single precision.

Shapes: R rows, S tokens of the shared beginning, K tokens of all rows together, H hidden width, D width of a head, h heads, g heads of keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, silu

from coplay.models.fused_functions import apply_rotary, scaled_rms_norm
from coplay.models.packed_attention import Masks, grouped_attention

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.models.gemma2.modeling_gemma2 import Gemma2DecoderLayer
    from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer, LlamaMLP
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""From a layer's number and the rotated queries [K, h, D], keys and values [K, g, D] of all tokens to what they attend to, [K, h * D]."""


@dataclass(frozen=True)
class _Family:
    """How an architecture differs from Llama."""

    norms_behind: bool = False
    """Norms stand behind attention and MLP as well."""
    scale_offset: float = 0.0
    """Added to the scales of norms."""


_FAMILIES = {
    "LlamaForCausalLM": _Family(),
    "MistralForCausalLM": _Family(),
    "Qwen2ForCausalLM": _Family(),
    "Qwen3ForCausalLM": _Family(),
    "Gemma2ForCausalLM": _Family(norms_behind=True, scale_offset=1.0),
}

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": silu,
    "gelu_pytorch_tanh": lambda x: gelu(x, approximate="tanh"),
}

_ROPE_TYPES = ("default", "linear", "llama3", "yarn")
"""Rotary embeddings whose angles do not depend on the length of the sequence."""

_DTYPES = (torch.float32, torch.bfloat16)


class PackedDecoder:
    """See the module."""

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config
        self.decoder = model.get_decoder()
        self.family = _FAMILIES[type(model).__name__]
        self.dtype = model.dtype
        self.eps = float(config.rms_norm_eps)
        self.activation = _ACTIVATIONS[_activation_of(model)]
        attention = self.decoder.layers[0].self_attn
        self.width, self.scale = int(attention.head_dim), float(attention.scaling)
        self.softcap: float | None = getattr(attention, "attn_logit_softcapping", None)
        self.windows: list[int | None] = [
            _window_of(layer.self_attn, config, i) for i, layer in enumerate(self.decoder.layers)
        ]
        """How many tokens back each layer sees, itself included; None for all."""
        self.layers = range(len(self.decoder.layers))
        self._scales: dict[nn.Module, Tensor] = {}
        self.run_layer: Callable[..., Tensor] = _run
        """Runs a layer: as it is, or so that it is computed again in the backward pass (:mod:`coplay.models.recomputation`)."""

    @staticmethod
    def supports(model: PreTrainedModel) -> bool:
        """Whether the model is of a family that this class computes, in 32 or 16 bits."""
        rope = (getattr(model.config, "rope_parameters", None) or {}).get("rope_type", "default")
        return (
            type(model).__name__ in _FAMILIES
            and model.dtype in _DTYPES
            and rope in _ROPE_TYPES
            and _activation_of(model) in _ACTIVATIONS
        )

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = self.decoder.embed_tokens.weight.device
        return device

    @property
    def bytes_of_token(self) -> int:
        """Bytes of a token's keys and values under all layers."""
        heads = int(self.decoder.config.num_key_value_heads)
        return 2 * len(self.layers) * heads * self.width * int(self.dtype.itemsize)

    def embed(self, ids_K: Tensor) -> Tensor:
        """What the first layer reads, float32, [K, H]."""
        x_KH: Tensor = self.decoder.embed_tokens(ids_K)
        return x_KH.float()

    def forward(
        self,
        x_KH: Tensor,
        positions_K: Tensor,
        attend: Attend,
        ends_R: Tensor | None = None,
        *,
        layers: range | None = None,
    ) -> Tensor:
        """Hidden states behind these layers, or all; float32, [K, H]. Behind the last one they are final.

        Args:
            x_KH: what the first of the layers reads.
            positions_K: the tokens' positions.
            attend: see :data:`Attend`.
            ends_R: the tokens whose final hidden states are wanted, if not all, [R]; then [R, H] is returned.
            layers: which layers; all by default.
        """
        layers = layers or self.layers
        cos_1KD, sin_1KD = self.decoder.rotary_emb(x_KH[None], positions_K[None])
        cos_K1D, sin_K1D = cos_1KD[0, :, None], _with_signs(sin_1KD[0, :, None])
        for number in layers:
            ends = ends_R if number == self.layers[-1] else None
            x_KH = self.run_layer(self._layer, number, x_KH, cos_K1D, sin_K1D, attend, ends)
        return self._scaled(x_KH, self.decoder.norm) if layers[-1] == self.layers[-1] else x_KH

    def _layer(
        self, number: int, x_KH: Tensor, cos_K1D: Tensor, sin_K1D: Tensor, attend: Attend, ends_R: Tensor | None
    ) -> Tensor:
        """What leaves a layer, of all tokens or of some."""
        layer = self.decoder.layers[number]
        q, k, v = self._projected(layer.self_attn, self._normed(x_KH, layer.input_layernorm))
        q, k = (apply_rotary(t, cos_K1D, sin_K1D) for t in (q, k))
        out_KA = attend(number, *(t.to(self.dtype) for t in (q, k, v)))
        if ends_R is not None:
            x_KH, out_KA = x_KH.index_select(0, ends_R), out_KA.index_select(0, ends_R)
        return self._post_attention(x_KH, out_KA, layer)

    def _post_attention(self, x_KH: Tensor, out_KA: Tensor, layer: LlamaDecoderLayer) -> Tensor:
        """Attention's output projection, then the MLP, each added to the residual stream."""
        added_KH = layer.self_attn.o_proj(out_KA)
        if self.family.norms_behind:
            sandwich = cast("Gemma2DecoderLayer", layer)
            x_KH = x_KH + self._scaled(added_KH.float(), layer.post_attention_layernorm)
            added_KH = self._mlp(layer.mlp, self._normed(x_KH, sandwich.pre_feedforward_layernorm))
            return x_KH + self._scaled(added_KH.float(), sandwich.post_feedforward_layernorm)
        x_KH = x_KH + added_KH
        return x_KH + self._mlp(layer.mlp, self._normed(x_KH, layer.post_attention_layernorm))

    def _mlp(self, mlp: LlamaMLP, x_KH: Tensor) -> Tensor:
        out_KH: Tensor = mlp.down_proj(self.activation(mlp.gate_proj(x_KH)) * mlp.up_proj(x_KH))
        return out_KH

    def _projected(self, attention: LlamaAttention, x_KH: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys, float32, and values, [K, heads, D]."""
        q, k, v = (
            projection(x_KH).view(len(x_KH), -1, self.width)
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        q, k = q.float(), k.float()
        if hasattr(attention, "q_norm"):
            with_norms = cast("Qwen3Attention", attention)
            q, k = self._scaled(q, with_norms.q_norm), self._scaled(k, with_norms.k_norm)
        return q, k, v

    def _normed(self, x: Tensor, norm: nn.Module) -> Tensor:
        """What the next product reads."""
        return self._scaled(x, norm).to(self.dtype)

    def _scaled(self, x: Tensor, norm: nn.Module) -> Tensor:
        """The norm of x with its learned scale, which nobody trains."""
        if norm not in self._scales:
            self._scales[norm] = cast(Tensor, norm.weight).detach().float() + self.family.scale_offset
        return scaled_rms_norm(x, self._scales[norm], self.eps)

    # ------------------------------------------------------------------ rows behind what is known

    def read_hidden(
        self,
        x_KH: Tensor,
        sizes: Sequence[int],
        known: Sequence[Tensor | None],
        ends_R: Tensor | None = None,
        *,
        layers: range | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Read rows behind what is known of each.

        Args:
            x_KH: what the first of the layers reads of all rows' new tokens.
            sizes: new tokens of each row, one at least.
            known: keys and values of each row's tokens before, under these layers, [layers, 2, g, tokens, D].
            ends_R: the tokens whose final hidden states are wanted, if not all, [R].
            layers: which layers; all by default.

        Returns:
            :meth:`forward`'s result, and the keys and values of each row's new tokens.
        """
        layers = layers or self.layers
        starts = [0 if kv is None else kv.shape[3] for kv in known]
        masks = [Masks(start, [size], self.device) for start, size in zip(starts, sizes, strict=True)]
        new: list[list[Tensor]] = [[] for _ in sizes]

        def attend(layer: int, q_KhD: Tensor, k_KgD: Tensor, v_KgD: Tensor) -> Tensor:
            out = []
            parts = zip(*(torch.split(t, list(sizes)) for t in (q_KhD, k_KgD, v_KgD)), strict=True)
            for row, (q, k, v) in enumerate(parts):
                k, v = k.transpose(0, 1), v.transpose(0, 1)
                new[row].append(torch.stack([k, v]))
                before = known[row]
                if before is not None:
                    (k_before, v_before) = before[layer - layers[0]]
                    k, v = torch.cat([k_before, k], dim=1), torch.cat([v_before, v], dim=1)
                mask = masks[row].behind(self.windows[layer])
                out.append(self.attention(q.transpose(0, 1)[None], k[None], v[None], mask)[0])
            return torch.cat(out)

        positions_K = self.positions(starts, sizes)
        return self.forward(x_KH, positions_K, attend, ends_R, layers=layers), [torch.stack(own) for own in new]

    def positions(self, starts: Sequence[int], sizes: Sequence[int]) -> Tensor:
        """Positions of the tokens of rows that begin at ``starts``, [K]."""
        return torch.cat([torch.arange(a, a + n) for a, n in zip(starts, sizes, strict=True)]).to(self.device)

    # ------------------------------------------------------------------ rows that begin alike

    def read_alike(
        self,
        x_KH: Tensor,
        first: int,
        sizes: Sequence[int],
        known: Tensor | None = None,
        *,
        layers: range | None = None,
        wanted_W: Tensor | None = None,
        slots: int = 1,
    ) -> Tensor:
        """Rows that continue one beginning, through some of the layers. Where these reach the last, only some tokens are returned, [W, H].

        Args:
            x_KH: what the first of the layers reads: of the beginning, as far as it is not known, then of all rows; one slot after the other.
            first: how many of a slot's tokens are the beginning's; 0 if it is known, or there is none.
            sizes: tokens of each row of a slot, one at least; the same for all slots.
            known: keys and values of the beginning under these layers, [layers, 2, P, g, S, D]; no gradients flow into them.
            layers: which layers; all by default.
            wanted_W: which of these tokens are returned; by default the last of each row.
            slots: P, how many slots.
        """
        layers = layers or self.layers
        start = first if known is None else known.shape[4]
        rows = len(sizes)
        masks = Masks(start, list(sizes) * slots, self.device)

        def attend(layer: int, q_KhD: Tensor, k_KgD: Tensor, v_KgD: Tensor) -> Tensor:
            window, out = self.windows[layer], []
            q_PKhD, k_PKgD, v_PKgD = (t.view(slots, -1, *t.shape[1:]) for t in (q_KhD, k_KgD, v_KgD))
            before_PgSD = None if known is None else known[layer - layers[0]]
            if first:
                q, k, v = (t[:, :first].transpose(1, 2) for t in (q_PKhD, k_PKgD, v_PKgD))
                out.append(self.attention(q, k, v, masks.causal(first, window)))
                before_PgSD = torch.stack([k, v])
            q_RhTD, k_RgTD, v_RgTD = (
                masks.apart(t[:, first:].flatten(0, 1)).transpose(1, 2) for t in (q_PKhD, k_PKgD, v_PKgD)
            )
            if before_PgSD is not None:
                k_RgTD, v_RgTD = (
                    torch.cat([before[:, None].expand(-1, rows, -1, -1, -1).flatten(0, 1), own], dim=2)
                    for before, own in zip(before_PgSD, (k_RgTD, v_RgTD), strict=True)
                )
            out_KA = masks.together(self.attention(q_RhTD, k_RgTD, v_RgTD, masks.behind(window)))
            out.append(out_KA.view(slots, -1, out_KA.shape[-1]))
            return (torch.cat(out, dim=1) if first else out[0]).flatten(0, 1)

        if wanted_W is None:
            wanted_W = (torch.tensor([*sizes] * slots).cumsum(0) - 1).to(self.device)
            wanted_W = wanted_W + first * torch.arange(1, slots + 1, device=self.device).repeat_interleave(rows)
        return self.forward(x_KH, masks.positions(first, slots), attend, wanted_W, layers=layers)

    def attention(self, q_RhTD: Tensor, k_RgLD: Tensor, v_RgLD: Tensor, mask: Tensor) -> Tensor:
        """See :func:`~coplay.models.packed_attention.grouped_attention`; with this model's scale and cap, the heads joined, [R, T, h * D]."""
        return grouped_attention(q_RhTD, k_RgLD, v_RgLD, mask, scale=self.scale, softcap=self.softcap)


def _run(layer: Callable[..., Tensor], *inputs: object) -> Tensor:
    return layer(*inputs)


def _window_of(attention: nn.Module, config: PreTrainedConfig, layer: int) -> int | None:
    """How many tokens back a layer sees; None for all. Some families keep the window at the layer, others in the config, for some layers or for all."""
    if hasattr(attention, "sliding_window"):
        return cast("int | None", attention.sliding_window)
    kinds = getattr(config, "layer_types", None)
    slides = kinds is None or kinds[layer] == "sliding_attention"
    return cast("int | None", getattr(config, "sliding_window", None)) if slides else None


def _activation_of(model: PreTrainedModel) -> str:
    """The MLP's activation, as Gemma and the others call it."""
    config = model.config
    return str(getattr(config, "hidden_activation", None) or getattr(config, "hidden_act", ""))


def _with_signs(sin: Tensor) -> Tensor:
    """Sines with the minus signs of the rotated first half, as :func:`~coplay.models.fused_functions.apply_rotary` takes them."""
    left, right = sin.chunk(2, dim=-1)
    return torch.cat([-left, right], dim=-1)
