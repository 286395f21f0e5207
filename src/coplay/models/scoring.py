"""Scoring: next-token logits at the end of many prompts, without computing the same thing twice.

Identical (slot, prompt) pairs are scored once. The prefix that all prompts of a batch share (the rules of the game) is encoded once
per slot, and outside training it is kept until the slot's weights change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coplay.errors import UsageError
from coplay.models.bank import REFERENCE, AdapterBank
from coplay.models.decoder import Before, Decoder, HubDecoder, Layers
from coplay.models.lean import LeanDecoder

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
        self.decoder: Decoder = LeanDecoder(model, bank) if LeanDecoder.fits(model) else HubDecoder(model)
        self.head: Any = model.get_output_embeddings()
        self.softcap: float | None = getattr(model.config, "final_logit_softcapping", None)
        self._kept: dict[tuple[tuple[tuple[int, int], ...], Prompt], Layers] = {}
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
        place_of: dict[int, dict[Prompt, int]] = {}
        for slot, prompt in zip(slots, prompts, strict=True):
            own = place_of.setdefault(slot, {})
            own.setdefault(prompt, len(own))
        unique = {slot: list(place_of[slot]) for slot in sorted(place_of)}
        prefix = _shared_prefix(unique.values())
        width = self._width(unique, len(prefix), grad=grad)
        parts: list[Scores] = []
        first_row: list[dict[int, int]] = []  # of each slot, in each part
        size = 0
        with torch.set_grad_enabled(grad):
            for start in range(0, max(map(len, unique.values())), width):
                part = {slot: own[start : start + width] for slot, own in unique.items() if start < len(own)}
                parts.append(self._score_grid(part, prefix, grad=grad))
                wide = max(map(len, part.values()))
                first_row.append({slot: size + p * wide for p, slot in enumerate(part)})
                size += len(part) * wide
            scores = parts[0]
            if len(parts) > 1:
                scores = Scores(torch.cat([p.logits_RV for p in parts]), torch.cat([p.hidden_RH for p in parts]))
            places = ((slot, place_of[slot][prompt]) for slot, prompt in zip(slots, prompts, strict=True))
            rows = [first_row[place // width][slot] + place % width for slot, place in places]
            if rows == list(range(size)):
                return scores
            index_R = torch.tensor(rows, device=self.bank.device)
            return Scores(scores.logits_RV.index_select(0, index_R), scores.hidden_RH.index_select(0, index_R))

    def _width(self, unique: Mapping[int, Sequence[Prompt]], shared: int, *, grad: bool) -> int:
        """How many prompts of each slot go through the model in one pass."""
        if grad:
            return max(map(len, unique.values()))
        longest = max(len(prompt) for own in unique.values() for prompt in own) - shared
        return max(1, _TOKENS_A_PASS // (longest * len(unique)))

    def _score_grid(self, part: Mapping[int, Sequence[Prompt]], prefix: Prompt, *, grad: bool) -> Scores:
        """Score some prompts of each slot, a row for each place of a grid of slots by prompts; shorter slots are padded at the end."""
        device, wide = self.bank.device, max(map(len, part.values()))
        rows = [prompt[len(prefix) :] for own in part.values() for prompt in [*own, *[own[-1]] * (wide - len(own))]]
        longest = max(map(len, rows))
        ids_RL = torch.tensor([row + (0,) * (longest - len(row)) for row in rows], device=device)
        last_R = torch.tensor([len(row) - 1 for row in rows], device=device)
        with self.bank.route(tuple(part)):
            before = self._before(prefix, tuple(part), grad=grad)
            hidden_RH = self.decoder.last_hidden(ids_RL.view(len(part), wide, -1), last_R.view(-1, wide), before)
        return Scores(self._logits(hidden_RH), hidden_RH.float())

    def _before(self, prefix: Prompt, slots: tuple[int, ...], *, grad: bool) -> Before:
        """What the rows continue: the prefix's ids if gradients must flow through it, else its encoding, kept until a slot changes."""
        if not prefix:
            return None
        prefix_S = torch.tensor(prefix, device=self.bank.device)
        if grad:
            return prefix_S
        key = (self.bank.versions_of(slots), prefix)
        if key not in self._kept:
            while len(self._kept) >= _PREFIXES_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self.decoder.encode(prefix_S, len(slots))
        return self._kept[key]

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


def _shared_prefix(unique: Collection[Sequence[Prompt]]) -> Prompt:
    """What all prompts begin with, short of the shortest one's last token; empty if it is not worth a pass of its own."""
    first, last = min(map(min, unique)), max(map(max, unique))  # the lexicographic extremes differ earliest
    limit = min(len(prompt) for own in unique for prompt in own) - 1
    shared = 0
    while shared < limit and first[shared] == last[shared]:
        shared += 1
    alone = all(len(own) == 1 for own in unique)
    return () if alone or shared < _SHORTEST_PREFIX else first[:shared]
