"""Scoring: next-token logits at the end of many prompts, without computing the same thing twice.

Identical (slot, prompt) pairs are scored once. The prefix that all prompts of a batch share (the rules of the game) is encoded once
per slot, and outside training it is kept until the slot's weights change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, cast

import torch
from torch import Tensor, nn

from coplay.models.bank import AdapterBank
from coplay.models.decoder import Decoder, KVCache, Prefix, RowsDecoder, TransformersDecoder
from coplay.models.final_hidden import FinalHidden, head_of
from coplay.models.fused_llama import FusedLlama
from coplay.models.graphed_grid import TOKENS, GraphedGrid
from coplay.models.logit_rule import LogitRule, logit_rule
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.packed_grid import PackedGrid
from coplay.models.packed_prompts import PackedPrompts, common_tokens
from coplay.models.recomputation import Recomputation

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedModel

Prompt = tuple[int, ...]
"""A prompt as token ids."""

_MIN_PREFIX_TOKENS = 8
"""Shared prefixes of fewer tokens are not worth a forward pass of their own."""

_TOKENS_PER_PASS = 4_096
"""Without gradients, batches are cut so that one pass holds at most about this many tokens: more would not fit a processor's caches."""

_TOKENS_PER_PASS_ON_GPU = 65_536
"""The same on a GPU, where more would only take memory."""

_PREFIXES_KEPT = 8
"""How many encoded prefixes are kept at a time."""


@dataclass(frozen=True)
class Scores:
    """What the model says at the end of each prompt."""

    logits_RV: Tensor
    """Next-token logits, float32."""
    hidden_RH: Tensor
    """The last hidden state, float32, from which value heads make their estimates."""


class LogitsOf(Protocol):
    """Whatever scores prompts under slots without gradients."""

    def score(self, slots: Sequence[int], prompts: Sequence[Prompt]) -> Scores:
        """See :meth:`Scorer.score`."""


class Engine(StrEnum):
    """What computes a model's final hidden states."""

    FUSED = "fused"
    """Fused operations, for small models of the Llama architecture: :class:`~coplay.models.fused_llama.FusedLlama`."""
    PACKED = "packed"
    """Rows without padding behind what was read once, for the larger ones: :class:`~coplay.models.packed_decoder.PackedDecoder`."""
    TRANSFORMERS = "transformers"
    """The model's own pass, behind a cache of what rows share: :class:`~coplay.models.decoder.TransformersDecoder`."""
    ROWS = "rows"
    """The model's own pass on whole rows of one length: :class:`~coplay.models.decoder.RowsDecoder`."""
    TOKENS = "tokens"
    """The same, each token from its row up to there."""


def possible_engines(model: PreTrainedModel) -> tuple[Engine, ...]:
    """The engines that may compute a model, by its structure, the fastest first; whether they do is found by comparison (:mod:`coplay.models.admission`)."""
    ours = [Engine.FUSED] if FusedLlama.supports(model) else [Engine.PACKED] if PackedDecoder.supports(model) else []
    return (*ours, Engine.TRANSFORMERS, Engine.ROWS, Engine.TOKENS)


