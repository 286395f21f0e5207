"""A choice among a few continuations of a prompt, with all other tokens masked: the likeliest one, or the probability of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import takewhile

import torch

from coplay.models.scoring import LogitsOf, Prompt


def likeliest(
    scorer: LogitsOf,
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


def probabilities(
    scorer: LogitsOf,
    slots: Sequence[int],
    prompts: Sequence[Prompt],
    options: Sequence[Sequence[Prompt]],
    *,
    stop: Collection[int],
) -> list[tuple[float, ...]]:
    """The probability of each continuation when tokens are sampled one by one and only those of the continuations are allowed.

    Wherever continuations part, the probabilities of the tokens that go on are scaled to sum to 1, and those of a continuation are multiplied. One
    that ends where others go on has the stop tokens.

    Args:
        scorer: the model and its bank.
        slots: the slot of each row.
        prompts: token ids of each row.
        options: the continuations of each row as token ids, one at least, all different.
        stop: token ids that end a reply.

    Returns:
        Of each row one probability a continuation, in order; NaN where the model's logits are not finite.

    Raises:
        ValueError: if two continuations of a row are the same.
    """
    if any(len(set(own)) != len(own) for own in options):
        raise ValueError("the continuations of a prompt must differ")
    found = [[1.0] * len(own) for own in options]
    open_ = [(row, tuple(range(len(own)))) for row, own in enumerate(options) if len(own) > 1]
    while open_:
        starts = [common_start([options[row][i] for i in group]) for row, group in open_]
        scored = [(*prompts[row], *start) for (row, _), start in zip(open_, starts, strict=True)]
        logits_NV = scorer.score([slots[row] for row, _ in open_], scored).logits_RV
        following: list[tuple[int, tuple[int, ...]]] = []
        for (row, group), start, logits_V in zip(open_, starts, logits_NV, strict=True):
            branches: dict[int, list[int]] = {}
            for i in group:
                own = options[row][i]
                branches.setdefault(own[len(start)] if len(start) < len(own) else -1, []).append(i)
            tokens = [sorted(stop) if token == -1 else [token] for token in branches]
            masses = torch.stack([torch.logsumexp(logits_V[own].double(), 0) for own in tokens])
            shares: list[float] = torch.softmax(masses, 0).tolist()
            for share, members in zip(shares, branches.values(), strict=True):
                for i in members:
                    found[row][i] *= share
                if len(members) > 1:
                    following.append((row, tuple(members)))
        open_ = following
    return [tuple(own) for own in found]


def common_start(rows: Sequence[Prompt]) -> Prompt:
    """The tokens that all rows begin with."""
    first, last = min(rows), max(rows)  # the lexicographic extremes differ earliest
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in same)
