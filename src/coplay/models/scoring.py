"""Scoring: next-token logits at the end of many prompts, without computing the same thing twice.

Identical (slot, prompt) pairs are scored once. The prefix that all prompts of a batch share (the rules of the game) is encoded once
per slot, and outside training it is kept until the slot's weights change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coplay.errors import UsageError
from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.decoder import Layers, decoder_for, rows_of

Prompt = tuple[int, ...]
"""A prompt as token ids."""

_SHORTEST_PREFIX = 8
"""Shared prefixes of fewer tokens are not worth a forward pass of their own."""

_TOKENS_A_PASS = 4_096
"""Without gradients, batches are cut so that one pass holds at most about this many tokens: more would not fit the caches."""

_PREFIXES_KEPT = 8
"""How many encoded prefixes are kept at a time."""


@dataclass(frozen=True)
class Scores:
    """What the model says at the end of each prompt."""

    logits_RV: Tensor
    """Next-token logits, float32."""
    hidden_RH: Tensor
    """The last hidden state, float32, from which value heads make their estimates."""


class Scorer:
    """Scores prompts under the slots of a bank.

    Args:
        model: the Hugging Face causal language model whose layers the bank has wrapped.
        bank: the adapters.

    Raises:
        UsageError: if the architecture computes its logits in a way that this class does not reproduce.
    """

    def __init__(self, model: Any, bank: AdapterBank) -> None:
        self.model, self.bank = model, bank
        self.decoder = decoder_for(model)
        self.head: Any = model.get_output_embeddings()
        self.softcap: float | None = getattr(model.config, "final_logit_softcapping", None)
        self._kept: dict[tuple[tuple[int, ...], Prompt], tuple[tuple[int, ...], Layers]] = {}
        self._check_logits()

    def score(self, slots: Sequence[int], prompts: Sequence[Prompt], *, grad: bool = False) -> Scores:
        """Score row by row.

        Args:
            slots: the slot of each row; :data:`~coplay.models.bank.REFERENCE` for the base model.
            prompts: the prompt of each row.
            grad: whether gradients are to flow into the slots' adapters.

        Returns:
            One row of scores for each (slot, prompt), in order.
        """
        place: dict[tuple[int, Prompt], int] = {}
        rows = [place.setdefault(pair, len(place)) for pair in zip(slots, prompts, strict=True)]
        unique = list(place)
        with torch.set_grad_enabled(grad):
            scores = self._score_unique(unique, grad=grad)
            if len(rows) == len(unique):
                return scores
            index_R = torch.tensor(rows, device=self.bank.device)
            return Scores(scores.logits_RV.index_select(0, index_R), scores.hidden_RH.index_select(0, index_R))

    def _score_unique(self, pairs: Sequence[tuple[int, Prompt]], *, grad: bool) -> Scores:
        order = sorted({slot for slot, _ in pairs})
        shared = _shared_prefix([prompt for _, prompt in pairs])
        layers: Layers | None = None
        if shared >= _SHORTEST_PREFIX and len(pairs) > len(order):
            prefix = pairs[0][1][:shared]
            layers = self._encode(order, prefix) if grad else self._kept_encoding(order, prefix)
        else:
            shared = 0
        longest = max(len(prompt) for _, prompt in pairs) - shared
        size = len(pairs) if grad else max(1, _TOKENS_A_PASS // longest)
        parts = [self._suffixes(pairs[i : i + size], order, shared, layers) for i in range(0, len(pairs), size)]
        if len(parts) == 1:
            return parts[0]
        return Scores(torch.cat([p.logits_RV for p in parts]), torch.cat([p.hidden_RH for p in parts]))

    def _encode(self, order: Sequence[int], prefix: Prompt) -> Layers:
        """Encode a prefix under each slot of ``order``."""
        ids_PL = torch.tensor([prefix], device=self.bank.device).expand(len(order), -1)
        with self.bank.route(order):
            return self.decoder.encode(ids_PL)

    def _kept_encoding(self, order: Sequence[int], prefix: Prompt) -> Layers:
        """The same, from memory if no slot has changed since."""
        key = (tuple(order), prefix)
        versions = tuple(0 if slot == REFERENCE else self.bank.versions[slot] for slot in order)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == versions:
            return kept[1]
        layers = self._encode(order, prefix)
        while len(self._kept) >= _PREFIXES_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (versions, layers)
        return layers

    def _suffixes(
        self, pairs: Sequence[tuple[int, Prompt]], order: Sequence[int], shared: int, layers: Layers | None
    ) -> Scores:
        """Run what follows the prefix."""
        device = self.bank.device
        slots = [slot for slot, _ in pairs]
        suffixes = [prompt[shared:] for _, prompt in pairs]
        lengths = [len(suffix) for suffix in suffixes]
        width = max(lengths)
        ids_RL = torch.tensor([suffix + (0,) * (width - len(suffix)) for suffix in suffixes], device=device)
        last_R = torch.tensor(lengths, device=device) - 1
        with self.bank.route(slots):
            hidden_RH = self.decoder.last_hidden(ids_RL, last_R, layers, rows_of(order, slots, device))
        return Scores(self._logits(hidden_RH), hidden_RH.float())

    def _logits(self, hidden_RH: Tensor) -> Tensor:
        logits_RV: Tensor = self.head(hidden_RH).float()
        if self.softcap is not None:
            logits_RV = self.softcap * torch.tanh(logits_RV / self.softcap)
        return logits_RV

    def _check_logits(self) -> None:
        """Our way to the logits must be the model's own."""
        prompt = tuple(range(1, 13))
        ids_RL = torch.tensor([prompt], device=self.bank.device)
        with torch.no_grad():
            theirs_V = self.model(input_ids=ids_RL, use_cache=False).logits[0, -1].float()
        # two different prompts, so that the way through a shared prefix is taken
        ours_V = self.score([REFERENCE] * 2, [prompt, (*prompt[:-1], 13)]).logits_RV[0]
        if not torch.allclose(ours_V, theirs_V, rtol=2e-2, atol=2e-2):
            name = type(self.model).__name__
            raise UsageError(
                f"model: {name} computes its logits in a way coplay does not know; use another model family"
            )


def base_scorer(model: Any) -> Scorer:
    """A scorer of a model as it is, for the slot :data:`~coplay.models.bank.REFERENCE`: no adapters, so any architecture's layers do."""
    return Scorer(model, AdapterBank(model, [], rank=1, alpha=1.0, targets=()))


def _shared_prefix(prompts: Sequence[Prompt]) -> int:
    """Length of the prefix all prompts share, short of the shortest prompt's last token."""
    first, last = min(prompts), max(prompts)  # the lexicographic extremes differ earliest
    limit = min(len(prompt) for prompt in prompts) - 1
    shared = 0
    while shared < limit and first[shared] == last[shared]:
        shared += 1
    return shared
