"""Reads prompts through some of a model's layers, and keeps what it computed of their beginnings in blocks.

Where the adapters are in the upper layers alone, what leaves the lower ones is the same under every slot: one reader of the lower layers
serves the readers of the upper ones, of which each slot has its own.

Shapes: L tokens of a prompt, K tokens of all rows, H hidden width, g heads of keys and values, D their width.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coplay.models.kv_blocks import BLOCK, MOST_BYTES, BlockKey, KVBlocks, joined
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.packed_prompts import LowerLayers
from coplay.models.scoring import Prompt

Inputs = Callable[[Sequence[Prompt], Sequence[int]], Tensor]
"""What the first of the layers reads of each text's tokens from a start on, one text after the other, [K, H]."""

_TOKENS_PER_PASS = 2_048
"""New tokens of one pass."""

_TAIL_BYTES = 2**28
"""Of what fills no block, which is kept too where texts grow token by token."""


@dataclass(frozen=True)
class ReadPrompt:
    """What some layers computed of a prompt."""

    hidden: Tensor
    """What leaves them, float32: of all tokens, [L, H], or of the last one, [1, H]."""
    kv: Tensor
    """Keys and values of all tokens, [layers, 2, g, L, D]."""


class BlockReader:
    """See the module.

    Args:
        decoder: the model.
        layers: which of its layers.
        inputs: what the first of them reads.
        most_bytes: of the blocks.
        whole: whether what leaves the layers is wanted, and kept, of all tokens.
    """

    def __init__(
        self,
        decoder: PackedDecoder,
        layers: range,
        inputs: Inputs,
        *,
        most_bytes: int = MOST_BYTES,
        whole: bool = False,
    ) -> None:
        self.decoder, self.layers, self.inputs, self.whole = decoder, layers, inputs, whole
        self.blocks = KVBlocks(most_bytes)
        self._tails: OrderedDict[Prompt, tuple[Tensor, ...]] = OrderedDict()
        self._tail_bytes = 0

    def read(self, prompts: Sequence[Prompt]) -> list[ReadPrompt]:
        """Read different prompts; only what is new of each goes through the layers."""
        found: dict[int, ReadPrompt] = {}
        while len(found) < len(prompts):
            wave = self._wave(prompts, [row for row in range(len(prompts)) if row not in found])
            for rows in _passes(wave, prompts):
                found |= zip(
                    rows, self._read_behind([prompts[row] for row in rows], [wave[row] for row in rows]), strict=True
                )
        return [found[row] for row in range(len(prompts))]

    def _wave(self, prompts: Sequence[Prompt], waiting: Sequence[int]) -> dict[int, list[tuple[Tensor, ...]]]:
        """The rows that are read next, with what is known of each: of those that continue with the same new block the first, for the others."""
        claimed: set[BlockKey] = set()
        wave = {}
        for row in waiting:
            known, missing = self.blocks.find(prompts[row])
            if missing is None:
                wave[row] = [*known, *self._tail_of(prompts[row][:-1])]
            elif missing not in claimed:
                claimed.add(missing)
                wave[row] = known
        return wave

    def _read_behind(self, prompts: Sequence[Prompt], known: Sequence[list[tuple[Tensor, ...]]]) -> list[ReadPrompt]:
        """Read prompts behind what is known of each, in one pass."""
        before = [joined(own) for own in known]
        starts = [_tokens(own) for own in known]
        sizes = [len(prompt) - start for prompt, start in zip(prompts, starts, strict=True)]
        x_KH = self.inputs(prompts, starts)
        ends_R = None if self.whole else torch.tensor(sizes, device=x_KH.device).cumsum(0) - 1
        hidden_KH, new = self.decoder.read_hidden(
            x_KH, sizes, [own[0] if own else None for own in before], ends_R, layers=self.layers
        )
        read = []
        for i, own_LH in enumerate(torch.split(hidden_KH, sizes if self.whole else 1)):
            computed: tuple[Tensor, ...] = (new[i], own_LH) if self.whole else (new[i],)
            if before[i]:
                computed = tuple(torch.cat(pair, dim=-2) for pair in zip(before[i], computed, strict=True))
            self.blocks.keep(prompts[i], *computed)
            if self.whole:
                self._keep_tail(prompts[i], computed)
            kv, *hidden = computed
            read.append(ReadPrompt(hidden[0] if hidden else own_LH, kv))
        return read

    def _tail_of(self, text: Prompt) -> list[tuple[Tensor, ...]]:
        """What was computed of the tokens of a text that fill no block; nothing if it is not known."""
        if text not in self._tails:
            return []
        self._tails.move_to_end(text)
        return [self._tails[text]]

    def _keep_tail(self, text: Prompt, computed: tuple[Tensor, ...]) -> None:
        """Keep what was computed of the tokens of a text that fill no block; what was not used for longest is dropped."""
        start = len(text) - len(text) % BLOCK
        self._tail_bytes -= _bytes(self._tails.pop(text, ()))
        self._tails[text] = tuple(one[..., start:, :].clone() for one in computed)
        self._tail_bytes += _bytes(self._tails[text])
        while self._tail_bytes > _TAIL_BYTES:
            self._tail_bytes -= _bytes(self._tails.popitem(last=False)[1])


def _passes(wave: dict[int, list[tuple[Tensor, ...]]], prompts: Sequence[Prompt]) -> list[list[int]]:
    """Rows in groups of about as many new tokens as one pass takes."""
    groups: list[list[int]] = [[]]
    size = 0
    for row, known in wave.items():
        new = len(prompts[row]) - _tokens(known)
        if groups[-1] and size + new > _TOKENS_PER_PASS:
            groups.append([])
            size = 0
        groups[-1].append(row)
        size += new
    return groups


def _tokens(known: Sequence[tuple[Tensor, ...]]) -> int:
    """Of how many tokens this was computed."""
    return sum(one[0].shape[-2] for one in known)


def _bytes(computed: tuple[Tensor, ...]) -> int:
    return sum(one.nbytes for one in computed)


def embedded(decoder: PackedDecoder) -> Inputs:
    """What the first layer of all reads."""

    def inputs(texts: Sequence[Prompt], starts: Sequence[int]) -> Tensor:
        tokens = [token for text, start in zip(texts, starts, strict=True) for token in text[start:]]
        return decoder.embed(torch.tensor(tokens, device=decoder.device))

    return inputs


class ConversationLowerLayers(LowerLayers):
    """What leaves the layers below all adapters, of conversations: as its parent, but texts are read behind what is known of each in blocks.

    A reply grows token by token, so a text is nearly always the continuation of another.

    Args:
        decoder: the model.
        layers: the layers below.
        most_bytes: of the blocks.
    """

    def __init__(self, decoder: PackedDecoder, layers: range, *, most_bytes: int) -> None:
        super().__init__(decoder, layers)
        self._reader = BlockReader(decoder, layers, embedded(decoder), most_bytes=most_bytes, whole=True)

    def inputs(self, texts: Sequence[Prompt], starts: Sequence[int]) -> Tensor:
        """What the layers above read; see :data:`Inputs`."""
        return torch.cat([own[start:] for own, start in zip(self.hidden(texts), starts, strict=True)])

    def _computed(self, prompts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Tensor]:
        return dict(zip(prompts, (read.hidden for read in self._reader.read(prompts)), strict=True))
