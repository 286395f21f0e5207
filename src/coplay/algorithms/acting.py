"""Acting: sampling replies from a policy, scoring each (slot, observation) once for as long as the slot does not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from coplay.games.memory import Observation
from coplay.players.policy import Policy
from coplay.types import Move

_REMEMBERED_BYTES = 256 * 2**20
"""How much memory the distributions of one version may take."""


@dataclass(frozen=True)
class Decision:
    """The distribution over replies to one observation."""

    logprobs_V: npt.NDArray[np.float32]
    """Log-probability of every reply."""
    legal_probs: tuple[float, ...]
    """Probabilities of the legal replies, in the order of the seat's actions."""
    value: float | None
    """The value head's estimate; None without one."""


class Actor:
    """Samples replies from a policy's slots.

    Args:
        policy: the distributions.
        actions: the seat's actions, in the order of ``policy.legal``.
        values: turns (positions of seeds, hidden states [R, H]) into value estimates [R]; None for none.
    """

    def __init__(
        self,
        policy: Policy,
        actions: Sequence[str],
        values: Callable[[Sequence[int], Tensor], Tensor] | None = None,
    ) -> None:
        self.policy, self.actions, self.values = policy, tuple(actions), values
        self._decisions: dict[tuple[int, Observation], Decision] = {}

    def forget(self) -> None:
        """The policy has changed: drop all that was computed from it."""
        self._decisions.clear()

    def decide(self, keys: Sequence[tuple[int, Observation]], slots: dict[int, int]) -> list[Decision]:
        """The decision for each (position of the seed, observation); ``slots`` maps positions to slots."""
        missing = list(dict.fromkeys(key for key in keys if key not in self._decisions))
        if missing:
            self._make_room(len(missing))
            with torch.no_grad():
                scores = self.policy.score([slots[position] for position, _ in missing], [o for _, o in missing])
                values_R = self._values_of(missing, scores.hidden_RH)
                logprobs_RV = torch.log_softmax(scores.logits_RV, dim=-1).cpu().numpy()
            legal = list(self.policy.legal)
            probs_RA = np.exp(logprobs_RV[:, legal].astype(np.float64))
            for i, key in enumerate(missing):
                self._decisions[key] = Decision(logprobs_RV[i], tuple(probs_RA[i].tolist()), values_R[i])
        return [self._decisions[key] for key in keys]

    def _values_of(self, keys: Sequence[tuple[int, Observation]], hidden_RH: Tensor) -> list[float | None]:
        if self.values is None:
            return [None] * len(keys)
        values: list[float | None] = self.values([position for position, _ in keys], hidden_RH).tolist()
        return values

    def sample(self, decision: Decision, draw: float) -> Move:
        """Turn a uniform draw into a reply: legal replies first, in order, then the rest of the vocabulary."""
        edges = list(accumulate(decision.legal_probs))
        for action, reply, edge in zip(self.actions, self.policy.legal, edges, strict=True):
            if draw < edge:
                return self._move(decision, reply, action)
        rest_V = np.exp(decision.logprobs_V.astype(np.float64))
        rest_V[list(self.policy.legal)] = 0.0
        cumulative_V = np.cumsum(rest_V)
        if cumulative_V[-1] <= 0.0:  # no illegal replies exist; rounding left the draw above the last edge
            return self._move(decision, self.policy.legal[-1], self.actions[-1])
        threshold = min(draw - edges[-1], cumulative_V[-1] * (1.0 - 1e-12))
        return self._move(decision, int(np.searchsorted(cumulative_V, threshold, side="right")), None)

    def _move(self, decision: Decision, reply: int, action: str | None) -> Move:
        return Move(
            action=action,
            reply=self.policy.reply_text(reply),
            token=reply,
            logprob=float(decision.logprobs_V[reply]),
            value=decision.value,
            probs=decision.legal_probs,
        )

    def _make_room(self, wanted: int) -> None:
        if not self._decisions:
            return
        size = next(iter(self._decisions.values())).logprobs_V.nbytes
        while self._decisions and (len(self._decisions) + wanted) * size > _REMEMBERED_BYTES:
            del self._decisions[next(iter(self._decisions))]
