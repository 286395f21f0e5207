"""A cache of final hidden states by prompt and beginning of a reply.

Players that see little of the past get the same prompts again in every round; their replies differ by chance alone. The next token's
distribution follows from the hidden state, so prompts and tokens that were read before need no forward pass.

Shapes: R prefixes, H hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coplay.models.scoring import Prompt

ReplyPrefix = tuple[Prompt, tuple[int, ...]]
"""A prompt, and the tokens of the reply so far."""

_MOST_BYTES = 2**26
"""Bytes of all hidden states; before they are more, the cache is cleared."""


class HiddenCache:
    """Final hidden states of one model under one slot, by what was read."""

    def __init__(self) -> None:
        self._hidden: dict[ReplyPrefix, Tensor] = {}

    def __contains__(self, prefix: ReplyPrefix) -> bool:
        return prefix in self._hidden

    def hidden(self, prefixes: Sequence[ReplyPrefix]) -> Tensor:
        """The final hidden states behind these, [R, H]; all must be in the cache."""
        return torch.stack([self._hidden[prefix] for prefix in prefixes])

    def keep(self, prefix: ReplyPrefix, hidden_H: Tensor) -> None:
        """Add the hidden state [H] behind this prefix."""
        if (len(self._hidden) + 1) * hidden_H.nbytes > _MOST_BYTES:
            self._hidden.clear()
        self._hidden[prefix] = hidden_H.clone()
