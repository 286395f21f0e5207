"""Probability ratios that start at 1: when the log-probabilities of replies are computed anew, in the pass that trains, before an update's first step.

Replies are sampled in one kind of pass (cached beginnings, packed rows, no gradients) and trained on in another. The two round differently, so the
ratio of the policy to itself is not exactly 1, and a clip as narrow as that acts on rounding. In single precision passes differ by some 1e-5 to 1e-3,
in 16 bits by a hundred times that.

So log-probabilities are computed anew where the clip is narrower than :data:`NARROW`, or in 16 bits than :data:`NARROW_IN_16_BITS`, and wherever the
ratios at an update's first step are found to be further from 1 than :data:`SHARE` of the clip. Elsewhere those recorded with the replies serve.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coplay.players.policy import Policy

NARROW = 0.01
"""Clips below this are near what two passes in single precision may differ by."""

NARROW_IN_16_BITS = 0.1
"""The same in 16 bits, where passes may differ by up to a tenth."""

SHARE = 0.1
"""Of the clip: ratios that differ from 1 by less than this before the first step do no harm."""


def scores_anew(policy: Policy, clip: float) -> bool:
    """Whether the log-probabilities of all replies are to be computed anew in the pass that trains, known before the first pass.

    Args:
        policy: what is trained. Tables and networks say nothing of a precision: their passes are alike.
        clip: of the probability ratio.
    """
    precision: torch.dtype | None = getattr(policy, "precision", None)
    if precision is None:
        return False
    return clip < (NARROW if precision.itemsize >= torch.float32.itemsize else NARROW_IN_16_BITS)


def off_by(logprobs_R: Tensor, old_logprobs_R: Tensor) -> Tensor:
    """How far each probability ratio is from 1, [R]; no gradient."""
    return torch.expm1(logprobs_R.detach() - old_logprobs_R).abs()
