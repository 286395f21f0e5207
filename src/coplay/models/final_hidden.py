"""Final hidden states and logits of any causal language model, as its own forward pass computes them.

Final hidden states are what the model's head reads. Most models' decoder returns them; where it returns something else, the whole model is run and
its head is watched.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor, nn

from coplay.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROBE_TOKENS = 12
"""Tokens of the first prompt that a model is tried with."""


class FinalStates(NamedTuple):
    """What a forward pass gives."""

    hidden_RLH: Tensor
    """Final hidden states, in the model's precision."""
    logits_RLV: Tensor | None
    """The model's own logits, where it was asked for them."""


def head_of(model: PreTrainedModel) -> nn.Linear:
    """The layer that makes logits of final hidden states, linear or alike; raises UsageError if the model names none."""
    head = model.get_output_embeddings()
    if head is None or not hasattr(head, "weight"):
        raise UsageError(f"model: {type(model).__name__} names no output embedding, so no logits can be computed")
    return cast(nn.Linear, head)


def ordinary_tokens(model: PreTrainedModel, count: int, *, seed: int = 0) -> tuple[int, ...]:
    """Token ids for trying a model, from the middle of its vocabulary: the first and last ones are often tags, on which models behave differently.

    Args:
        model: the model.
        count: how many.
        seed: others for other seeds.
    """
    embeddings = model.get_input_embeddings()
    words = min(int(head_of(model).weight.shape[0]), *([int(embeddings.weight.shape[0])] if embeddings else []))
    special = {
        value for key, value in config_entries(model.config) if key.endswith("_token_id") and isinstance(value, int)
    }
    usual = [token for token in range(words // 4, max(words // 4 + 1, words * 3 // 4)) if token not in special]
    chosen = torch.randint(len(usual), (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return tuple(usual[i] for i in chosen)


def config_entries(config: object) -> list[tuple[str, object]]:
    """The entries of a config and of the configs in it, lists' items one by one."""
    found: list[tuple[str, object]] = []
    for key, value in (config if isinstance(config, dict) else getattr(config, "to_dict", dict)()).items():
        for one in value if isinstance(value, list) else [value]:
            found += config_entries(one) if isinstance(one, dict) else [(str(key), one)]
    return found


class FinalHidden:
    """See the module.

    Args:
        model: the model; it is tried with one short prompt.

    Raises:
        UsageError: if it shows no final hidden states.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.decoder = model.get_decoder()
        self._head = head_of(model)
        self._one_logit = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.by_decoder = True
        """Whether the decoder returns what the head reads."""
        if self._head.weight.is_meta:
            return  # there are shapes alone, and nothing to compare
        ids_1L = torch.tensor([ordinary_tokens(model, PROBE_TOKENS)], device=self._head.weight.device)
        with torch.no_grad():
            watched, _ = self._watched(input_ids=ids_1L, use_cache=False)
            returned = None if watched is None else self._returned(input_ids=ids_1L, use_cache=False)
        if watched is not None:
            self.by_decoder = (
                returned is not None and returned.shape == watched.shape and torch.equal(returned, watched)
            )

    def _returned(self, **inputs: object) -> Tensor | None:
        """What the decoder returns; None where it is no decoder of this kind."""
        if self.decoder is None or self.decoder is self.model:
            return None
        try:
            output = self.decoder(**inputs)
        except Exception:  # of any kind: what is called the decoder may be the head, or read something else than tokens
            return None
        hidden = getattr(output, "last_hidden_state", None)
        return hidden if isinstance(hidden, Tensor) else None

    def _watched(self, **inputs: object) -> tuple[Tensor | None, object]:
        """What the head reads while the whole model is run, None if it is not run as a module; and the model's output."""
        read: list[Tensor] = []
        hook = self._head.register_forward_pre_hook(lambda _, args: read.append(args[0]))
        try:
            output = self.model(**inputs)
        finally:
            hook.remove()
        return (read[-1] if read else None), output

    def __call__(self, **inputs: object) -> Tensor:
        """Final hidden states of all tokens, [R, L, H]; inputs as the model's own."""
        if self.by_decoder:
            hidden_RLH: Tensor = self.decoder(**inputs).last_hidden_state
            return hidden_RLH
        hidden, _ = self._watched(**inputs)
        assert hidden is not None
        return hidden

    @torch.no_grad()
    def with_logits(self, ids_RL: Tensor, *, last_only: bool = False) -> FinalStates:
        """Final hidden states and the model's own logits of rows of one length, without cache or padding.

        Args:
            ids_RL: token ids.
            last_only: whether logits are wanted for the last token only, which is cheaper; [R, 1, V] then.
        """
        keep = {"logits_to_keep": 1} if last_only and self._one_logit else {}
        hidden, output = self._watched(input_ids=ids_RL, use_cache=False, **keep)
        logits_RLV: Tensor = output.logits.float()  # type: ignore[attr-defined]
        if hidden is None:
            hidden = self(input_ids=ids_RL, use_cache=False)
        return FinalStates(hidden, logits_RLV[:, -1:] if last_only else logits_RLV)
