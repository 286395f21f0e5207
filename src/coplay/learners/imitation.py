"""Imitation: an adapter is trained to give the replies of demonstrators, token by token (SEPO, section 3.5).

The loss is the cross-entropy of the replies' tokens, the one that ends a reply included, each given the prompt and the tokens before it; prompts
are read and not learnt. Each token counts the same, so a long reply counts more than a short one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch

from coplay.errors import CoplayError
from coplay.learners.losses import cosine_schedule
from coplay.learners.sft import Course, Taught, backward, train_slot
from coplay.models.generation import Generator
from coplay.models.scoring import Prompt

_ROWS_A_PASS = 32
"""Replies scored at a time without gradients."""


@dataclass(frozen=True)
class Replies:
    """Replies to be learnt, N rows of tokens."""

    prompts: list[Prompt]
    """What is read before each."""
    replies: list[Prompt]
    """The replies, each with the token that ends it."""
    actions: list[int]
    """Where in each reply its last line begins, which is the action."""
    groups: list[tuple[str, str]]
    """Game and strategy of each; empty words where they are not told."""


@dataclass(frozen=True)
class Lessons:
    """How replies are learnt; AdamW without weight decay is Adam."""

    epochs: int
    """Passes over the examples."""
    learning_rate: float
    """AdamW's rate at its peak; see :func:`coplay.learners.losses.cosine_schedule`."""
    warmup: float
    """The share of the steps in which the rate rises."""
    batch_size: int
    """Examples in an optimiser step."""
    microbatch_size: int
    """Examples that go through the model at a time; gradients add up, so this only trades memory for speed."""
    weight_decay: float
    """AdamW's."""
    max_grad_norm: float
    """The largest norm of a gradient; larger ones are scaled down to it."""

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of an optimiser step."""
        return cosine_schedule(self.learning_rate, step=step, steps=steps, warmup=self.warmup)


@dataclass(frozen=True)
class Mastery:
    """How well replies were learnt, with each token given those before it as they were demonstrated."""

    examples: int
    """How many replies."""
    tokens: int
    """How many tokens they have."""
    loss: float
    """Mean cross-entropy of a token, in nats."""
    token_accuracy: float
    """The share of the tokens that are the likeliest ones there."""
    action_accuracy: float
    """The share of the replies whose tokens from the last line on are all the likeliest ones: the action, given the reason."""


def imitate(
    generator: Generator,
    slot: int,
    data: Replies,
    lessons: Lessons,
    *,
    seed: int,
    progress: Callable[[int, float], None] = lambda epoch, loss: None,
) -> list[float]:
    """Train one adapter on replies. The same arguments give the same weights on the same machine.

    Args:
        generator: the model and its bank, which has this slot alone: AdamW's weight decay would shrink others.
        slot: the adapter.
        data: the replies.
        lessons: how.
        seed: decides the order of the examples.
        progress: called after each epoch with its number, from 1, and the mean loss of a token.

    Returns:
        The mean loss of each epoch, taken while it was going on.

    Raises:
        CoplayError: if a loss, a gradient or the adapter is not finite, naming the epoch and the step.
        Unmoved: if the adapter does not move.
    """

    def teach(rows: Sequence[int]) -> Taught:
        total, loss = sum(len(data.replies[row]) for row in rows), 0.0
        for start in range(0, len(rows), lessons.microbatch_size):
            part = rows[start : start + lessons.microbatch_size]
            prompts, replies = [data.prompts[row] for row in part], [data.replies[row] for row in part]
            summed = -generator.score([slot] * len(part), prompts, replies, grad=True).logprobs_N.sum()
            backward(summed / total, course.name)
            loss += float(summed.detach())
        return Taught(loss, total)

    bank = generator.scorer.bank
    optimiser = torch.optim.AdamW(bank.parameters(), lr=lessons.learning_rate, weight_decay=lessons.weight_decay)
    course = Course("fine-tuning", lessons.epochs, lessons.batch_size, lessons.max_grad_norm, lessons.rate)
    return train_slot(bank, slot, optimiser, course, teach, rows=len(data.prompts), seed=seed, progress=progress)


def measure(generator: Generator, slot: int, data: Replies) -> dict[tuple[str, str], Mastery]:
    """How well an adapter knows replies: all together (under two empty words), each game (and an empty word), each game's strategies.

    Raises:
        CoplayError: if the loss is not finite.
    """
    keys = list(zip(data.prompts, data.replies, strict=True))
    rows = {key: row for row, key in reversed(list(enumerate(keys)))}  # equal ones are scored once
    order = sorted(rows.values(), key=lambda row: len(data.prompts[row]) + len(data.replies[row]))
    found: dict[tuple[Prompt, Prompt], _Scored] = {}
    for start in range(0, len(order), _ROWS_A_PASS):
        part = order[start : start + _ROWS_A_PASS]
        scored = _score(generator, slot, data, part)
        found |= {keys[row]: one for row, one in zip(part, scored, strict=True)}
    groups: dict[tuple[str, str], list[_Scored]] = {("", ""): []}
    for key, (game, strategy) in zip(keys, data.groups, strict=True):
        for group in dict.fromkeys([("", ""), (game, ""), (game, strategy)]):
            groups.setdefault(group, []).append(found[key])
    mastery = {group: _summed(of_group) for group, of_group in sorted(groups.items())}
    if not math.isfinite(mastery["", ""].loss):
        raise CoplayError("the model's loss on the demonstrations is not finite; see that model and adapter are whole")
    return mastery


@dataclass(frozen=True)
class _Scored:
    """One reply."""

    loss: float
    tokens: int
    right: int
    acted: bool


def _score(generator: Generator, slot: int, data: Replies, rows: Sequence[int]) -> list[_Scored]:
    replies = [data.replies[row] for row in rows]
    logprobs_N, likeliest_N = generator.agreement(slot, [data.prompts[row] for row in rows], replies)
    logprobs, likeliest = logprobs_N.tolist(), likeliest_N.tolist()
    ends = accumulate(map(len, replies), initial=0)
    return [
        _Scored(-sum(logprobs[a:b]), b - a, sum(likeliest[a:b]), all(likeliest[a + data.actions[row] : b]))
        for row, (a, b) in zip(rows, pairwise(ends), strict=True)
    ]


def _summed(scored: Sequence[_Scored]) -> Mastery:
    tokens = sum(one.tokens for one in scored)
    return Mastery(
        examples=len(scored),
        tokens=tokens,
        loss=sum(one.loss for one in scored) / tokens,
        token_accuracy=sum(one.right for one in scored) / tokens,
        action_accuracy=sum(one.acted for one in scored) / len(scored),
    )
