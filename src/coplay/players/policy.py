"""What a learner trains: a player whose replies can be scored again, under parameters in slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from coplay.games.records import Turn
from coplay.models.generation import TokenScores
from coplay.players.base import Player


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

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """Score the replies of turns as a whole, one row for each (slot, turn)."""
        ...

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """Score the replies of turns token by token."""
        ...

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probability of each reply under the policy as it was before any learning."""
        ...

    def reply_key(self, turn: Turn) -> Any:
        """Turns of one key have the same scores under one slot, and are computed once; sortable."""
        ...

    @property
    def reference(self) -> int:
        """The slot of the policy as it was before any learning."""
        ...

    def parameters(self) -> list[nn.Parameter]:
        """What is learnt, stacked over slots: [P, ...]."""
        ...

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        """Copies of one slot's parameters, for a checkpoint."""
        ...

    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`slot_state` returned."""
        ...

    def bump_version(self, slots: Sequence[int]) -> None:
        """Say that these slots' parameters have changed: what was computed from them is dropped."""
        ...

    def clear_cache(self) -> None:
        """Drop all that was computed ahead: numbers computed in another batch may differ in their last digits."""
        ...

    def prompt_text(self, turn: Turn) -> str | None:
        """What a reader of the run is shown as the input of a turn."""
        ...
