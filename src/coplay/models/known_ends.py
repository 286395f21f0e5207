"""What a model thinks behind prompts and beginnings of replies that it has read before.

Players that see little of the past are asked the same again in every round; their replies differ by chance alone. Of each beginning the final
hidden state is kept, of which the next token's distribution is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coplay.models.scoring import Prompt

End = tuple[Prompt, tuple[int, ...]]
"""A prompt, and the tokens of the reply so far."""

_MOST_BYTES = 2**26
"""Of all hidden states; when they are more, all are forgotten."""


class KnownEnds:
    """Final hidden states of one model under one slot, by what was read."""

    def __init__(self) -> None:
        self._hidden: dict[End, Tensor] = {}

    def __contains__(self, end: End) -> bool:
        return end in self._hidden

    def hidden(self, ends: Sequence[End]) -> Tensor:
        """The final hidden states behind these, [R, H]; they must be known."""
        return torch.stack([self._hidden[end] for end in ends])

    def keep(self, end: End, hidden_H: Tensor) -> None:
        """Know an end from now on."""
        if (len(self._hidden) + 1) * hidden_H.nbytes > _MOST_BYTES:
            self._hidden.clear()
        self._hidden[end] = hidden_H.clone()
