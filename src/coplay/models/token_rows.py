"""Tokens that a tokenizer writes and its model does not know, which would end in an error of the hardware, or in another token's place."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from coplay.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_ROWS: WeakKeyDictionary[PreTrainedTokenizerBase, int] = WeakKeyDictionary()
"""How many tokens a model knows, for tokenizers that have others: those of Gemma 3 have tokens for pictures that its smallest models lack."""


def note_rows(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Have prompts refused from now on that hold a token which the model does not know."""
    rows = len(model.get_input_embeddings().weight)
    if max(tokenizer.get_vocab().values(), default=0) >= rows:
        _ROWS[tokenizer] = rows


def of_model(tokenizer: PreTrainedTokenizerBase, found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The same token ids; raises UsageError if the tokenizer's model does not know one of them."""
    rows = _ROWS.get(tokenizer)
    unknown = [] if rows is None else [one for ids in found for one in ids if one >= rows]
    if unknown:
        raise UsageError(
            f"model: its tokenizer writes token {unknown[0]} ({tokenizer.convert_ids_to_tokens(unknown[0])!r}), but its embedding has"
            f" {rows:,} rows; the tokenizer is of another model, or tokens were added to it without training the model on them"
        )
    return found
