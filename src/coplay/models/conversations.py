"""Generation for many conversations that grow by a turn at a time and begin alike: what was read once is not read again.

Replies are those of :class:`coplay.models.generation.Generator` up to rounding: each row has its own chance, whatever is beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from coplay.models.block_reader import BlockReader, ConversationLowerLayers, ReadPrompt, embedded
from coplay.models.generation import Batch, Generator
from coplay.models.hidden_cache import HiddenCache, ReplyPrefix
from coplay.models.kv_blocks import MOST_BYTES
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.packed_rows import PackedRows
from coplay.models.sampling import Complete, Generated, Sampling
from coplay.models.scoring import LogitsOf, Prompt, Scorer, Scores

_ROWS_AT_ONCE = 32
"""Different prompts whose keys and values are held at a time, besides what is kept in blocks."""

_BYTES_AT_ONCE = 2**32
"""Of their keys and values: of large models and long prompts, fewer are held."""


def rows_at_once(decoder: PackedDecoder, tokens: int) -> int:
    """How many rows of so many tokens are continued at a time."""
    return max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(1, tokens * decoder.bytes_of_token)))


class Conversations:
    """Reads prompts of one slot, and keeps what it has read.

    Args:
        scorer: the model and its bank.
        slot: the slot of all prompts.
        lower: reads the layers below all adapters for all slots; None if this is to read all layers.
        most_bytes: of keys and values that it keeps; distributions take a quarter of that at most.
    """

    def __init__(
        self,
        scorer: Scorer,
        slot: int,
        *,
        lower: ConversationLowerLayers | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.scorer, self.slot, self.lower, self.most_bytes = scorer, slot, lower, most_bytes
        self.decoder = PackedDecoder(scorer.model)
        self._forget()

    def _forget(self) -> None:
        inputs = embedded(self.decoder) if self.lower is None else self.lower.inputs
        layers = self.decoder.layers if self.lower is None else self.decoder.layers[self.lower.layers.stop :]
        self.reader = BlockReader(self.decoder, layers, inputs, most_bytes=self.most_bytes)
        self.hidden_cache = HiddenCache(most_bytes=self.most_bytes // 4)
        self.version = self.scorer.bank.versions_of([self.slot])

    def refresh(self) -> None:
        """Forget what was read with other weights."""
        if self.scorer.bank.versions_of([self.slot]) != self.version:
            self._forget()

    def read(self, prompts: Sequence[Prompt]) -> list[ReadPrompt]:
        """Read different prompts."""
        self.refresh()
        with self.scorer.bank.route([self.slot]):
            return self.reader.read(prompts)


class ConversationScorer:
    """Next-token logits by a reader of conversations; see :meth:`coplay.models.scoring.Scorer.score`."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    @torch.no_grad()
    def score(self, slots: Sequence[int], prompts: Sequence[Prompt]) -> Scores:
        """Score row by row; all rows are of the reader's slot."""
        self._conversations.scorer.check_length(max(map(len, prompts), default=0))
        distinct = list(dict.fromkeys(prompts))
        hidden_NH = torch.cat(
            [
                read.hidden
                for start in range(0, len(distinct), _ROWS_AT_ONCE)
                for read in self._conversations.read(distinct[start : start + _ROWS_AT_ONCE])
            ]
        )
        place = {prompt: i for i, prompt in enumerate(distinct)}
        hidden_RH = hidden_NH[[place[prompt] for prompt in prompts]]
        return Scores(self._conversations.scorer.logits(hidden_RH), hidden_RH.float())


