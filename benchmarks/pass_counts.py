"""What goes through a model in a trial, and how many operations its products are.

Each token through a layer costs twice the layer's weights forwards and as much again backwards, since weights are frozen. Attention's own
products, adapters and norms are below one per cent and left out, and so is padding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def counting(scorer: Any) -> Iterator[Counter[str]]:
    """Counts tokens through the model's layers, with and without gradients, and rows through its head; not of recorded passes."""
    import torch

    found: Counter[str] = Counter()
    layers = scorer.model.get_decoder().layers
    logits = scorer.logits

    def through_a_layer(_: Any, inputs: tuple[Any, ...]) -> None:
        found["layer tokens, learning" if torch.is_grad_enabled() else "layer tokens"] += inputs[0].shape[:-1].numel()

    def through_the_head(hidden_RH: Any) -> Any:
        found["rows, learning" if torch.is_grad_enabled() else "rows"] += len(hidden_RH)
        return logits(hidden_RH)

    hooks = [layer.mlp.down_proj.register_forward_pre_hook(through_a_layer) for layer in layers]
    scorer.logits = through_the_head
    try:
        yield found
    finally:
        del scorer.logits
        for hook in hooks:
            hook.remove()
        for name in ("layer tokens", "layer tokens, learning"):
            found[name] = found[name] // len(layers)


def flops(counts: Mapping[str, int], shapes: Mapping[str, Any]) -> float:
    """Of the products of a model of these shapes in a trial with these counts."""
    wide, heads = shapes["hidden_size"], shapes["num_attention_heads"] + shapes["num_key_value_heads"]
    head_width = shapes.get("head_dim", wide // shapes["num_attention_heads"])
    layer = 2 * wide * heads * head_width + 3 * wide * shapes["intermediate_size"]
    head = wide * shapes["vocab_size"]
    tokens = counts["layer tokens"] + 2 * counts["layer tokens, learning"]
    rows = counts["rows"] + 2 * counts["rows, learning"]
    return 2.0 * (tokens * layer * shapes["num_hidden_layers"] + rows * head)