class Scorer:
    """Scores prompts under the slots of a bank.

    The package makes scorers by :func:`coplay.models.admission.admitted_scorer`, which compares them with Transformers on the same model.

    Args:
        model: the Hugging Face causal language model whose layers the bank has wrapped.
        bank: its adapters.
        engine: what computes hidden states; by default the fastest that is possible.
        like: another scorer of the model, from which the model's own way to hidden states and logits is taken instead of being tried again.

    Raises:
        UsageError: if the architecture computes its logits in a way that this class does not reproduce.
    """

    def __init__(
        self, model: PreTrainedModel, bank: AdapterBank, engine: Engine | None = None, *, like: Scorer | None = None
    ) -> None:
        self.model, self.bank = model, bank
        self.engine = engine or possible_engines(model)[0]
        self.packed = PackedPrompts(PackedDecoder(model), bank) if self.engine is Engine.PACKED else None
        """For models whose cost is their products; None for small models, whose cost is the number of operations, and for others."""
        self.shares_passes = self.packed is None or bank.device.type != "cpu"
        """Whether rows of several slots go through the model together; else slot by slot, as they are packed."""
        self.final: FinalHidden = FinalHidden(model) if like is None else like.final
        """The model's own pass."""
        self.decoder = self._decoder()
        self._exact_head: nn.Linear | None = None
        """The head of a model in 16 bits, in float32: logits of 16 bits would be multiples of an eighth where they are large."""
        self.head = head_of(model)
        self.width = int(getattr(self.head, "in_features", self.head.weight.shape[-1]))
        """Size of the hidden states that the head reads; configs have no common name for it, and some models' other layers are wider."""
        self.rule: LogitRule = logit_rule(model, self.final) if like is None else like.rule
        self._prefixes: dict[tuple[tuple[tuple[int, int], ...], Prompt], KVCache] = {}
        self.check_length: Callable[[int], None] = lambda tokens: None
        """Called with the length of the longest row before rows are read; raises if the engine was found to be wrong there."""

    def recompute_layers(self) -> None:
        """Compute what is inside a layer again in the backward pass, instead of keeping it. Without effect on fused models, which are small."""
        recomputation = Recomputation(self.bank)
        if self.packed is not None:
            self.packed.decoder.run_layer = recomputation
            self.decoder = PackedGrid(self.packed.decoder)  # a recorded pass keeps what it keeps
        elif self.engine is not Engine.FUSED:
            recomputation.wrap(self.model)
            if isinstance(self.decoder, TransformersDecoder):
                self.decoder.recomputes = True

    def _decoder(self) -> Decoder:
        if self.engine is Engine.FUSED:
            return FusedLlama(cast("LlamaForCausalLM", self.model), self.bank)
        if self.packed is not None:
            packed = self.packed.decoder
            return GraphedGrid(packed, self.bank) if GraphedGrid.supports(packed) else PackedGrid(packed)
        if self.engine is Engine.TRANSFORMERS:
            return TransformersDecoder(self.final)
        return RowsDecoder(self.final, self.bank, token_by_token=self.engine is Engine.TOKENS)

    def score(self, slots: Sequence[int], prompts: Sequence[Prompt], *, grad: bool = False) -> Scores:
        """Score row by row.

        Args:
            slots: the slot of each row; :data:`~coplay.models.bank.REFERENCE` for the base model.
            prompts: the prompt of each row.
            grad: whether gradients are to flow into the slots' adapters.

        Returns:
            One row of scores for each (slot, prompt), in order.
        """
        self.check_length(max(map(len, prompts), default=0))
        column_of: dict[int, dict[Prompt, int]] = {slot: {} for slot in sorted(set(slots))}
        for slot, prompt in zip(slots, prompts, strict=True):
            column_of[slot].setdefault(prompt, len(column_of[slot]))
        unique = {slot: list(own) for slot, own in column_of.items()}
        prefix: Prompt = ()
        if self.decoder.shares_prefixes:
            prefix = _shared_prefix(unique.values(), multiple_of=TOKENS if isinstance(self.decoder, GraphedGrid) else 1)
        with torch.set_grad_enabled(grad):
            if self.packed is None or self.shares_passes:
                logits_UV, hidden_UH, width = self._in_a_grid(unique, prefix, grad=grad)
                first_row = {slot: p * width for p, slot in enumerate(unique)}
            else:
                hidden = [self.packed.ends(slot, own, prefix, grad=grad) for slot, own in unique.items()]
                hidden_UH = torch.cat(hidden)
                logits_UV = self.logits(hidden_UH)
                starts = accumulate(map(len, unique.values()), initial=0)
                first_row = dict(zip(unique, starts, strict=False))
            rows = [first_row[slot] + column_of[slot][prompt] for slot, prompt in zip(slots, prompts, strict=True)]
            if rows == list(range(len(logits_UV))):
                return Scores(logits_UV, hidden_UH)
            index_R = torch.tensor(rows, device=self.bank.device)
            return Scores(logits_UV.index_select(0, index_R), hidden_UH.index_select(0, index_R))

    def _in_a_grid(
        self, unique: Mapping[int, list[Prompt]], prefix: Prompt, *, grad: bool
    ) -> tuple[Tensor, Tensor, int]:
        """Logits and last hidden states of as many rows for each slot, and how many these are."""
        wide = max(map(len, unique.values()))
        grid = {slot: [*own, *own[-1:] * (wide - len(own))] for slot, own in unique.items()}
        step = wide if grad else self._columns_a_pass(grid, len(prefix))
        parts = [
            self._score_grid({slot: own[start : start + step] for slot, own in grid.items()}, prefix, grad=grad)
            for start in range(0, wide, step)
        ]
        logits_PNV, hidden_PNH = (torch.cat(grids, dim=1) for grids in zip(*parts, strict=True))
        return logits_PNV.flatten(0, 1), hidden_PNH.flatten(0, 1), wide

    def _columns_a_pass(self, grid: Mapping[int, Sequence[Prompt]], shared: int) -> int:
        """How many prompts of each slot go through the model in one pass, without gradients."""
        longest = max(len(prompt) for own in grid.values() for prompt in own) - shared
        most = _TOKENS_PER_PASS if self.bank.device.type == "cpu" else _TOKENS_PER_PASS_ON_GPU
        return max(1, most // (longest * len(grid)))

    def _score_grid(self, grid: Mapping[int, Sequence[Prompt]], prefix: Prompt, *, grad: bool) -> tuple[Tensor, Tensor]:
        """Logits [P, N, V] and last hidden states [P, N, H] of N prompts of each of P slots."""
        device, count = self.bank.device, len(grid)
        rows = [prompt[len(prefix) :] for own in grid.values() for prompt in own]
        longest = max(map(len, rows))
        ids_RL = torch.tensor([row + (0,) * (longest - len(row)) for row in rows], device=device)
        last_R = torch.tensor([len(row) - 1 for row in rows], device=device)
        with self.bank.route(tuple(grid)):
            prefix_cache = self._prefix(prefix, tuple(grid), grad=grad)
            hidden_RH = self.decoder.last_hidden(ids_RL.view(count, -1, longest), last_R.view(count, -1), prefix_cache)
        logits_RV, hidden_RH = self.logits(hidden_RH), hidden_RH.float()
        return logits_RV.view(count, -1, logits_RV.shape[-1]), hidden_RH.view(count, -1, hidden_RH.shape[-1])

    def _prefix(self, prefix: Prompt, slots: tuple[int, ...], *, grad: bool) -> Prefix:
        """What the rows continue: the prefix's ids if gradients must flow through it, else its encoding, kept until a slot changes."""
        if not prefix:
            return None
        prefix_L = torch.tensor(prefix, device=self.bank.device)
        if grad:
            return prefix_L
        key = (self.bank.versions_of(slots), prefix)
        if key not in self._prefixes:
            while len(self._prefixes) >= _PREFIXES_KEPT:
                del self._prefixes[next(iter(self._prefixes))]
            self._prefixes[key] = self.decoder.encode_prefix(prefix_L, len(slots))
        return self._prefixes[key]

    def logits(self, hidden_RH: Tensor) -> Tensor:
        """Next-token logits, float32, of final hidden states."""
        head = self.head
        if hidden_RH.dtype == head.weight.dtype:
            logits_RV: Tensor = head(hidden_RH).float()
        elif self.bank.device.type == "cpu":
            if self._exact_head is None:
                self._exact_head = deepcopy(head).float()
            logits_RV = self._exact_head(hidden_RH)
        else:
            logits_RV = head(hidden_RH.to(head.weight.dtype)).float()
        return self.rule(logits_RV)


def _shared_prefix(unique: Collection[Sequence[Prompt]], *, multiple_of: int = 1) -> Prompt:
    """What all prompts begin with, short of the shortest one's last token; empty if it is not worth a pass of its own.

    A multiple of some tokens where passes are recorded, so that there are few lengths.
    """
    first, last = min(map(min, unique)), max(map(max, unique))  # the lexicographic extremes differ earliest
    limit = min(len(prompt) for own in unique for prompt in own) - 1
    shared = min(limit, common_tokens(first, last))
    shared -= shared % multiple_of
    alone = all(len(own) == 1 for own in unique)
    return () if alone or shared < _MIN_PREFIX_TOKENS else first[:shared]
