"""Value heads: what a learner's policy knows of a situation, turned into what it expects from it; a head a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from coplay.rng import stream_seed


class ValueHeads:
    """One linear value head a seed: V = w . h + b."""

    def __init__(self, learner: str, seeds: Sequence[int], width: int, device: torch.device) -> None:
        weights = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(stream_seed(seed, "value head", learner))
            # torch.nn.Linear's own initialisation
            weights.append((torch.rand(width + 1, generator=generator) * 2.0 - 1.0) / math.sqrt(width))
        self.weights = nn.Parameter(torch.stack(weights).to(device))

    def __call__(self, positions: Sequence[int] | Tensor, hidden_RH: Tensor) -> Tensor:
        """Values [R] of hidden states [R, H] under the heads of these seeds' positions."""
        weights_RH = self.weights.index_select(0, torch.as_tensor(positions, device=self.weights.device))
        return (weights_RH[:, :-1] * hidden_RH).sum(-1) + weights_RH[:, -1]
