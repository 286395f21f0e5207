"""What goes through a model in a trial, and how many operations its products are.

Each token through a layer costs twice the layer's weights forwards and as much again backwards, since weights are frozen. Attention's own
products, adapters and norms are below one per cent and left out. In the last layer most of it is computed only for the ends of prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Passes = Counter[tuple[str, bool]]
"""Tokens through each layer but the last ("layers"), through the last one's MLP ("last layer") and through the head, and whether they are learnt from."""


@contextmanager
def counting(scorer: Any) -> Iterator[Passes]:
    """Counts what goes through a model whose slots share their passes: what its decoder is asked for, recorded or not, without what it pads."""
    import torch

    found: Passes = Counter()
    decoder, logits = scorer.decoder, scorer.logits
    last_hidden, encode_prefix = decoder.last_hidden, decoder.encode_prefix

    def counted_last_hidden(ids_PNL: Any, last_PN: Any, prefix: Any) -> Any:
        learns = torch.is_grad_enabled()
        beginning = len(prefix) * len(ids_PNL) if isinstance(prefix, torch.Tensor) else 0
        found["layers", learns] += ids_PNL.numel() + beginning
        found["last layer", learns] += last_PN.numel()
        return last_hidden(ids_PNL, last_PN, prefix)

    def counted_encode_prefix(prefix_L: Any, slots: int) -> Any:
        found["layers", False] += len(prefix_L) * slots
        return encode_prefix(prefix_L, slots)

    def counted_logits(hidden_RH: Any) -> Any:
        found["head", torch.is_grad_enabled()] += len(hidden_RH)
        return logits(hidden_RH)

    decoder.last_hidden, decoder.encode_prefix, scorer.logits = (
        counted_last_hidden,
        counted_encode_prefix,
        counted_logits,
    )
    try:
        yield found
    finally:
        del decoder.last_hidden, decoder.encode_prefix, scorer.logits


def flops(counts: Passes, shapes: Mapping[str, Any]) -> float:
    """Of the products of a model of these shapes in a trial with these counts."""
    wide, query, key = shapes["hidden_size"], shapes["num_attention_heads"], shapes["num_key_value_heads"]
    head_width = shapes.get("head_dim", wide // query)
    inputs = wide * (query + 2 * key) * head_width
    rest = wide * query * head_width + 3 * wide * shapes["intermediate_size"]
    layers, head = shapes["num_hidden_layers"], wide * shapes["vocab_size"]
    total = 0.0
    for learns, times in ((False, 2.0), (True, 4.0)):
        tokens, ends, rows = (counts[what, learns] for what in ("layers", "last layer", "head"))
        total += times * (tokens * (layers * inputs + (layers - 1) * rest) + ends * rest + rows * head)
    return total
