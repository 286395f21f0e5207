"""Keys and values of the beginnings that the prompts of a game share, kept until the slot that computed them changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

SlotVersion = tuple[int, int]
"""A slot, and how often it was changed."""

_KEPT = 32
"""How many are kept."""

_ENOUGH = 0.75
"""A beginning that is known for this share of its tokens is not computed again."""


class PrefixCache:
    """Finds the keys and values of a beginning, or of most of it.

    Prompts of different rounds share beginnings of different lengths: those of the rules, and of a few words more if all rows happen to say them.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[SlotVersion, tuple[int, ...]], Tensor] = {}

    def find(self, of: SlotVersion, prefix: Sequence[int], encode: Callable[[Sequence[int]], Tensor]) -> Tensor:
        """Keys and values [layers, 2, heads, S, width] of the first S tokens of ``prefix``; S may be less than all.

        Args:
            of: what they are computed under.
            prefix: token ids.
            encode: computes them, if they are not known.
        """
        for (known_of, tokens), kv in self._known.items():
            if known_of == of:
                common = _common(tokens, prefix)
                if common >= _ENOUGH * len(prefix):
                    return kv[..., :common, :]
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[of, tuple(prefix)] = kv = encode(prefix)
        return kv


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
