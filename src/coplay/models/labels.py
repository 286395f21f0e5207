"""Action labels as tokens: each is one token behind a prompt, or is refused with labels that are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING

from coplay.errors import UsageError
from coplay.models.loading import encode, encode_all

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_OFFERED = 3
"""Sets of labels that are offered."""

_WORDS = ("yes", "no", "Yes", "No", "left", "right", "up", "down", "red", "blue", "one", "two", "true", "false")

_BEGINNINGS = "CAXPJ"
"""Letters that offered sets begin with, where they can."""


def reply_tokens(tokenizer: PreTrainedTokenizerBase, prompt: str, labels: Sequence[str]) -> tuple[int, ...]:
    """The single token that each label is when it follows ``prompt``.

    Raises:
        UsageError: naming the labels that are not single tokens there, or are the same one, with labels that can be used.
    """
    before = encode(tokenizer, prompt)
    encoded = encode_all(tokenizer, [prompt + label for label in labels])
    special = frozenset(tokenizer.all_special_ids)
    tokens = [_single(before, ids, special) for ids in encoded]
    wrong = [
        f"{label!r} ({_reason(before, ids)})"
        for label, ids, token in zip(labels, encoded, tokens, strict=True)
        if token is None
    ]
    found = tuple(token for token in tokens if token is not None)
    if not wrong and len(set(found)) == len(labels):
        return found
    if wrong:
        what = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not a single token in the model's tokenizer"
    else:
        what = f"{', '.join(map(repr, labels))} are not different tokens in the model's tokenizer"
    offered = [",".join(own) for own in islice(_sets(tokenizer, prompt, len(labels)), _OFFERED)]
    works = f"these work behind this prompt: {' or '.join(offered)}" if offered else "none was found behind this prompt"
    raise UsageError(f"labels: {what}; every action label must be one of its own: {works}")


def _single(before: Sequence[int], ids: Sequence[int], special: Collection[int]) -> int | None:
    """The one token behind the prompt's; None if there are more or fewer, it is a special one, or the prompt's own change."""
    is_one_more = len(ids) == len(before) + 1 and tuple(ids[:-1]) == tuple(before)
    return ids[-1] if is_one_more and ids[-1] not in special else None


def _reason(before: Sequence[int], ids: Sequence[int]) -> str:
    if tuple(ids[: len(before)]) != tuple(before):
        return "it merges with the end of the prompt"
    count = len(ids) - len(before)
    if count == 1:
        return "a special token, or that of unknown text"
    return f"{count} tokens" if count else "no token"


def _sets(tokenizer: PreTrainedTokenizerBase, prompt: str, size: int) -> Iterator[tuple[str, ...]]:
    """Sets of so many labels that are different single tokens behind the prompt, and are written as they read."""
    tried = [*ascii_uppercase, *digits, *ascii_lowercase, *_WORDS]
    before, special = encode(tokenizer, prompt), frozenset(tokenizer.all_special_ids)
    tokens: dict[str, int] = {}
    for label, ids in zip(tried, encode_all(tokenizer, [prompt + label for label in tried]), strict=True):
        token = _single(before, ids, special)
        if token is not None and token not in tokens.values() and str(tokenizer.decode([token])).strip() == label:
            tokens[label] = token
    rows = [ascii_uppercase[ascii_uppercase.index(one) :] for one in _BEGINNINGS] + [digits[1:], ascii_lowercase]
    seen: set[str] = set()
    for row in [*rows, _WORDS, tuple(tokens)]:
        found = tuple(label for label in row if label in tokens and label not in seen)[:size]
        if len(found) == size:
            seen.update(found)
            yield found
