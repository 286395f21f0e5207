"""A learner that does not move is an error: it would report a run in which nothing was learnt.

Each slot of each learner is watched until one of its optimiser steps has been seen to change its parameters:

1. What the loss is made of depends on the parameters, and every tensor of parameters that had a part in it gets a gradient, even if that is zero.
2. A gradient that is zero throughout is right where credits are zero or cancel. Whether it is wrong is decided by something that cannot cancel,
   for policies the gradient of the log-probability of a single reply, the least certain one: if that is zero too, nothing can ever be learnt.
3. A step that is larger than the spacing of floating-point numbers changes the parameters.

So no seed is refused for equal payoffs, a learning rate of 0, an update that is left out, a gradient that is not finite (which ends the seed
elsewhere) or a policy that is certain of all its replies.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from coplay.errors import Unmoved
from coplay.games.records import Turn
from coplay.models.optimiser import SlotAdam
from coplay.players.policy import Policy

CERTAIN = 1e-6
"""A reply of at least probability 1 - CERTAIN is certain: in single precision its gradient may be zero."""

_SPACINGS = 4.0
"""A step of so many spacings of floating-point numbers is large enough to change the number."""

_VANISHING = 1e-20
"""What an optimiser multiplies on the way to steps below this may vanish in single precision, also where a number is 0 and its spacing is none."""

DETACHED = (
    "cannot move: what its loss is made of does not depend on its parameters",
    "they are frozen (requires_grad=False), or the pass that scores replies is detached from them",
)
"""What is said of a loss without gradients, and its likely cause."""

ZeroIsWrong = Callable[[int], bool]
"""Whether it is wrong that a slot's gradient is zero throughout."""


