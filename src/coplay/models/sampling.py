"""Replies on their way: each row takes its tokens by chance of its own, whatever the rows beside it, until it ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.models.scoring import Scorer

_LOGITS_PER_CHUNK = 2**24
"""Log-softmax is taken over about so many logits at a time; of more, none are kept for the backward pass."""

Complete = Callable[[int, Sequence[int]], bool]
"""Whether the reply of a row is complete with these tokens; asked about each token that does not end the reply by itself."""


@dataclass(frozen=True)
class Generated:
    """One reply."""

    tokens: tuple[int, ...]
    """Token ids, the one that ended it included."""
    logprobs: tuple[float, ...]
    """Natural log of the probability each was sampled with."""


def rows_per_chunk(scorer: Scorer) -> int:
    """Hidden states whose logits are computed at a time."""
    return max(1, _LOGITS_PER_CHUNK // int(scorer.head.weight.shape[0]))


class Sampling:
    """The replies to so many prompts, token by token.

    Args:
        draws_RL: uniform numbers in [0, 1), [R, L]; see :meth:`coplay.models.generation.Generator.generate`.
        scorer: its head makes logits of hidden states.
        stop: token ids that end a reply.
        temperature: logits are divided by it.
        complete: ends a reply at other tokens.
    """

    def __init__(
        self, draws_RL: Tensor, scorer: Scorer, *, stop: Collection[int], temperature: float, complete: Complete | None
    ) -> None:
        self.draws_RL, self.scorer, self.stop = draws_RL, scorer, stop
        self.temperature, self.complete = temperature, complete
        self.tokens: list[list[int]] = [[] for _ in draws_RL]
        """The tokens so far of each row."""
        self._logprobs: list[list[float]] = [[] for _ in draws_RL]

    def step(
        self,
        rows: Sequence[int],
        hidden_NH: Tensor,
        nodes: Sequence[int],
        logprobs_of: Callable[[slice], Tensor] | None = None,
    ) -> list[int]:
        """Take a token for each of these rows.

        Args:
            rows: they have equally many tokens so far.
            hidden_NH: the different final hidden states that tokens are taken from.
            nodes: for each row, which of them is its own.
            logprobs_of: the log-probabilities of the next token behind some of the states; by default they are computed.

        Returns:
            The rows whose replies go on.
        """
        position = len(self.tokens[rows[0]])
        nodes_R = torch.tensor(nodes, device=hidden_NH.device)
        draws_R = self.draws_RL[list(rows), position].to(hidden_NH.device)
        chosen_R, values_R = self._next_tokens(
            hidden_NH, nodes_R, draws_R, logprobs_of or (lambda chunk: self.logprobs(hidden_NH[chunk]))
        )
        for row, token, value in zip(rows, chosen_R.tolist(), values_R.tolist(), strict=True):
            self.tokens[row].append(token)
            self._logprobs[row].append(value)
        if position + 1 == self.draws_RL.shape[1]:
            return []
        return [row for row in rows if self._goes_on(row)]

    def _goes_on(self, row: int) -> bool:
        tokens = self.tokens[row]
        if tokens[-1] in self.stop or not math.isfinite(self._logprobs[row][-1]):
            return False
        return self.complete is None or not self.complete(row, tokens)

    def replies(self) -> list[Generated]:
        """All replies, as far as they are."""
        return [
            Generated(tuple(tokens), tuple(logprobs))
            for tokens, logprobs in zip(self.tokens, self._logprobs, strict=True)
        ]

    def logprobs(self, hidden_CH: Tensor) -> Tensor:
        """Log-probabilities of the next token at this temperature, [C, V]."""
        return torch.log_softmax(self.scorer.logits(hidden_CH) / self.temperature, dim=-1)

    def _next_tokens(
        self, hidden_NH: Tensor, nodes_R: Tensor, draws_R: Tensor, logprobs_of: Callable[[slice], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """A token for each draw from its node's distribution, and its log-probability; a chunk of nodes at a time."""
        chosen_R, values_R = torch.empty_like(nodes_R), hidden_NH.new_empty(len(nodes_R), dtype=torch.float32)
        size = rows_per_chunk(self.scorer)
        for start in range(0, len(hidden_NH), size):
            logprobs_CV = logprobs_of(slice(start, start + size))
            own_R = (nodes_R >= start) & (nodes_R < start + len(logprobs_CV))
            found_R, taken_R = _sampled(logprobs_CV, nodes_R[own_R] - start, draws_R[own_R])
            chosen_R[own_R], values_R[own_R] = found_R, taken_R.float()
        return chosen_R, values_R


def _sampled(logprobs_NV: Tensor, nodes_R: Tensor, draws_R: Tensor) -> tuple[Tensor, Tensor]:
    """A token for each draw, and its log-probability: the one whose share of its node's cumulative distribution holds the draw.

    In float64, so that no token's share is lost to rounding.
    """
    cumulative_NV = logprobs_NV.double().exp().cumsum(-1)
    thresholds_R = draws_R.double() * cumulative_NV[nodes_R, -1]  # the sum is 1 but for rounding
    # one search a node: the draws of a node side by side
    order_R = torch.argsort(nodes_R, stable=True)
    counts_N = torch.bincount(nodes_R, minlength=len(logprobs_NV))
    column_R = torch.arange(len(nodes_R), device=nodes_R.device) - (counts_N.cumsum(0) - counts_N)[nodes_R[order_R]]
    grid_NK = thresholds_R.new_zeros(len(logprobs_NV), int(counts_N.max()))
    grid_NK[nodes_R[order_R], column_R] = thresholds_R[order_R]
    found_NK = torch.searchsorted(cumulative_NV, grid_NK, right=True).clamp(max=logprobs_NV.shape[1] - 1)
    chosen_R = torch.empty_like(nodes_R)
    chosen_R[order_R] = found_NK[nodes_R[order_R], column_R]
    return chosen_R, logprobs_NV[nodes_R, chosen_R]
