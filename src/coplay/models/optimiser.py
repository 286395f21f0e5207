"""Adam for parameters stacked over slots, of which only some step at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


class SlotAdam:
    """Adam (Kingma and Ba 2015, algorithm 1) on tensors of shape [P, ...], slot by slot.

    A slot that does not step keeps its weights, its moments and its step count, so each slot goes through exactly the updates that a
    ``torch.optim.AdamW`` of its own would make.

    Args:
        parameters: all on one device, of one type.
        rates: the learning rate of each slot, so learners can differ. Slots behind the last of them never step, and cost no moments.
        betas: decay rates of the two moments.
        eps: added to the root of the second moment.
        weight_decay: in each step weights shrink by this times the rate, however small the gradient is (AdamW, Loshchilov and Hutter
            2019, algorithm 2).
    """

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        rates: Sequence[float],
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.parameters = list(parameters)
        self.sizes = [p[0].numel() for p in self.parameters]
        self.rates_P = torch.tensor(rates).to(self.parameters[0])
        # one row a slot, all its parameters in a line: a step is then a few long operations instead of many short ones
        self.first_PD = self.parameters[0].new_zeros(len(rates), sum(self.sizes))
        self.second_PD = torch.zeros_like(self.first_PD)
        self.steps_P = torch.zeros(len(rates), dtype=torch.float64)

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def clip_grad_norm(self, max_norm: float) -> Tensor:
        """Scale each slot's gradient, all its parameters as one vector, down to this length if it is longer.

        Returns:
            The lengths before, [P].
        """
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if not grads:
            return self.parameters[0].new_zeros(len(self.parameters[0]))
        norm_P: Tensor = torch.stack([grad.flatten(1).norm(dim=1) for grad in grads]).norm(dim=0)
        factor_P = (max_norm / (norm_P + 1e-6)).clamp(max=1.0)  # as torch.nn.utils.clip_grad_norm_ has it
        for grad in grads:
            grad.mul_(factor_P.view((-1,) + (1,) * (grad.dim() - 1)))
        return norm_P

    @torch.no_grad()
    def step(self, slots: Sequence[int], *, scale: float = 1.0) -> list[int]:
        """One Adam step for these slots, at ``scale`` times their rates; the others stay as they are.

        Returns:
            Those of them whose gradient is not finite, which have not stepped.
        """
        chosen = None if self._are_all(slots) else torch.tensor(slots, dtype=torch.long, device=self.rates_P.device)
        grad_SD = self._grad(chosen)
        if not math.isfinite(grad_SD.sum()):  # one number tells that all are finite, but for sums that overflow
            finite_S = grad_SD.isfinite().all(dim=1).tolist()
            good = [slot for slot, finite in zip(slots, finite_S, strict=True) if finite]
            if len(good) < len(slots):
                if good:
                    self._step(good, self._grad(torch.tensor(good, device=self.rates_P.device)), scale)
                return [slot for slot in slots if slot not in good]
        self._step(slots, grad_SD, scale)
        return []

    def _step(self, slots: Sequence[int], grad_SD: Tensor, scale: float) -> None:
        """The step itself, with the slots' gradients."""
        chosen = torch.tensor(slots, dtype=torch.long)
        self.steps_P[chosen] += 1
        steps_S = self.steps_P[chosen]
        beta1, beta2 = self.betas
        correction1_S = (1.0 - beta1**steps_S).to(self.rates_P)
        correction2_S = (1.0 - beta2**steps_S).to(self.rates_P).sqrt_()
        index = chosen.to(self.rates_P.device)
        whole = self._are_all(slots)  # then nothing is copied out and back; the numbers are the same
        first_SD = (self.first_PD if whole else self.first_PD[index]).lerp_(grad_SD, 1.0 - beta1)
        second_SD = self.second_PD if whole else self.second_PD[index]
        second_SD.mul_(beta2).addcmul_(grad_SD, grad_SD, value=1.0 - beta2)
        if not whole:
            self.first_PD[index], self.second_PD[index] = first_SD, second_SD
        size_S = self.rates_P[index] * scale / correction1_S
        root_SD = second_SD.sqrt().div_(correction2_S[:, None])
        change_SD = (size_S[:, None] * first_SD).div_(root_SD.add_(self.eps))
        if self.weight_decay:
            self._shrink(index, scale)
        for parameter, change in zip(self.parameters, torch.split(change_SD, self.sizes, dim=1), strict=True):
            if whole:
                parameter.sub_(change.view_as(parameter))
            else:
                parameter.index_add_(0, index, change.view(-1, *parameter.shape[1:]), alpha=-1)

    def _shrink(self, index: Tensor, scale: float) -> None:
        """Shrink these slots' weights by the decay, before the step is taken."""
        kept_S = 1.0 - self.rates_P[index] * scale * self.weight_decay
        for parameter in self.parameters:
            parameter[index] *= kept_S.view((-1,) + (1,) * (parameter.dim() - 1))

    def _are_all(self, slots: Sequence[int]) -> bool:
        """Whether these are all slots of every parameter, in order."""
        return list(slots) == list(range(len(self.parameters[0]))) and len(slots) == len(self.rates_P)

    def _grad(self, index: Tensor | None) -> Tensor:
        """The gradients of these slots or of all, a row each; a parameter without one has had no part in the loss."""
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        return torch.cat([(grad if index is None else grad[index]).flatten(1) for grad in grads], dim=1)

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """One slot's moments and step count, for a checkpoint."""
        return {
            "steps": self.steps_P[slot].clone(),
            "first": self.first_PD[slot].clone(),
            "second": self.second_PD[slot].clone(),
        }

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`slot_state` returned."""
        self.steps_P[slot] = state["steps"]
        self.first_PD[slot] = state["first"]
        self.second_PD[slot] = state["second"]