class Movement:
    """Watches the parameters of one learner; see the module.

    Args:
        part: what the parameters are, for errors, e.g. ``policy``.
        parameters: stacked over slots, [P, ...].
        who: whose each slot is, for errors, e.g. ``learner 'row' (seed 3)``.
        unread: tells parameters that had no part in what was computed last, such as those of layers that a pass did not come by.
    """

    def __init__(
        self,
        part: str,
        parameters: Sequence[nn.Parameter],
        who: Mapping[int, str],
        *,
        unread: Callable[[], Sequence[nn.Parameter]] = tuple,
    ) -> None:
        self.part, self.parameters, self.who, self._unread = part, list(parameters), dict(who), unread
        self.waiting = set(self.who)
        """The slots that have not been seen to move."""
        self._can_learn: set[int] = set()

    def connected(self, numbers: Tensor, slots: Sequence[int]) -> None:
        """Check that what a loss is made of depends on parameters; raises Unmoved."""
        if not numbers.requires_grad:
            self._refuse(slots[0], *DETACHED)

    @contextlib.contextmanager
    def step(
        self,
        slots: Sequence[int],
        *,
        rate: float | Mapping[int, float],
        eps: float | None = None,
        gradients: Sequence[Tensor | None] | None = None,
        zero_is_wrong: ZeroIsWrong = lambda slot: False,
    ) -> Iterator[None]:
        """Watch an optimiser step of these slots, which is taken in the block.

        Args:
            slots: the slots that step.
            rate: the learning rate, of all or of each.
            eps: Adam's; None for plain steps along the gradient.
            gradients: of the parameters, [P, ...]; by default those that a backward pass has left there.
            zero_is_wrong: see :data:`ZeroIsWrong`; asked only where the gradient is zero.

        Raises:
            Unmoved: if a slot gets no gradient, or the step does not change its parameters.
        """
        watched = [slot for slot in slots if slot in self.waiting]
        if not watched:
            yield
            return
        found = [parameter.grad for parameter in self.parameters] if gradients is None else list(gradients)
        self._refuse_missing(found, watched[0])
        before: dict[int, list[int]] = {}
        for slot in watched:
            own_rate = rate if isinstance(rate, float | int) else rate[slot]
            size = self._largest_step(slot, found, own_rate, eps, zero_is_wrong)
            if size > _SPACINGS:
                before[slot] = self._fingerprint(slot)
        yield
        for slot, fingerprint in before.items():
            if self._fingerprint(slot) == fingerprint:
                own_rate = rate if isinstance(rate, float | int) else rate[slot]
                self._refuse(
                    slot,
                    f"has not moved: an optimiser step at learning rate {own_rate:g} left its {self.part} as it was",
                    "the optimiser holds copies of the parameters, or something puts them back",
                )
            self.waiting.discard(slot)

    def adam_step(
        self,
        adam: SlotAdam,
        slots: Sequence[int],
        *,
        scale: float = 1.0,
        zero_is_wrong: ZeroIsWrong = lambda slot: False,
    ) -> list[int]:
        """An optimiser step of these slots, watched; see :meth:`step` and :meth:`coplay.models.optimiser.SlotAdam.step`."""
        rates = {slot: float(adam.rates_P[slot]) * scale for slot in slots if slot in self.waiting}
        with self.step(slots, rate=rates, eps=adam.eps, zero_is_wrong=zero_is_wrong):
            return adam.step(slots, scale=scale)

    def _refuse_missing(self, found: Sequence[Tensor | None], slot: int) -> None:
        """Every tensor of parameters that had a part in the loss has a gradient."""
        if all(gradient is not None for gradient in found):
            return
        unread = {id(parameter) for parameter in self._unread()}
        missing = [
            place
            for place, (parameter, gradient) in enumerate(zip(self.parameters, found, strict=True))
            if gradient is None and id(parameter) not in unread
        ]
        if missing:
            self._refuse(
                slot,
                f"cannot move: no gradient reaches {len(missing)} of the {len(found)} tensors of its {self.part}",
                "parameters are frozen (requires_grad=False), the pass that scores replies is detached, or layers of the model cannot be"
                " differentiated, as quantised ones may not",
            )

    def _largest_step(
        self,
        slot: int,
        found: Sequence[Tensor | None],
        rate: float,
        eps: float | None,
        zero_is_wrong: ZeroIsWrong,
    ) -> float:
        """How far the coming step moves a slot at most, in spacings of floating-point numbers; 0 if it does not step."""
        largest, moves = 0.0, False
        for parameter, gradient in zip(self.parameters, found, strict=True):
            if gradient is None or not parameter.is_floating_point():
                continue
            size = gradient[slot].detach().abs()
            if not bool(size.isfinite().all()):
                return 0.0  # it does not step, and its seed ends
            if not bool(size.any()):
                continue
            moves = True
            step = rate * (size if eps is None else size / (size + eps))
            spacing = torch.finfo(parameter.dtype).eps * parameter.detach()[slot].abs()
            largest = max(largest, float((step / spacing.clamp(min=_VANISHING)).max()))
        if not moves and slot not in self._can_learn:
            if zero_is_wrong(slot):
                self._refuse(
                    slot,
                    f"cannot move: the gradient of its {self.part} is zero, whatever it is credited with",
                    "both halves of its adapter are zero, or what it replies does not depend on what is trained (adapter.targets)",
                )
            self._can_learn.add(slot)
        return largest

    def reaches(self, number: Tensor, slot: int) -> bool:
        """Whether a slot's parameters have a gradient other than zero in a number."""
        trained = [parameter for parameter in self.parameters if parameter.requires_grad]
        gradients = torch.autograd.grad(number, trained, allow_unused=True) if number.requires_grad else ()
        return any(bool(gradient[slot].any()) for gradient in gradients if gradient is not None)

    def _fingerprint(self, slot: int) -> list[int]:
        """A checksum of a slot's numbers, tensor by tensor: a copy of them might not fit beside a large model."""
        rows = [parameter.detach()[slot].flatten().contiguous().cpu() for parameter in self.parameters]
        return [zlib.crc32(row.view(torch.uint8).numpy().data) for row in rows]

    def _refuse(self, slot: int, what: str, cause: str) -> None:
        raise unmoved(self.who[slot], what, cause)


def unmoved(who: str, what: str, cause: str) -> Unmoved:
    """The error for a learner that does not move.

    Args:
        who: the learner and its seed.
        what: what was seen of it.
        cause: what it likely comes from.
    """
    return Unmoved(f"{who} {what}. Likely cause: {cause}")


def seed_of(learner: str, seed: int) -> str:
    """What errors call a learner's seed."""
    return f"learner {learner!r} (seed {seed})"


def movement_of(learner: str, policy: Policy, slots: Mapping[int, int]) -> Movement:
    """Watches the policy of a learner.

    Args:
        learner: its name.
        policy: what it trains.
        slots: the policy's slot of each seed.
    """
    unread = getattr(policy, "unread_parameters", tuple)
    who = {slot: seed_of(learner, seed) for seed, slot in slots.items()}
    return Movement("policy", policy.parameters(), who, unread=unread)


def cannot_learn(movement: Movement, policy: Policy, slot: int, turns: Sequence[Turn]) -> bool:
    """Whether a policy's replies do not depend on a slot's parameters: told from the least certain of these; see the module, 2."""
    least = min(turns, key=lambda turn: sum(turn.reply.logprobs), default=None)
    if least is None or not least.reply.tokens:
        return False
    logprob = policy.score_replies([slot], [least], grad=True).logprobs_R[0]
    number = float(logprob.detach())
    return math.isfinite(number) and number < math.log1p(-CERTAIN) and not movement.reaches(logprob, slot)
