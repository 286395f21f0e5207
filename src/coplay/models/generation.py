"""Replies of many tokens: sampled row by row under each row's own adapter, and scored again exactly as they were sampled.

Tokens in, tokens out: what was sampled is what is scored, nothing is turned into text and back in between. Each row takes its chance from
numbers of its own, so a reply does not depend on the rows beside it.

Nothing is computed twice: rows with the same slot and the same tokens so far are one row of the batch, until they say different things.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Protocol, TypeVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from coplay.models.decoder import RowsDecoder, route_groups
from coplay.models.fused_batch import FusedBatch
from coplay.models.fused_llama import FusedLlama
from coplay.models.large_head import Reading, is_large, token_scores
from coplay.models.sampling import Complete, Generated, Sampling, rows_per_chunk
from coplay.models.scoring import LogitsOf, Prompt, Scorer

_TOKENS_PER_PASS = 65_536
"""Without gradients, so many tokens of replies and their prompts are scored in a pass, about: more would only take memory."""


class Batch(Protocol):
    """Rows on their way through a model."""

    @property
    def hidden(self) -> Tensor:
        """Final hidden states from which each row's next token is taken, [R, H]."""

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Read one more token behind each of these rows, some of them perhaps several times; the others are dropped."""


class Generator:
    """Samples replies from a bank's slots.

    Args:
        scorer: the model and its bank.
        stop: token ids that end a reply.
    """

    def __init__(self, scorer: Scorer, *, stop: Collection[int]) -> None:
        self.scorer, self.stop = scorer, frozenset(stop)

    def clear(self) -> None:
        """Forget what was read; here nothing is kept."""

    @property
    def choices(self) -> LogitsOf:
        """What scores the ends of prompts where a choice among a few replies is made."""
        return self.scorer

    @torch.no_grad()
    def generate(
        self,
        slots: Sequence[int],
        prompts: Sequence[Prompt],
        draws_RL: Tensor,
        *,
        temperature: float = 1.0,
        complete: Complete | None = None,
    ) -> list[Generated]:
        """Sample a reply to each prompt.

        Args:
            slots: the slot of each row; :data:`~coplay.models.bank.REFERENCE` for the base model.
            prompts: token ids of each row, one at least.
            draws_RL: uniform numbers in [0, 1), [R, L]: row i's token l is the one whose share of the cumulative distribution holds
                ``draws_RL[i, l]``. L is the most tokens a reply may have.
            temperature: logits are divided by it; log-probabilities are those of what was sampled from.
            complete: ends a reply at a token that is no stop token; no token is added, and those before it are what they would be without.

        Returns:
            One reply a row, in order. A reply whose distribution is not finite ends there, with a log-probability that is not finite.
        """
        self.scorer.check_length(max(map(len, prompts), default=0) + draws_RL.shape[1])
        asked, node_of = _distinct(list(zip(slots, map(tuple, prompts), strict=True)))
        batch = self._prefill([slot for slot, _ in asked], [prompt for _, prompt in asked])
        sampling = self._sampling(draws_RL, temperature, complete)
        going = list(range(len(prompts)))
        while True:
            nodes = [node_of[row] for row in going]
            self._computed(prompts, sampling, dict(zip(nodes, going, strict=True)), batch.hidden)
            going = sampling.step(going, batch.hidden, nodes)
            if not going:
                return sampling.replies()
            new, place_of = _distinct([(node_of[row], sampling.tokens[row][-1]) for row in going])
            batch.extend([node for node, _ in new], [token for _, token in new])
            node_of = {row: place_of[i] for i, row in enumerate(going)}

    def _sampling(self, draws_RL: Tensor, temperature: float, complete: Complete | None) -> Sampling:
        return Sampling(draws_RL, self.scorer, stop=self.stop, temperature=temperature, complete=complete)

    def _computed(
        self, prompts: Sequence[Prompt], sampling: Sampling, row_of: Mapping[int, int], hidden_NH: Tensor
    ) -> None:
        """Called with every new final hidden state [N, H] and a row that it belongs to, by state; a hook for caches, which does nothing here."""

    def _prefill(self, slots: Sequence[int], prompts: Sequence[Prompt]) -> Batch:
        decoder = self.scorer.decoder
        if isinstance(decoder, FusedLlama):
            return FusedBatch(decoder, self.scorer.bank, slots, prompts)
        if isinstance(decoder, RowsDecoder):
            return _WholeRows(decoder, slots, prompts)
        return _CachedRows(self.scorer, slots, prompts)

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
        whole = list(zip(slots, map(tuple, prompts), map(tuple, replies), strict=True))
        distinct, place_of = _distinct(whole)
        device = self.scorer.bank.device
        with torch.set_grad_enabled(grad):
            hidden_MH = torch.cat(
                [
                    self._hidden(slot, some)
                    for slot, own in groupby(distinct, key=itemgetter(0))
                    for some in _in_passes([(prompt, reply) for _, prompt, reply in own], grad=grad)
                ]
            )
            reply_tokens = [token for _, _, reply in distinct for token in reply]
            tokens_M = torch.tensor(reply_tokens, dtype=torch.long, device=device)
            logprobs_M, entropies_M = self._of_tokens(hidden_MH, tokens_M, temperature)
        # from the distinct rows' tokens back to those of all rows, one row after the other
        starts = list(accumulate((len(reply) for _, _, reply in distinct), initial=0))
        back = [(starts[place_of[row]] + i, row) for row, reply in enumerate(replies) for i in range(len(reply))]
        back_N, owners_N = (
            torch.tensor(column, dtype=torch.long, device=device)
            for column in (zip(*back, strict=True) if back else [()] * 2)
        )
        return TokenScores(logprobs_M[back_N], entropies_M[back_N], owners_N)

    @torch.no_grad()
    def agreement(
        self, slot: int, prompts: Sequence[Prompt], replies: Sequence[Sequence[int]]
    ) -> tuple[Tensor, Tensor]:
        """What a slot says of replies that were written before, each token given the prompt and the tokens before it.

        Args:
            slot: the slot.
            prompts: token ids of each row.
            replies: token ids of each row's reply.

        Returns:
            For all tokens of all replies, one row after the other: the natural log of its probability, and whether it is the likeliest there.
        """
        hidden_NH = self._hidden(slot, list(zip(map(tuple, prompts), map(tuple, replies), strict=True)))
        tokens_N = torch.tensor([token for reply in replies for token in reply], device=hidden_NH.device)
        logprobs, likeliest = [], []
        for start in range(0, len(tokens_N), rows_per_chunk(self.scorer)):
            chunk = slice(start, start + rows_per_chunk(self.scorer))
            logprobs_CV = torch.log_softmax(self.scorer.logits(hidden_NH[chunk]), dim=-1)
            logprobs.append(logprobs_CV.gather(1, tokens_N[chunk, None])[:, 0])
            likeliest.append(logprobs_CV.argmax(-1) == tokens_N[chunk])
        return torch.cat(logprobs), torch.cat(likeliest)

    def _hidden(self, slot: int, rows: Sequence[tuple[Prompt, Prompt]]) -> Tensor:
        """Hidden states from which the tokens of replies were taken, one reply after the other, [M, H]; all under one slot."""
        device, longest = self.scorer.bank.device, max(len(reply) for _, reply in rows)
        whole = [(*prompt, *reply) for prompt, reply in rows]
        if self.scorer.packed is not None:
            places = [range(len(prompt) - 1, len(prompt) + len(reply) - 1) for prompt, reply in rows]
            return self.scorer.packed.hidden_at(slot, whole, places)
        wide = max(map(len, whole))
        # causal attention never sees the padding at the right
        ids_NL = torch.tensor([[*row, *[0] * (wide - len(row))] for row in whole], device=device)
        starts_N1 = torch.tensor([[len(prompt) - 1] for prompt, _ in rows], device=device)
        lengths_N1 = torch.tensor([[len(reply)] for _, reply in rows], device=device)
        steps_E = torch.arange(max(longest, 1), device=device)
        with self.scorer.bank.route([slot]):
            hidden_NEH = self.scorer.decoder.hidden_at(ids_NL, (starts_N1 + steps_E).clamp(max=wide - 1))
        return hidden_NEH[steps_E < lengths_N1]

    def _of_tokens(self, hidden_NH: Tensor, tokens_N: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of each token, a chunk at a time."""

        def of_chunk(hidden_CH: Tensor, tokens_C: Tensor) -> tuple[Tensor, Tensor]:
            logprobs_CV = torch.log_softmax(self.scorer.logits(hidden_CH) / temperature, dim=-1)
            entropies_C = -(logprobs_CV.exp() * logprobs_CV).sum(-1)
            return logprobs_CV.gather(1, tokens_C[:, None])[:, 0], entropies_C

        size, scorer = rows_per_chunk(self.scorer), self.scorer
        rule = scorer.rule
        if is_large(scorer.head) and (rule.scale == 1.0 or rule.softcap is None):
            return token_scores(hidden_NH, scorer.head, tokens_N, Reading(temperature / rule.scale, rule.softcap, size))
        if len(tokens_N) <= size:
            return of_chunk(hidden_NH, tokens_N)
        parts: list[tuple[Tensor, Tensor]] = []
        for start in range(0, len(tokens_N), size):
            chunk = hidden_NH[start : start + size], tokens_N[start : start + size]
            if torch.is_grad_enabled():
                parts.append(checkpoint(of_chunk, *chunk, use_reentrant=False))
            else:
                parts.append(of_chunk(*chunk))
        logprobs_N, entropies_N = (torch.cat(part) for part in zip(*parts, strict=True))
        return logprobs_N, entropies_N


