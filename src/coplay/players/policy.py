"""What a learner learns with: a distribution over replies for each observation, in slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import nn

from coplay.games.memory import Observation
from coplay.models.scoring import Scores


class Policy(Protocol):
    """A parametrised distribution over replies given an observation, one set of parameters a slot.

    The reply vocabulary V holds the legal replies at ``legal``, in the order of the seat's actions; every other entry is an illegal
    reply. Tabular policies have no illegal replies.
    """

    legal: tuple[int, ...]
    """Where in the vocabulary the seat's actions stand."""
    width: int
    """H, the width of the hidden state that value heads read."""

    def score(self, slots: Sequence[int], observations: Sequence[Observation], *, grad: bool = False) -> Scores:
        """Reply logits and hidden states, one row for each (slot, observation)."""
        ...

    def reference_logprobs(self, observations: Sequence[Observation], replies: Sequence[int]) -> list[float]:
        """Log-probability of each reply under the policy as it was before any learning."""
        ...

    def parameters(self) -> list[nn.Parameter]:
        """What is learnt, stacked over slots: [P, ...]."""
        ...

    def touch(self, slots: Sequence[int]) -> None:
        """Say that these slots' parameters have changed."""
        ...

    def forget(self) -> None:
        """Drop what is remembered: numbers computed in another batch may differ in their last digits."""
        ...

    def reply_text(self, reply: int) -> str:
        """The reply as text."""
        ...

    def prompt_text(self, observation: Observation) -> str:
        """What a reader of the run is shown as the input."""
        ...
