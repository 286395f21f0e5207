"""From prompts to token ids, with what many prompts have in common encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from coplay.models.loading import backend_agrees, encode_all

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_CACHED = 100_000
"""How many pieces are cached before starting afresh."""

_DIGIT = "[0-9]"

_PLAIN = re.compile(r"(?:[A-Za-z0-9_ ,|()<>=?:!*\[\]\n-]|\\[\[\]]|(?<=\[)\^)+")
"""Patterns of characters, sets of them and their complements, alternatives and lookarounds alone, which Python reads as the tokenizers' own engine
does; brackets may be escaped."""

_WITHOUT_DIGITS = re.compile(r"[A-Za-z_ ,|()<>?:!*\[\]-]*")
"""Those of them that match no digit and do not look at any."""


@dataclass(frozen=True)
class Cuts:
    """Where a tokenizer cuts a text before it does anything else."""

    matches: re.Pattern[str]
    """What is cut out of its surroundings, as a group."""
    tags: re.Pattern[str] | None = None
    """Added tokens, as a group, which are cut out before; None if a match can never reach into one."""

    def pieces(self, text: str) -> list[str]:
        """The text in pieces."""
        if self.tags is None:
            return [piece for piece in self.matches.split(text) if piece]
        parts = self.tags.split(text)
        # every other part is a tag
        cut = [[part] if i % 2 else self.matches.split(part) for i, part in enumerate(parts)]
        return [piece for pieces in cut for piece in pieces if piece]


class PromptEncoder:
    """Encodes prompts, most of which differ from one another in a few words and numbers.

    Many tokenizers begin by cutting a text wherever a pattern matches, and encode what lies between the cuts by itself. The tokens of a prompt
    are then those of its pieces, one after another, and a piece needs to be encoded only once. With other tokenizers every prompt is encoded
    as a whole.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.cuts = cuts_of(tokenizer)
        """Where prompts are cut; None for nowhere."""
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of rendered prompts, whose special tokens are spelled out in the text."""
        if self.cuts is None:
            return encode_all(self.tokenizer, texts)
        known = self._pieces
        if len(known) >= _CACHED:
            known.clear()
        cut = [self.cuts.pieces(text) for text in texts]
        missing = list(dict.fromkeys(piece for pieces in cut for piece in pieces if piece not in known))
        if missing:
            if not self._stay_whole(missing):
                self.cuts = None
                return encode_all(self.tokenizer, texts)
            known.update(zip(missing, encode_all(self.tokenizer, missing), strict=True))
        return [tuple(chain.from_iterable([known[piece] for piece in pieces])) for pieces in cut]

    def _stay_whole(self, pieces: Sequence[str]) -> bool:
        """Whether these pieces are not cut again when they stand alone, where a pattern's lookarounds see nothing."""
        assert self.cuts is not None
        if self.cuts.tags is None:  # cut at digits
            return True
        first = self.tokenizer.backend_tokenizer.pre_tokenizer
        return all(self.cuts.tags.fullmatch(piece) or len(first.pre_tokenize_str(piece)) == 1 for piece in pieces)


def cuts_of(tokenizer: PreTrainedTokenizerBase) -> Cuts | None:
    """Where a text can be cut before it is encoded; None if nowhere for certain.

    Told from the tokenizer's own description. Nothing may be normalised, padded or truncated, and the first thing done to a text, after added
    tokens were cut out, must be to isolate the matches of a pattern. Where every digit is isolated and the pattern looks at no digit
    otherwise, texts are cut at digits alone.
    """
    if not backend_agrees(tokenizer):
        return None
    description = json.loads(tokenizer.backend_tokenizer.to_str())
    first = description.get("pre_tokenizer") or {"type": None}
    first, *rest = first["pretokenizers"] if first["type"] == "Sequence" else [first]
    pattern, added = _isolated(first), description["added_tokens"]
    if (
        pattern is None
        or any(description.get(step) is not None for step in ("normalizer", "padding", "truncation"))
        or any(one["type"] != "ByteLevel" or one["add_prefix_space"] for one in rest)
        or any(one["single_word"] or one["lstrip"] or one["rstrip"] or one["normalized"] for one in added)
    ):
        return None
    tags = [one["content"] for one in added]
    if pattern.startswith(_DIGIT) and _WITHOUT_DIGITS.fullmatch(pattern.removeprefix(_DIGIT)):
        return None if any(re.search(_DIGIT, tag) for tag in tags) else Cuts(re.compile(f"({_DIGIT})"))
    if not tags or any(one["use_regex"] for one in rest):
        return None
    longest_first = "|".join(map(re.escape, sorted(tags, key=len, reverse=True)))
    return Cuts(re.compile(f"({pattern})"), re.compile(f"({longest_first})"))


def _isolated(step: object) -> str | None:
    """The pattern whose matches a pre-tokenizer isolates."""
    match step:
        case {"type": "Digits", "individual_digits": True}:
            return _DIGIT
        case {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex": str(pattern)}}:
            return pattern if _PLAIN.fullmatch(pattern) else None
    return None