def _in_passes(rows: Sequence[tuple[Prompt, Prompt]], *, grad: bool) -> Iterator[Sequence[tuple[Prompt, Prompt]]]:
    """Without gradients, rows in parts of about as many tokens as one pass takes; with gradients all, since whoever asks has parted them."""
    start = tokens = 0
    for place, (prompt, reply) in enumerate(rows):
        size = len(prompt) + len(reply)
        if not grad and tokens and tokens + size > _TOKENS_PER_PASS:
            yield rows[start:place]
            start, tokens = place, 0
        tokens += size
    yield rows[start:]


@dataclass(frozen=True)
class TokenScores:
    """What a model says of replies' tokens; N tokens of all rows, one row after the other."""

    logprobs_N: Tensor
    """Natural log of each token's probability."""
    entropies_N: Tensor
    """Entropy of the distribution each was taken from, in nats."""
    rows_N: Tensor
    """The row each belongs to."""


class _CachedRows:
    """Rows on their way through a model, with the keys and values of what they have read. Padded at the left, so all end together."""

    def __init__(self, scorer: Scorer, slots: Sequence[int], prompts: Sequence[Prompt]) -> None:
        from transformers import DynamicCache

        self.final, self.bank, self.slots = scorer.final, scorer.bank, list(slots)
        self.cache = DynamicCache()  # not given the config: layers with a sliding window would forget the beginning
        longest, device = max(map(len, prompts)), self.bank.device
        ids_RL = torch.tensor([[*[0] * (longest - len(prompt)), *prompt] for prompt in prompts], device=device)
        lengths_R1 = torch.tensor([[len(prompt)] for prompt in prompts], device=device)
        self.seen_RL = torch.arange(longest, device=device) >= longest - lengths_R1
        self._read(ids_RL, (self.seen_RL.cumsum(1) - 1).clamp(min=0))

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """See :meth:`coplay.models.fused_batch.FusedBatch.extend`."""
        device = self.seen_RL.device
        if list(rows) != list(range(len(self.slots))):
            rows_R = torch.tensor(rows, device=device)
            self.slots = [self.slots[row] for row in rows]
            self.cache.batch_select_indices(rows_R)
            self.seen_RL = self.seen_RL[rows_R]
        self.seen_RL = torch.cat([self.seen_RL, torch.ones_like(self.seen_RL[:, :1])], dim=1)
        self._read(torch.tensor(tokens, device=device)[:, None], self.seen_RL.sum(1, keepdim=True) - 1)

    def _read(self, ids_RL: Tensor, positions_RL: Tensor) -> None:
        with self.bank.route(route_groups(self.slots)):
            hidden_RLH = self.final(
                input_ids=ids_RL,
                attention_mask=self.seen_RL.long(),
                position_ids=positions_RL,
                past_key_values=self.cache,
                use_cache=True,
            )
        self.hidden: Tensor = hidden_RLH[:, -1]
        """Final hidden states from which each row's next token is taken, [R, H]."""


class _WholeRows:
    """Rows that are read whole again for every token."""

    def __init__(self, decoder: RowsDecoder, slots: Sequence[int], prompts: Sequence[Prompt]) -> None:
        self.decoder, self.slots, self.rows = decoder, list(slots), [tuple(prompt) for prompt in prompts]
        self.hidden = decoder.ends(self.rows, self.slots)
        """Final hidden states from which each row's next token is taken, [R, H]."""

    def extend(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """See :meth:`coplay.models.fused_batch.FusedBatch.extend`."""
        self.slots = [self.slots[row] for row in rows]
        self.rows = [(*self.rows[row], token) for row, token in zip(rows, tokens, strict=True)]
        self.hidden = self.decoder.ends(self.rows, self.slots)


KeyT = TypeVar("KeyT", bound="tuple[int, *tuple[object, ...]]")


def _distinct(keys: Sequence[KeyT]) -> tuple[list[KeyT], dict[int, int]]:
    """The different keys, sorted by their first part, and for each place in the sequence that of its key among them."""
    found = sorted(dict.fromkeys(keys), key=lambda key: key[0])
    place_of = {key: place for place, key in enumerate(found)}
    return found, {i: place_of[key] for i, key in enumerate(keys)}
