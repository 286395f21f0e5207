"""What passes through a model take in memory at most, measured on its outline by the code that makes them; see memory_meter."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.models.bank import AdapterBank
from coplay.models.generation import Generator
from coplay.models.memory_meter import MemoryMeter, fused_attention
from coplay.models.outline import Outline
from coplay.models.scoring import Engine, Prompt, Scorer

FEW = 16
"""Tokens with which the keys and values of one token are measured."""


@dataclass(frozen=True)
class Rows:
    """What goes through a model at a time."""

    rows: int
    """Different rows of each slot."""
    prompt: int
    """Tokens of each row's prompt."""
    shared: int
    """Tokens that all prompts begin with."""
    reply: int
    """Tokens of each row's reply."""
    slots: int = 1
    """Slots whose rows go through together."""

    def prompts(self, room: int = 0) -> list[Prompt]:
        """Prompts of that form, that differ behind what is shared."""
        shared = min(self.shared, self.prompt - 1)
        return [(1,) * shared + (2 + row,) + (1,) * (self.prompt - shared - 1) for row in range(self.rows)]


class MeasuredPasses:
    """See the module.

    Args:
        outline: the model.
        bank: its adapters, on the device ``meta`` too.
        recomputes: whether layers are computed again in the backward pass.
    """

    def __init__(self, outline: Outline, bank: AdapterBank, *, recomputes: bool) -> None:
        self.outline, self.bank = outline, bank
        self.scorer = Scorer(outline.model, bank)
        self.scorer.shares_passes = self.scorer.packed is None or outline.device != "cpu"
        if recomputes:
            self.scorer.recompute_layers()
        self._generator = Generator(self.scorer, stop=())

    @property
    def engine(self) -> Engine:
        """What computes the model, by its structure."""
        return self.scorer.engine

    def training(self, rows: Rows, *, text: bool, critic: bool) -> int:
        """Bytes of a training pass and its backward pass, the adapters' gradients included.

        Args:
            rows: the replies that are scored.
            text: whether replies are scored token by token; else as one token after the prompt.
            critic: whether a value head reads the hidden states at the ends of prompts.
        """
        prompts = [prompt for _ in range(rows.slots) for prompt in rows.prompts()]
        slots = [slot for slot in range(rows.slots) for _ in range(rows.rows)]

        def learn() -> None:
            parts: list[Tensor] = []
            if text:
                found = self._generator.score(slots, prompts, [(1,) * rows.reply] * len(prompts), grad=True)
                parts += [found.logprobs_N.sum(), found.entropies_N.sum()]
            if critic or not text:
                scores = self.scorer.score(slots, prompts, grad=True)
                parts.append(scores.hidden_RH.sum())
                if not text:
                    parts.append(torch.log_softmax(scores.logits_RV, dim=-1)[:, 0].sum())
            torch.stack(parts).sum().backward()  # type: ignore[no-untyped-call]

        try:
            return self._peak(learn)
        finally:
            for parameter in self.bank.parameters():
                parameter.grad = None

    def reading(self, rows: Rows) -> int:
        """Bytes of a pass without gradients at the end of which logits are taken."""
        prompts = [prompt for _ in range(rows.slots) for prompt in rows.prompts()]
        slots = [slot for slot in range(rows.slots) for _ in range(rows.rows)]
        return self._peak(lambda: self.scorer.score(slots, prompts))

    def prefill(self, rows: Rows) -> int:
        """Bytes of a pass without gradients that keeps keys and values of whole rows."""

        def read() -> object:
            ids_RL = torch.ones(rows.rows, rows.prompt, dtype=torch.long, device="meta")
            with torch.no_grad(), self.bank.route([0]):
                if self.scorer.packed is not None:
                    decoder = self.scorer.packed.decoder
                    return decoder.read_hidden(
                        decoder.embed(ids_RL.flatten()), [rows.prompt] * rows.rows, [None] * rows.rows
                    )
                if self.engine in (Engine.ROWS, Engine.TOKENS):
                    return self.scorer.final(input_ids=ids_RL, use_cache=False)
                from transformers import DynamicCache

                cache = DynamicCache()
                return self.scorer.final(input_ids=ids_RL, past_key_values=cache, use_cache=True), cache

        return self._peak(read)

    def cache_bytes(self) -> int:
        """Bytes of the keys and values of one token."""
        if self.engine in (Engine.ROWS, Engine.TOKENS):
            return 0
        with torch.no_grad(), self.bank.route([0]), self._watched() as meter:
            kept = self.scorer.decoder.encode_prefix(torch.ones(FEW, dtype=torch.long, device="meta"), 1)
            found = sum(one.nbytes for layer in kept for one in layer)
            del meter
        return found // FEW

    def _peak(self, run: Callable[[], object]) -> int:
        with self._watched() as meter:
            kept = run()
            del kept
        return meter.peak

    @contextlib.contextmanager
    def _watched(self) -> Iterator[MemoryMeter]:
        from torch.fx.experimental import _config

        model = self.outline.model
        # rows are alike, so what is chosen by a mask is all there is
        chosen = _config.patch(meta_nonzero_assume_all_nonzero=True)  # type: ignore[attr-defined]
        with (
            fused_attention(),
            chosen,
            MemoryMeter([*model.parameters(), *model.buffers(), *self.bank.parameters()]) as meter,
        ):
            yield meter
