"""A choice among a few continuations of a prompt: greedy decoding with all other tokens masked, one forward pass where first tokens differ."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import takewhile

from coplay.models.scoring import Prompt, Scorer


def likeliest(
    scorer: Scorer,
    slots: Sequence[int],
    prompts: Sequence[Prompt],
    options: Sequence[Sequence[Prompt]],
    *,
    stop: Collection[int],
) -> list[int | None]:
    """The continuation of each prompt that greedy decoding reaches when only tokens of its continuations are allowed.

    At each token at which the continuations that are left differ, the likeliest of those tokens is taken, until one continuation is left. One
    that ends where others go on is taken if a stop token is the likeliest there.

    Args:
        scorer: the model and its bank.
        slots: the slot of each row.
        prompts: token ids of each row.
        options: the continuations of each row as token ids, one at least, all different.
        stop: token ids that end a reply.

    Returns:
        The position of the continuation that each row took; None where the model's logits are not finite.

    Raises:
        ValueError: if two continuations of a row are the same.
    """
    if any(len(set(own)) != len(own) for own in options):
        raise ValueError("the continuations of a prompt must differ")
    left: list[list[int]] = [list(range(len(own))) for own in options]
    while rows := [row for row, own in enumerate(left) if len(own) > 1]:
        common = {row: common_start([options[row][i] for i in left[row]]) for row in rows}
        scores = scorer.score([slots[row] for row in rows], [(*prompts[row], *common[row]) for row in rows])
        for row, logits_V in zip(rows, scores.logits_RV, strict=True):
            at = len(common[row])
            allowed = {i: [options[row][i][at]] if at < len(options[row][i]) else sorted(stop) for i in left[row]}
            tokens = sorted({token for own in allowed.values() for token in own})
            logits = dict(zip(tokens, logits_V[tokens].tolist(), strict=True))
            if not all(map(math.isfinite, logits.values())):
                left[row] = []
                continue
            best = max(tokens, key=lambda token: logits[token])
            left[row] = [i for i, own in allowed.items() if best in own]
    return [own[0] if own else None for own in left]


def common_start(rows: Sequence[Prompt]) -> Prompt:
    """The tokens that all rows begin with."""
    first, last = min(rows), max(rows)  # the lexicographic extremes differ earliest
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in same)
