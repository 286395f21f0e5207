"""The ends of prompts by the packed decoder, with what they have in common computed once and what cannot change kept.

- Without gradients, the keys and values of a slot's shared beginning are kept until the slot changes.
- Where the adapters are in the upper layers alone, what leaves the lower ones is the same under every slot: it is computed once for each
  prompt of a trial, without gradients, and training, reference and sampling start from there.

Shapes: S tokens of a beginning, L tokens of a prompt, K tokens of all rows, R rows, H hidden width, g heads of keys and values, D their width.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from coplay.models.bank import AdapterBank
from coplay.models.packed_decoder import PackedDecoder

SlotVersion = tuple[int, int]
"""A slot, and how often it was changed."""

_BEGINNINGS_KEPT = 32
"""How many beginnings are kept with their keys and values."""

_ENOUGH = 0.6
"""A beginning that is known for this share of its tokens is not computed again."""

_MOST_BYTES = 2**29
"""Of what left the lower layers."""

_TOKENS_PER_PASS = 4_096
"""Without gradients, so many tokens go through the model in a pass at most."""


class Beginnings:
    """Beginnings with what was computed of them, of which another one's tokens may be a part.

    Prompts of different rounds share beginnings of different lengths: those of the rules, and of a few words more if all rows happen to say them.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[SlotVersion, tuple[int, ...]], tuple[Tensor, ...]] = OrderedDict()

    def find(self, of: SlotVersion, tokens: Sequence[int]) -> tuple[int, tuple[Tensor, ...]]:
        """How many of these tokens are known at least as far as is worth while, 0 for none, and what was computed of those and perhaps more.

        Args:
            of: what it was computed under.
            tokens: token ids.
        """
        best: tuple[int, tuple[Tensor, ...]] = (0, ())
        for (known_of, known), computed in self._known.items():
            if known_of == of:
                common = common_tokens(known, tokens)
                best = max(best, (common, computed), key=lambda found: found[0])
        return best if best[0] >= _ENOUGH * len(tokens) else (0, ())

    def keep(self, of: SlotVersion, tokens: Sequence[int], *computed: Tensor) -> None:
        """Keep what was computed of these tokens."""
        self._known[of, tuple(tokens)] = computed
        while len(self._known) > _BEGINNINGS_KEPT:
            self._known.popitem(last=False)


