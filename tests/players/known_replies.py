"""Language models that reply, token by token, what a test wants them to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from coplay.games.records import Request
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import encode, load_model
from coplay.models.sampling import Generated
from coplay.models.scoring import Scorer
from coplay.players.text_model import TextModel


def talking_model(name: str = "tiny-talk") -> tuple[Any, Scorer]:
    """An embedded model with two adapters, none of which is zero."""
    loaded = load_model(name, device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("self", 0), SlotName("past", 0)], rank=2, alpha=32.0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, b in bank.weights.values():
            b.copy_(torch.randn(b.shape, generator=generator) * 0.3)
    return loaded, Scorer(loaded.model, bank)


class Says:
    """A generator of replies that are known already, a token at a time."""

    def __init__(self, model: TextModel, texts: Sequence[str]) -> None:
        self.scorer, self.stop = model.generator.scorer, model.stop
        self._tokens = [encode(model.loaded.tokenizer, text) for text in texts]

    def generate(
        self, slots: object, prompts: object, draws_RL: torch.Tensor, *, temperature: float, complete: Any
    ) -> Iterator[Generated]:
        for row, tokens in enumerate(self._tokens):
            said: list[int] = []
            for token in tokens[: draws_RL.shape[1]]:
                said.append(token)
                if token in self.stop or (complete is not None and complete(row, said)):
                    break
            yield Generated(tuple(said), (-1.0,) * len(said))


def said(model: TextModel, request: Request, *texts: str) -> list[tuple[str, Any]]:
    """What is left of these replies to a request, and the actions."""
    model.generator = Says(model, texts)  # type: ignore[assignment]
    return [(reply.text, reply.action) for reply in model.act([request] * len(texts))]