class ConversationGenerator(Generator):
    """Samples replies as its parent does, for one slot, reading only what is new of each prompt."""

    def __init__(self, conversations: Conversations, *, stop: Collection[int]) -> None:
        super().__init__(conversations.scorer, stop=stop)
        self.conversations = conversations
        self._choices = ConversationScorer(conversations)
        self._room = 0

    @property
    def choices(self) -> LogitsOf:
        """See :class:`coplay.models.generation.Generator`."""
        return self._choices

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
        """See :class:`coplay.models.generation.Generator`.

        Rows whose whole reply follows from cached hidden states need no forward pass; the model reads the other prompts, so many different ones at a time.
        """
        self.scorer.check_length(max(map(len, prompts), default=0) + draws_RL.shape[1])
        self.conversations.refresh()
        sampling = self._sampling(draws_RL, temperature, complete)
        new = self._sampled_from_cache(sampling, prompts)
        found = dict(enumerate(sampling.replies()))
        order = list(dict.fromkeys(prompts[row] for row in new))
        self._room = draws_RL.shape[1]
        size = rows_at_once(self.conversations.decoder, max(map(len, order), default=0) + self._room)
        group_of = {prompt: place // size for place, prompt in enumerate(order)}
        for group in range(-(-len(order) // size)):
            rows = [row for row in new if group_of[prompts[row]] == group]

            def of_row(row: int, tokens: Sequence[int], rows: Sequence[int] = rows) -> bool:
                return complete is not None and complete(rows[row], tokens)

            with self.scorer.bank.route([self.conversations.slot]):
                replies = super().generate(
                    [slots[row] for row in rows],
                    [prompts[row] for row in rows],
                    draws_RL[rows],
                    temperature=temperature,
                    complete=None if complete is None else of_row,
                )
            found |= dict(zip(rows, replies, strict=True))
        return [found[row] for row in range(len(prompts))]

    def _sampled_from_cache(self, sampling: Sampling, prompts: Sequence[Prompt]) -> list[int]:
        """Sample replies from cached hidden states; returns the rows that need one that is not there."""
        cache, new, going = self.conversations.hidden_cache, [], list(range(len(prompts)))
        while going:
            keys = {row: (prompts[row], tuple(sampling.tokens[row])) for row in going}
            new += [row for row in going if keys[row] not in cache]
            known = [row for row in going if keys[row] in cache]
            if not known:
                break
            nodes = list(dict.fromkeys(keys[row] for row in known))
            place = {key: i for i, key in enumerate(nodes)}

            def logprobs_of(chunk: slice, nodes: Sequence[ReplyPrefix] = nodes) -> Tensor:
                return cache.logprobs(nodes[chunk], sampling.temperature, sampling.logprobs)

            going = sampling.step(known, cache.hidden(nodes), [place[keys[row]] for row in known], logprobs_of)
        return sorted(new)

    def _computed(
        self, prompts: Sequence[Prompt], sampling: Sampling, row_of: Mapping[int, int], hidden_NH: Tensor
    ) -> None:
        for node, row in row_of.items():
            self.conversations.hidden_cache.keep((prompts[row], tuple(sampling.tokens[row])), hidden_NH[node])

    def _prefill(self, slots: Sequence[int], prompts: Sequence[Prompt]) -> Batch:
        return PackedRows(self.conversations.reader, prompts, self.conversations.read(prompts), self._room)


class SlotsGenerator(Generator):
    """Samples replies of several slots, as learners and their past selves have them, each by conversations of its own."""

    def __init__(self, scorer: Scorer, *, stop: Collection[int]) -> None:
        super().__init__(scorer, stop=stop)
        self.clear()

    def clear(self) -> None:
        """Forget what was read: which passes are made, and so the last digits, depends on what is known."""
        self._of_slot: dict[int, ConversationGenerator] = {}
        self._lower = None
        if below := range(self.scorer.bank.first_layer):
            decoder = PackedDecoder(self.scorer.model)
            self._lower = ConversationLowerLayers(decoder, below, most_bytes=MOST_BYTES // 4)

    def generate(
        self,
        slots: Sequence[int],
        prompts: Sequence[Prompt],
        draws_RL: Tensor,
        *,
        temperature: float = 1.0,
        complete: Complete | None = None,
    ) -> list[Generated]:
        """See :class:`coplay.models.generation.Generator`; slot by slot."""
        found: dict[int, Generated] = {}
        for slot in dict.fromkeys(slots):
            rows = [row for row, own in enumerate(slots) if own == slot]

            def of_row(row: int, tokens: Sequence[int], rows: Sequence[int] = rows) -> bool:
                return complete is not None and complete(rows[row], tokens)

            replies = self._generator(slot).generate(
                [slot] * len(rows),
                [tuple(prompts[row]) for row in rows],
                draws_RL[rows],
                temperature=temperature,
                complete=None if complete is None else of_row,
            )
            found |= zip(rows, replies, strict=True)
        return [found[row] for row in range(len(prompts))]

    def _generator(self, slot: int) -> ConversationGenerator:
        if slot not in self._of_slot:
            most_bytes = MOST_BYTES // (len(self.scorer.bank.slots) + 1)
            conversations = Conversations(self.scorer, slot, lower=self._lower, most_bytes=most_bytes)
            self._of_slot[slot] = ConversationGenerator(conversations, stop=self.stop)
        return self._of_slot[slot]


def generator_of(scorer: Scorer, *, stop: Collection[int]) -> Generator:
    """What samples replies of learners: slot by slot behind what was read before, where the model's cost is its products; else all slots together."""
    return Generator(scorer, stop=stop) if scorer.packed is None else SlotsGenerator(scorer, stop=stop)