class PackedPrompts:
    """Reads the ends of prompts of one slot at a time.

    Args:
        decoder: the model.
        bank: its adapters.
    """

    def __init__(self, decoder: PackedDecoder, bank: AdapterBank) -> None:
        self.decoder, self.bank = decoder, bank
        first = bank.first_layer
        self.lower = LowerLayers(decoder, range(first)) if first else None
        """The layers below all adapters; None if there are none."""
        self.upper = decoder.layers[first:]
        self._beginnings = Beginnings()

    def clear(self) -> None:
        """Forget what was computed: how a batch is cut, and so its last digits, depends on what is known."""
        self._beginnings = Beginnings()
        if self.lower is not None:
            self.lower = LowerLayers(self.decoder, self.lower.layers)

    def ends(self, slot: int, prompts: Sequence[Sequence[int]], prefix: Sequence[int], *, grad: bool) -> Tensor:
        """Final hidden states of the last tokens of different prompts, float32, [R, H].

        Args:
            slot: the slot of all.
            prompts: token ids.
            prefix: what all begin with.
            grad: whether gradients are to flow into the slot's adapter.
        """
        with self.bank.route([slot]):
            if grad:
                rows = [prompt[len(prefix) :] for prompt in prompts]
                x_KH = self._read_by_upper(prompts, len(prefix), packs_prefix=True)
                return self.decoder.read_alike(x_KH, len(prefix), [len(row) for row in rows], layers=self.upper)
            (version,) = self.bank.versions_of([slot])
            if len(prompts) == 1:
                return self._alone(version, prompts[0])
            known = self._keys_of(version, prefix)
            start = 0 if known is None else known.shape[4]
            step = max(1, _TOKENS_PER_PASS // max(len(prompt) - start for prompt in prompts))
            parts = []
            for part in (prompts[i : i + step] for i in range(0, len(prompts), step)):
                x_KH = self._read_by_upper(part, start, packs_prefix=False)
                sizes = [len(prompt) - start for prompt in part]
                parts.append(self.decoder.read_alike(x_KH, 0, sizes, known, layers=self.upper))
            return torch.cat(parts)

    def hidden_at(self, slot: int, rows: Sequence[Sequence[int]], places: Sequence[range]) -> Tensor:
        """Final hidden states at some places of each row, one row after the other, float32, [W, H]; with gradients, if they are enabled.

        A row that another one begins with costs nothing: in a conversation that grows by turns, the last turn's row has all the others.

        Args:
            slot: the slot of all.
            rows: token ids.
            places: the positions that are wanted of each.
        """
        order = sorted(set(map(tuple, rows)))
        carrier: dict[tuple[int, ...], tuple[int, ...]] = {}
        for row, after in zip(reversed(order), [(), *reversed(order)], strict=False):
            carrier[row] = carrier[after] if after[: len(row)] == row else row
        whole = list(dict.fromkeys(carrier.values()))
        shared = min(common_tokens(whole[0], whole[-1]), *(len(row) - 1 for row in whole)) if len(whole) > 1 else 0
        starts = dict(zip(whole, accumulate((len(row) - shared for row in whole), initial=0), strict=False))
        wanted = [
            place if place < shared else starts[carrier[tuple(row)]] + place
            for row, own in zip(rows, places, strict=True)
            for place in own
        ]
        with self.bank.route([slot]):
            x_KH = self._read_by_upper(whole, shared, packs_prefix=True)
            sizes = [len(row) - shared for row in whole]
            wanted_W = torch.tensor(wanted, dtype=torch.long, device=self.decoder.device)
            return self.decoder.read_alike(x_KH, shared, sizes, layers=self.upper, wanted_W=wanted_W)

    def _read_by_upper(self, prompts: Sequence[Sequence[int]], start: int, *, packs_prefix: bool) -> Tensor:
        """What the upper layers read: of the first ``start`` tokens once, if the beginning is packed, then of what follows in each prompt, [K, H]."""
        if self.lower is None:
            ids = [*prompts[0][:start]] if packs_prefix else []
            ids += [token for prompt in prompts for token in prompt[start:]]
            return self.decoder.embed(torch.tensor(ids, device=self.decoder.device))
        hidden = self.lower.hidden(prompts)
        return torch.cat([*([hidden[0][:start]] if packs_prefix else []), *(own[start:] for own in hidden)])

    def _alone(self, version: SlotVersion, prompt: Sequence[int]) -> Tensor:
        """The end of one prompt, [1, H]; what it began with is kept for others."""
        start, kept = self._beginnings.find(version, prompt[:-1])
        known = kept[0][..., :start, :] if start else None
        x_KH = self._read_by_upper([prompt], start, packs_prefix=False)
        hidden_KH, (kv,) = self.decoder.read_hidden(x_KH, [len(x_KH)], [known], layers=self.upper)
        if known is None:
            self._beginnings.keep(version, prompt, kv)
        return hidden_KH[-1:]

    def _keys_of(self, version: SlotVersion, prefix: Sequence[int]) -> Tensor | None:
        """Keys and values of a beginning, or of most of it, under the upper layers, [layers, 2, 1, g, S, D]; None for one of no tokens."""
        if not prefix:
            return None
        start, kept = self._beginnings.find(version, prefix)
        if not start:
            x_SH = self._read_by_upper([prefix], 0, packs_prefix=False)
            kept = (self.decoder.read_hidden(x_SH, [len(prefix)], [None], layers=self.upper)[1][0],)
            start = len(prefix)
            self._beginnings.keep(version, prefix, *kept)
        return kept[0][:, :, None, :, :start]


class LowerLayers:
    """What leaves the layers below all adapters, kept by prompt.

    Args:
        decoder: the model.
        layers: the layers below.
    """

    def __init__(self, decoder: PackedDecoder, layers: range) -> None:
        self.decoder, self.layers = decoder, layers
        self._hidden: OrderedDict[tuple[int, ...], Tensor] = OrderedDict()
        self._bytes = 0
        self._beginnings = Beginnings()

    @torch.no_grad()
    def hidden(self, prompts: Sequence[Sequence[int]]) -> list[Tensor]:
        """Of all tokens of each prompt, [L, H]."""
        keys = [tuple(prompt) for prompt in prompts]
        found = {key: self._hidden[key] for key in dict.fromkeys(keys) if key in self._hidden}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            new = self._computed(missing)
            self._hidden |= new
            self._bytes += sum(one.nbytes for one in new.values())
            found |= new
        for key in found:
            self._hidden.move_to_end(key)
        while self._bytes > _MOST_BYTES and len(self._hidden) > len(found):
            self._bytes -= self._hidden.popitem(last=False)[1].nbytes
        return [found[key] for key in keys]

    def _computed(self, prompts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Tensor]:
        """Read different prompts behind the beginning that they share; it is kept as well."""
        lowest, highest = min(prompts), max(prompts)
        prefix = prompts[0][: common_tokens(lowest, highest)] if len(prompts) > 1 else prompts[0]
        start, kept = self._beginnings.find((0, 0), prefix[:-1])
        if not start and len(prompts) > 1 and len(prefix) > 1:
            x_SH, kv = self._behind([prefix[:-1]], None)
            kept, start = (x_SH[0], kv[0]), len(prefix) - 1
            self._beginnings.keep((0, 0), prefix[:-1], *kept)
        known = kept[1][..., :start, :] if start else None
        hidden, keys = self._behind([prompt[start:] for prompt in prompts], known)
        if len(prompts) == 1 and not start:
            self._beginnings.keep((0, 0), prompts[0], hidden[0], keys[0])
        return {
            prompt: torch.cat([kept[0][:start], own]) if start else own
            for prompt, own in zip(prompts, hidden, strict=True)
        }

    def _behind(self, rows: Sequence[Sequence[int]], known: Tensor | None) -> tuple[list[Tensor], list[Tensor]]:
        """What leaves the layers, of each row, [T, H], and its keys and values."""
        sizes = [len(row) for row in rows]
        x_KH = self.decoder.embed(torch.tensor([token for row in rows for token in row], device=self.decoder.device))
        hidden_KH, keys = self.decoder.read_hidden(x_KH, sizes, [known] * len(rows), layers=self.layers)
        return [own.clone() for own in torch.split(hidden_KH, sizes)], keys


def common_tokens(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
