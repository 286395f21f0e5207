"""Adam for parameters stacked over slots, of which only some step at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class SlotAdam:
    """Adam (Kingma and Ba 2015, algorithm 1) on tensors of shape [P, ...], slot by slot.

    A slot that does not step keeps its moments and its step count, so each slot goes through exactly the updates that a
    ``torch.optim.Adam`` of its own would make.

    Args:
        groups: (parameters, learning rate of each slot). Rates are given per slot, so learners can differ.
        betas: decay rates of the two moments.
        eps: added to the root of the second moment.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[nn.Parameter], Sequence[float]]],
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.betas, self.eps = betas, eps
        self.parameters = [p for parameters, _ in groups for p in parameters]
        self.rates = [torch.tensor(rates, device=p.device) for parameters, rates in groups for p in parameters]
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        slots = self.parameters[0].shape[0]
        self.steps_P = torch.zeros(slots, dtype=torch.float64)

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def clip_grad_norm(self, longest: float) -> None:
        """Scale each slot's gradient, all its parameters as one vector, down to this length if it is longer."""
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if not grads:
            return
        norm_P = torch.stack([grad.flatten(1).norm(dim=1) for grad in grads]).norm(dim=0)
        factor_P = (longest / (norm_P + 1e-6)).clamp(max=1.0)  # as torch.nn.utils.clip_grad_norm_ has it
        for grad in grads:
            grad.mul_(factor_P.view((-1,) + (1,) * (grad.dim() - 1)))

    @torch.no_grad()
    def step(self, slots: Sequence[int], *, scale: float = 1.0) -> None:
        """One Adam step for these slots, at ``scale`` times their rates; the others stay as they are."""
        chosen = torch.tensor(slots, dtype=torch.long)
        self.steps_P[chosen] += 1
        steps = self.steps_P[chosen]
        beta1, beta2 = self.betas
        correction1 = (1.0 - beta1**steps).float()
        correction2 = (1.0 - beta2**steps).float().sqrt()
        for parameter, rates, first, second in zip(self.parameters, self.rates, self.first, self.second, strict=True):
            if parameter.grad is None:
                continue
            index = chosen.to(parameter.device)
            grad = parameter.grad[index]
            m = first[index].lerp_(grad, 1.0 - beta1)
            v = second[index].mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
            first[index], second[index] = m, v
            shape = (-1,) + (1,) * (grad.dim() - 1)
            size = (scale * rates[index] / correction1.to(rates)).view(shape)
            root = v.sqrt() / correction2.to(rates).view(shape) + self.eps
            parameter[index] -= size * m / root

    def state_dict(self) -> dict[str, Tensor]:
        """Moments and step counts, for a checkpoint."""
        state = {"steps": self.steps_P.clone()}
        for i, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            state[f"first.{i}"], state[f"second.{i}"] = first.clone(), second.clone()
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        self.steps_P.copy_(state["steps"])
        for i, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            first.copy_(state[f"first.{i}"])
            second.copy_(state[f"second.{i}"])
