"""Replies of many tokens: sampled row by row under each row's own adapter, and scored again exactly as they were sampled.

Tokens in, tokens out: what was sampled is what is scored, nothing is turned into text and back in between. Each row takes its chance from
numbers of its own, so a reply does not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from coplay.models.scoring import Prompt, Scorer

_ENTRIES_A_CHUNK = 2**24
"""Log-softmax is taken over about so many logits at a time, and not kept for the backward pass: 256,000 words would not fit otherwise."""


@dataclass(frozen=True)
class Generated:
    """One reply."""

    tokens: tuple[int, ...]
    """Token ids, the one that ended it included."""
    logprobs: tuple[float, ...]
    """Natural log of the probability each was sampled with."""
    ended: bool
    """Whether it ended by itself; False if it was cut off."""


class Generator:
    """Samples replies from a bank's slots.

    Args:
        scorer: the model and its bank.
        stop: token ids that end a reply.
    """

    def __init__(self, scorer: Scorer, *, stop: Collection[int]) -> None:
        self.scorer, self.stop = scorer, frozenset(stop)

    @torch.no_grad()
    def generate(
        self, slots: Sequence[int], prompts: Sequence[Prompt], draws_RL: Tensor, *, temperature: float = 1.0
    ) -> list[Generated]:
        """Sample a reply to each prompt.

        Args:
            slots: the slot of each row; :data:`~coplay.models.bank.REFERENCE` for the base model.
            prompts: token ids of each row, one at least.
            draws_RL: uniform numbers in [0, 1), [R, L]: row i's token l is the one whose share of the cumulative distribution holds
                ``draws_RL[i, l]``. L is the most tokens a reply may have.
            temperature: logits are divided by it; log-probabilities are those of what was sampled from.

        Returns:
            One reply a row, in order.
        """
        order = sorted(range(len(prompts)), key=lambda row: slots[row])  # rows of a slot beside each other
        batch = _Batch(self.scorer, [slots[row] for row in order], [prompts[row] for row in order])
        tokens: dict[int, list[int]] = {row: [] for row in order}
        logprobs: dict[int, list[float]] = {row: [] for row in order}
        going = list(order)
        for position in range(draws_RL.shape[1]):
            logprobs_RV = torch.log_softmax(batch.logits() / temperature, dim=-1)
            chosen_R = _inverse_cdf(logprobs_RV, draws_RL[going, position].to(logprobs_RV.device))
            values = logprobs_RV.gather(1, chosen_R[:, None])[:, 0].tolist()
            for row, token, value in zip(going, chosen_R.tolist(), values, strict=True):
                tokens[row].append(token)
                logprobs[row].append(value)
            left = [i for i, row in enumerate(going) if tokens[row][-1] not in self.stop]
            if not left or position + 1 == draws_RL.shape[1]:
                break
            batch.go_on(chosen_R, left)
            going = [going[i] for i in left]
        return [
            Generated(tuple(tokens[row]), tuple(logprobs[row]), bool(tokens[row]) and tokens[row][-1] in self.stop)
            for row in range(len(prompts))
        ]

    def score(
        self,
        slots: Sequence[int],
        prompts: Sequence[Prompt],
        replies: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        grad: bool = False,
    ) -> TokenScores:
        """Score replies token by token, each given the prompt and the tokens before it.

        Args:
            slots: the slot of each row.
            prompts: token ids of each row.
            replies: token ids of each row's reply, as they were sampled.
            temperature: that they were sampled at.
            grad: whether gradients are to flow into the slots' adapters.

        Returns:
            Log-probabilities and entropies of all tokens of all replies, one row after the other.
        """
        order = sorted(range(len(prompts)), key=lambda row: slots[row])
        rows = [(*prompts[row], *replies[row]) for row in order]
        longest = max(map(len, rows))
        device = self.scorer.bank.device
        ids_RL = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)
        # causal attention never sees the padding at the right
        with torch.set_grad_enabled(grad), self.scorer.bank.route(_groups([slots[row] for row in order])):
            hidden_RLH = self.scorer.model.get_decoder()(input_ids=ids_RL, use_cache=False).last_hidden_state
        row_of = {row: i for i, row in enumerate(order)}
        at = [
            (row_of[row], len(prompts[row]) - 1 + i, token, row)
            for row in range(len(prompts))
            for i, token in enumerate(replies[row])
        ]
        rows_N, places_N, tokens_N, owners_N = (
            torch.tensor(column, dtype=torch.long, device=device)
            for column in (zip(*at, strict=True) if at else [()] * 4)
        )
        with torch.set_grad_enabled(grad):
            logprobs_N, entropies_N = self._of_tokens(hidden_RLH[rows_N, places_N], tokens_N, temperature)
        return TokenScores(logprobs_N, entropies_N, owners_N)

    def _of_tokens(self, hidden_NH: Tensor, tokens_N: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of each token, a chunk at a time."""

        def of_chunk(hidden_CH: Tensor, tokens_C: Tensor) -> tuple[Tensor, Tensor]:
            logprobs_CV = torch.log_softmax(self.scorer.logits(hidden_CH) / temperature, dim=-1)
            entropies_C = -(logprobs_CV.exp() * logprobs_CV).sum(-1)
            return logprobs_CV.gather(1, tokens_C[:, None])[:, 0], entropies_C

        size = max(1, _ENTRIES_A_CHUNK // int(self.scorer.head.weight.shape[0]))
        parts: list[tuple[Tensor, Tensor]] = []
        for start in range(0, max(1, len(tokens_N)), size):
            chunk = hidden_NH[start : start + size], tokens_N[start : start + size]
            if torch.is_grad_enabled():
                parts.append(checkpoint(of_chunk, *chunk, use_reentrant=False))
            else:
                parts.append(of_chunk(*chunk))
        logprobs_N, entropies_N = (torch.cat(part) for part in zip(*parts, strict=True))
        return logprobs_N, entropies_N


@dataclass(frozen=True)
class TokenScores:
    """What a model says of replies' tokens; N tokens of all rows, one row after the other."""

    logprobs_N: Tensor
    """Natural log of each token's probability."""
    entropies_N: Tensor
    """Entropy of the distribution each was taken from, in nats."""
    rows_N: Tensor
    """The row each belongs to."""


class _Batch:
    """Rows on their way through a model, with the keys and values of what they have read. Padded at the left, so all end together."""

    def __init__(self, scorer: Scorer, slots: Sequence[int], prompts: Sequence[Prompt]) -> None:
        from transformers import DynamicCache

        self.scorer, self.slots = scorer, list(slots)
        self.cache: Any = DynamicCache()  # not told the config: layers with a sliding window would forget the beginning
        longest, device = max(map(len, prompts)), scorer.bank.device
        ids_RL = torch.tensor([[*[0] * (longest - len(prompt)), *prompt] for prompt in prompts], device=device)
        lengths_R1 = torch.tensor([[len(prompt)] for prompt in prompts], device=device)
        self.seen_RL = torch.arange(longest, device=device) >= longest - lengths_R1
        self._read(ids_RL, (self.seen_RL.cumsum(1) - 1).clamp(min=0))

    def logits(self) -> Tensor:
        """Of the next token of each row."""
        return self.scorer.logits(self.hidden_RH)

    def go_on(self, tokens_R: Tensor, left: Sequence[int]) -> None:
        """Read one more token in each of the rows that are left; the others are dropped."""
        if len(left) < len(self.slots):
            left_R = torch.tensor(left, device=tokens_R.device)
            self.slots = [self.slots[i] for i in left]
            self.cache.batch_select_indices(left_R)
            self.seen_RL, tokens_R = self.seen_RL[left_R], tokens_R[left_R]
        self.seen_RL = torch.cat([self.seen_RL, torch.ones_like(self.seen_RL[:, :1])], dim=1)
        self._read(tokens_R[:, None], self.seen_RL.sum(1, keepdim=True) - 1)

    def _read(self, ids_RL: Tensor, positions_RL: Tensor) -> None:
        with self.scorer.bank.route(_groups(self.slots)):
            output = self.scorer.model.get_decoder()(
                input_ids=ids_RL,
                attention_mask=self.seen_RL.long(),
                position_ids=positions_RL,
                past_key_values=self.cache,
                use_cache=True,
            )
        self.hidden_RH = output.last_hidden_state[:, -1]


def _groups(slots: Sequence[int]) -> list[int]:
    """Sorted rows' slots as the bank wants them: one an equal group of rows if there are such, else one a row."""
    distinct = list(dict.fromkeys(slots))
    return distinct if all(slots.count(slot) * len(distinct) == len(slots) for slot in distinct) else list(slots)


def _inverse_cdf(logprobs_RV: Tensor, draws_R: Tensor) -> Tensor:
    """The token whose share of the cumulative distribution holds each draw; float64, so that no token's share is lost to rounding."""
    cumulative_RV = logprobs_RV.double().exp().cumsum(-1)
    threshold_R1 = draws_R.double()[:, None] * cumulative_RV[:, -1:]  # the sum is 1 but for rounding
    return torch.searchsorted(cumulative_RV, threshold_R1, right=True)[:, 0].clamp(max=logprobs_RV.shape[1] - 1)
