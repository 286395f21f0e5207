"""Entropies of a model's distributions."""

from __future__ import annotations

import torch
from torch import Tensor


def restricted_entropy(legal_logits_RA: Tensor) -> Tensor:
    """Entropy in nats of the distribution over the legal replies alone, renormalised (ShapeLLM, appendix A.5). Shape [R]."""
    logprobs_RA = torch.log_softmax(legal_logits_RA, dim=-1)
    return -(logprobs_RA.exp() * logprobs_RA).sum(dim=-1)
