"""From prompts to token ids, with what many prompts have in common encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from coplay.models.loading import encode_all

_CACHED = 100_000
"""How many pieces are cached before starting afresh."""

_DIGIT = re.compile("([0-9])")

_DIGIT_PATTERNS = ("[0-9]|[A-Z](?![a-z]|[A-Z ]*>)",)
"""Patterns that cut every digit out of its surroundings and look at nothing beyond one: the embedded models'."""


class PromptEncoder:
    """Encodes prompts, most of which differ from one another in a few numbers.

    Where a tokenizer cuts at every digit before it does anything else, a prompt's tokens are those of the pieces between its digits, one piece
    after the other: a piece is encoded once. With other tokenizers every prompt is encoded as a whole.

    Args:
        tokenizer: the model's.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.by_pieces = isolates_digits(tokenizer)
        """Whether the tokenizer is of that kind."""
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of rendered prompts, whose special tokens are spelled out in the text."""
        if not self.by_pieces:
            return encode_all(self.tokenizer, texts)
        known = self._pieces
        if len(known) >= _CACHED:
            known.clear()
        cut = [[piece for piece in _DIGIT.split(text) if piece] for text in texts]
        missing = list(dict.fromkeys(piece for pieces in cut for piece in pieces if piece not in known))
        if missing:
            known.update(zip(missing, encode_all(self.tokenizer, missing), strict=True))
        return [tuple(chain.from_iterable([known[piece] for piece in pieces])) for pieces in cut]


def isolates_digits(tokenizer: Any) -> bool:
    """Whether every digit is cut out of a text before anything else is done to it, so that the text can as well be cut there beforehand.

    Told from the tokenizer's own description: nothing is normalised, padded or truncated, no added token has a digit or depends on what
    stands beside it, and the first thing done to a text is to isolate digits.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return False
    description = json.loads(backend.to_str())
    if any(description.get(part) is not None for part in ("normalizer", "padding", "truncation")):
        return False
    if any(_DIGIT.search(token["content"]) or token["single_word"] for token in description["added_tokens"]):
        return False
    first = description.get("pre_tokenizer") or {}
    if first.get("type") == "Sequence":
        first, *rest = first["pretokenizers"]
        if any(one["type"] != "ByteLevel" or one["add_prefix_space"] for one in rest):
            return False
    if first.get("type") == "Digits":
        return bool(first["individual_digits"])
    if first.get("type") != "Split" or first["behavior"] != "Isolated" or first["invert"]:
        return False
    return first["pattern"].get("Regex") in _DIGIT_PATTERNS
