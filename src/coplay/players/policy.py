"""What a learner trains: a player whose replies can be scored again, under parameters in slots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from coplay.games.records import Request, Turn
from coplay.models.generation import TokenScores
from coplay.players.base import Player

if TYPE_CHECKING:
    from coplay.models.scoring import Scorer


class ReplyScores(NamedTuple):
    """What a policy says of whole replies, one row a reply."""

    logprobs_R: Tensor
    """Natural log of each reply's probability."""
    entropies_R: Tensor
    """Entropy in nats of what each was sampled from: over the legal replies where a reply is one choice, else the mean over its tokens."""
    hidden_RH: Tensor
    """The state from which value heads make their estimates, before the reply."""


ValueEstimates = Callable[[Sequence[int], Tensor], list[float | None]]
"""From slots and hidden states [R, H] to value estimates; None for slots without a value head."""


class Policy(Player, Protocol):
    """A parametrised player, one set of parameters a slot."""

    width: int
    """H, the width of the hidden state that value heads read."""
    values: ValueEstimates | None
    """Estimates values while acting; a learner with value heads sets it. Policies that do not use it leave values to the learner's update."""

    @property
    def shares_passes(self) -> bool:
        """Whether rows of several slots are computed together, so that a learner should step all seeds at once."""
        return True

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """Score the replies of turns as a whole, one row for each (slot, turn)."""

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """Score the replies of turns token by token."""

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probability of each reply under the policy as it was before any learning."""

    def reply_key(self, turn: Turn) -> tuple[str | int | tuple[int, ...], ...]:
        """Turns of one key have the same scores under one slot, and are computed once; sortable."""

    @property
    def reference(self) -> int:
        """The slot of the policy as it was before any learning."""

    def parameters(self) -> list[nn.Parameter]:
        """What is learnt, stacked over slots: [P, ...]."""

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """Copies of one slot's parameters, for a checkpoint."""

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`slot_state` returned."""

    def bump_version(self, slots: Sequence[int]) -> None:
        """Say that these slots' parameters have changed: what was computed from them is dropped."""

    def clear_cache(self) -> None:
        """Drop all that was computed ahead: numbers computed in another batch may differ in their last digits."""

    def prompt_text(self, turn: Turn) -> str | None:
        """What a reader of the run is shown as the input of a turn."""


class BankParameters:
    """The parameters of a language model's policy: adapters in the slots of its scorer's bank."""

    scorer: Scorer

    @property
    def shares_passes(self) -> bool:
        """Not where slots go through the model one by one: what the backward pass needs would only take memory, for all of them."""
        return self.scorer.packed is None

    def parameters(self) -> list[nn.Parameter]:
        """The bank's adapters, all slots of all learners."""
        return self.scorer.bank.parameters()

    def unread_parameters(self) -> list[nn.Parameter]:
        """Adapters that had no part in what was scored with gradients since a slot last changed."""
        return self.scorer.bank.unread()

    @property
    def precision(self) -> torch.dtype:
        """What the frozen model computes in."""
        precision: torch.dtype = self.scorer.model.dtype
        return precision

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """See :class:`Policy`."""
        return self.scorer.bank.slot_state(slot)

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`Policy`."""
        self.scorer.bank.load_slot_state(slot, state)
        self.bump_version([])  # the bank knows; the policy's own caches are dropped

    def bump_version(self, slots: Sequence[int]) -> None:
        """See :class:`Policy`."""
        self.scorer.bank.bump_version(slots)


class TableParameters:
    """The parameters of a tabular policy: one table a slot."""

    theta: nn.Parameter
    """[P, features or rows, actions]."""
    shares_passes: ClassVar[bool] = True

    def parameters(self) -> list[nn.Parameter]:
        """The tables of all slots."""
        return [self.theta]

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """See :class:`Policy`."""
        return {"theta": self.theta.detach()[slot].clone()}

    @torch.no_grad()
    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`Policy`."""
        self.theta[slot] = state["theta"]
        self.bump_version([slot])

    def bump_version(self, slots: Sequence[int]) -> None:
        """See :class:`Policy`."""


def one_token_scores(scores: ReplyScores) -> TokenScores:
    """Scores of replies that are one token each, as scores of tokens."""
    return TokenScores(
        scores.logprobs_R, scores.entropies_R, torch.arange(len(scores.logprobs_R), device=scores.logprobs_R.device)
    )


KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


def cached(
    cache: dict[KeyT, ValueT], keys: Sequence[KeyT], compute: Callable[[list[KeyT]], Iterable[ValueT]], *, most: int
) -> list[ValueT]:
    """The value of each key, computed once; a cache that holds ``most`` values is emptied first."""
    missing = list(dict.fromkeys(key for key in keys if key not in cache))
    if missing and len(cache) >= most:
        cache.clear()
        missing = list(dict.fromkeys(keys))
    if missing:
        cache.update(zip(missing, compute(missing), strict=True))
    return [cache[key] for key in keys]


def slot_of(request: Request) -> int:
    """The slot that a policy is asked under."""
    assert request.slot is not None, "a policy is asked under a slot"
    return request.slot
