"""What was computed of token prefixes, kept in blocks: what conversations have in common, and what grows by a turn, is computed once.

A block holds ``BLOCK`` tokens and is found by them and by the block before it, so a prompt finds all that was ever read of its beginning.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 16
"""Tokens of a block."""

MOST_BYTES = 3 * 2**30
"""Of all blocks; those that were not used for longest are dropped."""

BlockKey = tuple[int, tuple[int, ...]]
"""The number of the block before it, and its tokens."""


@dataclass
class _Block:
    """BLOCK tokens behind those of the blocks before."""

    number: int
    """Names it as the parent of others; numbers are never used again."""
    computed: tuple[Tensor, ...]
    """Keys and values, [layers, 2, heads, BLOCK, width], and perhaps what left the layers, [BLOCK, H]."""

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return sum(one.nbytes for one in self.computed)


class KVBlocks:
    """The blocks of one model under one slot.

    Args:
        most_bytes: of all blocks.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._blocks: OrderedDict[BlockKey, _Block] = OrderedDict()
        self._next = 1

    def find(self, tokens: Sequence[int]) -> tuple[list[tuple[Tensor, ...]], BlockKey | None]:
        """The blocks of the longest beginning that is known, and the key of the first that is not; None if all are.

        At least the last token is never among them: it has to be read for what comes after it.
        """
        found: list[tuple[Tensor, ...]] = []
        for key, block in self._path(tokens[:-1]):
            if block is None:
                return found, key
            self._blocks.move_to_end(key)
            found.append(block.computed)
        return found, None

    def keep(self, tokens: Sequence[int], *computed: Tensor) -> None:
        """Keep what was computed of these tokens, each [..., len(tokens), width], but for those that fill no block."""
        parent = 0
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            key = (parent, tuple(tokens[start : start + BLOCK]))
            block = self._blocks.get(key)
            if block is None:
                block = _Block(self._next, tuple(one[..., start : start + BLOCK, :].clone() for one in computed))
                self._next += 1
                self._blocks[key] = block
                self.bytes += block.nbytes
            self._blocks.move_to_end(key)
            parent = block.number
        while self.bytes > self.most_bytes and self._blocks:
            _, dropped = self._blocks.popitem(last=False)
            self.bytes -= dropped.nbytes

    def _path(self, tokens: Sequence[int]) -> Iterator[tuple[BlockKey, _Block | None]]:
        """The keys of the full blocks of these tokens with what is known of each, until one is not."""
        parent = 0
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            key = (parent, tuple(tokens[start : start + BLOCK]))
            block = self._blocks.get(key)
            yield key, block
            if block is None:
                return
            parent = block.number


def joined(blocks: Sequence[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """What was computed of the tokens of blocks in a row; nothing for no blocks."""
    return tuple(torch.cat(own, dim=-2) for own in zip(*blocks, strict=True))
