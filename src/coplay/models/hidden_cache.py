"""A cache of final hidden states, and of next tokens' distributions, by prompt and beginning of a reply.

Players that see little of the past get the same prompts again in every round; their replies differ by chance alone. The next token's
distribution follows from the hidden state, so prompts and tokens that were read before need no forward pass. With a large vocabulary the product
that makes the distribution is dear too, so distributions are kept as well, but fewer: each has as many numbers as the vocabulary has tokens.

Shapes: R prefixes, H hidden width, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coplay.models.scoring import Prompt

ReplyPrefix = tuple[Prompt, tuple[int, ...]]
"""A prompt, and the tokens of the reply so far."""

_MOST_BYTES = 2**26
"""Bytes of all hidden states; before they are more, the cache is cleared."""


class HiddenCache:
    """Final hidden states of one model under one slot, by what was read.

    Args:
        most_bytes: of distributions; those that were not used for longest are dropped.
    """

    def __init__(self, *, most_bytes: int = _MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._hidden: dict[ReplyPrefix, Tensor] = {}
        self._logprobs: OrderedDict[tuple[ReplyPrefix, float], Tensor] = OrderedDict()

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

    def logprobs(self, prefixes: Sequence[ReplyPrefix], temperature: float, make: Callable[[Tensor], Tensor]) -> Tensor:
        """Log-probabilities of the next token behind these, [R, V]; all must be in the cache.

        Args:
            prefixes: different ones.
            temperature: that logits are divided by.
            make: from hidden states [M, H] to log-probabilities [M, V] at this temperature.
        """
        keys = [(prefix, temperature) for prefix in prefixes]
        found = {key: self._logprobs[key] for key in keys if key in self._logprobs}
        missing = [key for key in keys if key not in found]
        if missing:
            made_MV = make(self.hidden([prefix for prefix, _ in missing]))
            found |= {key: own_V.clone() for key, own_V in zip(missing, made_MV, strict=True)}
        for key in keys:
            self._logprobs[key] = found[key]
            self._logprobs.move_to_end(key)
        logprobs_RV = torch.stack([found[key] for key in keys])
        while len(self._logprobs) * found[keys[0]].nbytes > self.most_bytes:
            self._logprobs.popitem(last=False)
        return logprobs_RV
