"""Supervised fine-tuning: one loop that trains an adapter on rows whose answers are known, whatever is asked and however answers are compared.

:mod:`coplay.learners.alignment` trains towards another policy's probabilities of the labels, :mod:`coplay.learners.imitation` towards
replies that were written before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.errors import CoplayError
from coplay.learners.movement import DETACHED, Movement, unmoved
from coplay.models.bank import AdapterBank
from coplay.rng import stream


class Taught(NamedTuple):
    """What a minibatch came to."""

    loss: float
    """The sum of the losses of its units."""
    units: int
    """How many units there are: prompts, or tokens."""


_WORTH_A_GRADIENT = 1e-4
"""A mean loss above this, in nats, whose gradient is zero cannot be of a model that is trained."""

Teach = Callable[[Sequence[int]], Taught]
"""From the numbers of a minibatch's rows to its losses; it adds the gradient of their mean to the adapter's parameters."""


@dataclass(frozen=True)
class Course:
    """How an adapter is trained, whatever it is trained on."""

    name: str
    """What is done, e.g. ``alignment``: begins the name of the stream that orders the rows, and is told in errors."""
    epochs: int
    """Passes over the rows."""
    minibatch: int
    """Rows in an optimiser step."""
    max_grad_norm: float
    """The largest norm of a gradient; larger ones are scaled down to it."""
    rate: Callable[[int, int], float]
    """From the number of an optimiser step, from 0, and the number of all steps to the learning rate."""


def train_slot(
    bank: AdapterBank,
    slot: int,
    optimiser: torch.optim.Optimizer,
    course: Course,
    teach: Teach,
    *,
    rows: int,
    seed: int,
    progress: Callable[[int, float], None] = lambda epoch, loss: None,
) -> list[float]:
    """Train one adapter. The same arguments give the same weights on the same machine.

    Args:
        bank: the bank whose adapter is trained.
        slot: which adapter. No other one is touched, unless the optimiser changes weights without gradients.
        optimiser: of the bank's parameters, at its beginning.
        course: how.
        teach: what a minibatch teaches.
        rows: how many rows there are.
        seed: decides the order of the rows.
        progress: called after each epoch with its number, from 1, and its mean loss.

    Returns:
        The mean loss of each epoch, taken while it was going on.

    Raises:
        CoplayError: if a loss, a gradient or the adapter is not finite, naming the epoch and the step.
        Unmoved: if the adapter gets no gradient, or the optimiser does not change it.
    """
    step, losses = 0, []
    moving = Movement("adapter", bank.parameters(), {slot: f"the {course.name}"}, unread=bank.unread)
    steps = course.epochs * -(-rows // course.minibatch)
    for epoch in range(course.epochs):
        order = stream(seed, f"{course.name} order", epoch).permutation(rows).tolist()
        summed, units = 0.0, 0
        for start in range(0, rows, course.minibatch):
            optimiser.zero_grad()
            taught = teach(order[start : start + course.minibatch])
            norm = torch.nn.utils.clip_grad_norm_(bank.parameters(), course.max_grad_norm)
            for what, number in (("the loss is", taught.loss), ("the gradient is", norm)):
                if not math.isfinite(number):
                    raise _diverged(course, what, epoch + 1, step + 1, steps)
            rate = course.rate(step, steps)
            for group in optimiser.param_groups:
                group["lr"] = rate
            wrong = {slot: taught.loss > _WORTH_A_GRADIENT * taught.units}
            eps = optimiser.defaults.get("eps")
            with moving.step([slot], rate=rate, eps=eps, zero_is_wrong=wrong.__getitem__):
                optimiser.step()
            bank.bump_version([slot])
            summed, units = summed + taught.loss, units + taught.units
            step += 1
        losses.append(summed / units)
        progress(epoch + 1, losses[-1])
    if not all(math.isfinite(weight.detach()[slot].sum()) for weight in bank.parameters()):
        raise _diverged(course, "the adapter is", course.epochs, steps, steps)
    return losses


def backward(loss: Tensor, name: str) -> None:
    """Add a loss's gradient to the adapter's parameters; raises Unmoved if it does not depend on them.

    Args:
        loss: a number.
        name: what is done, for errors, e.g. ``alignment``.
    """
    if not loss.requires_grad:
        raise unmoved(f"the {name}", *DETACHED)
    loss.backward()  # type: ignore[no-untyped-call]


def _diverged(course: Course, what: str, epoch: int, step: int, steps: int) -> CoplayError:
    where = f"in epoch {epoch}, step {step} of {steps}"
    return CoplayError(f"the {course.name} diverged: {what} not finite {where}. Try a smaller learning rate")
