"""Small networks of one shape, stacked over slots: all slots of a batch share one pass, and each gets the gradient of a pass of its own.

A hidden layer is linear, LayerNorm, ReLU; the last layer is linear and starts at zero, so that all outputs are 0 before any learning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

EPS = 1e-5
"""LayerNorm's, as in torch.nn.LayerNorm."""


class StackedMLP:
    """A multi-layer perceptron for each slot.

    Args:
        inputs: F, width of the input.
        hidden: widths of the hidden layers, at least one.
        outputs: A, width of the output.
        seeds: for each slot the seed of its initial weights, which are those of ``torch.nn.Linear`` but for the last layer.
    """

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int, *, seeds: Sequence[int]) -> None:
        self.width, self.depth = hidden[-1], len(hidden)
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Of every parameter of a slot, by name: weights are [in, out]."""
        for i, (narrow, wide) in enumerate(pairwise((inputs, *hidden))):
            self.shapes[f"layers.{i}.weight"] = (narrow, wide)
            self.shapes |= {f"layers.{i}.{name}": (wide,) for name in ("bias", "gain", "shift")}
        self.shapes |= {"last.weight": (self.width, outputs), "last.bias": (outputs,)}
        self.sizes = [math.prod(shape) for shape in self.shapes.values()]
        # one row a slot, all its parameters in a line: the optimiser then takes a few long operations instead of many short ones
        self.flat = nn.Parameter(torch.stack([self._initial(seed) for seed in seeds]))
        """[P, all parameters]."""

    def _initial(self, seed: int) -> Tensor:
        """A slot's parameters before any learning, in a line."""
        generator = torch.Generator().manual_seed(seed)
        found: list[Tensor] = []
        most = 0.0
        for name, shape in self.shapes.items():
            if name.startswith("last") or name.endswith("shift"):
                found.append(torch.zeros(shape))
            elif name.endswith("gain"):
                found.append(torch.ones(shape))
            else:  # as torch.nn.Linear draws them
                most = 1.0 / math.sqrt(shape[0]) if len(shape) == 2 else most
                found.append((torch.rand(shape, generator=generator) * 2.0 - 1.0) * most)
        return torch.cat([one.flatten() for one in found])

    def _by_name(self, flat_PD: Tensor) -> dict[str, Tensor]:
        """Parameters of some slots by name, [P, ...]; views."""
        parts = torch.split(flat_PD, self.sizes, dim=1)
        return {name: part.view(-1, *shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def __call__(self, slots: Sequence[int] | np.ndarray, inputs_RF: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden layer [R, H] and the outputs [R, A] of rows, each under its slot."""
        used, places_SR, back_R = _by_slot(np.asarray(slots))
        whole = len(used) == len(self.flat)
        own = self._by_name(self.flat if whole else self.flat.index_select(0, torch.from_numpy(used)))
        hidden_SRH = inputs_RF[torch.from_numpy(places_SR)]
        for i in range(self.depth):
            bias, gain, shift = (own[f"layers.{i}.{name}"][:, None] for name in ("bias", "gain", "shift"))
            linear_SRH = torch.baddbmm(bias, hidden_SRH, own[f"layers.{i}.weight"])
            normed_SRH = nn.functional.layer_norm(linear_SRH, linear_SRH.shape[-1:], eps=EPS)
            hidden_SRH = torch.relu(torch.addcmul(shift, normed_SRH, gain))
        outputs_SRA = torch.baddbmm(own["last.bias"][:, None], hidden_SRH, own["last.weight"])
        back = torch.from_numpy(back_R)
        return hidden_SRH.flatten(0, 1).index_select(0, back), outputs_SRA.flatten(0, 1).index_select(0, back)

    def parameters(self) -> list[nn.Parameter]:
        """All parameters of all slots, as one."""
        return [self.flat]

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """Copies of one slot's parameters by name."""
        return {name: one[0].clone() for name, one in self._by_name(self.flat.detach()[slot : slot + 1]).items()}

    @torch.no_grad()
    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`slot_state` returned."""
        for name, one in self._by_name(self.flat[slot : slot + 1]).items():
            one[0] = state[name]


def _by_slot(slots_R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows put side by side by slot.

    Returns:
        The slots that occur, in order; for each the numbers of its rows, those of slots with fewer filled up with row 0, [S, R']; and for each
        row its place in that, flattened.
    """
    used, counts = np.unique(slots_R, return_counts=True)
    most = int(counts.max())
    if len(slots_R) == most * len(used) and bool((slots_R == np.repeat(used, most)).all()):
        back_R = np.arange(len(slots_R))
        return used, back_R.reshape(len(used), most), back_R
    order_R = np.argsort(slots_R, kind="stable")
    starts_S = np.cumsum(counts) - counts
    places_R = np.arange(len(slots_R)) - np.repeat(starts_S, counts) + np.repeat(np.arange(len(used)) * most, counts)
    filled = np.zeros(len(used) * most, dtype=np.int64)
    filled[places_R] = order_R
    back_R = np.empty(len(slots_R), dtype=np.int64)
    back_R[order_R] = places_R
    return used, filled.reshape(len(used), most), back_R
