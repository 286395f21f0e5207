"""Players that choose one of a few replies: a distribution for each observation, sampled with one uniform number.

Language models that reply with one token and tables differ in how they score an observation, and in nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from coplay.games.memory import Memory, Observation
from coplay.games.records import Reply, Request, Turn
from coplay.models.entropy import restricted_entropy
from coplay.models.generation import TokenScores
from coplay.models.scoring import Scores
from coplay.players.policy import ReplyScores, ValueEstimates, one_token_scores, slot_of

_CACHED_BYTES = 256 * 2**20
"""How much memory the distributions of one version may take."""


class Key(NamedTuple):
    """What a distribution depends on, but for the slot."""

    seat: str
    """The seat that chooses."""
    observation: Observation
    """What it is shown."""


@dataclass(frozen=True)
class Decision:
    """The distribution over replies to one observation."""

    logprobs_V: npt.NDArray[np.float32]
    """Log-probability of every reply."""
    legal_probs: tuple[float, ...]
    """Probabilities of the legal replies, in the order of the seat's actions."""
    value: float | None
    """The value head's estimate; None without one."""


class ChoicePolicy(ABC):
    """A policy over a vocabulary of replies, of which those at ``legal(seat)`` mean the seat's actions and all others are illegal.

    Subclasses say how an observation is scored and hold the parameters. See docs/theory/shapellm.md, equation 2.
    """

    width: int
    reference: int
    tells_probabilities: ClassVar[bool] = True

    def __init__(self, name: str, memory: Memory) -> None:
        self.name, self.memory = name, memory
        self.values: ValueEstimates | None = None
        self._decisions: dict[tuple[int, Key], Decision] = {}

    # ------------------------------------------------------------------ what subclasses say

    @abstractmethod
    def score(self, slots: Sequence[int], keys: Sequence[Key], *, grad: bool = False) -> Scores:
        """Reply logits and hidden states, one row for each (slot, key)."""

    @abstractmethod
    def legal(self, seat: str) -> tuple[int, ...]:
        """Where in the vocabulary a seat's actions stand, in their order."""

    @abstractmethod
    def actions(self, seat: str) -> tuple[str, ...]:
        """A seat's actions by name."""

    @abstractmethod
    def reply_text(self, seat: str, reply: int) -> str:
        """A reply as text."""

    def bump_version(self, slots: Sequence[int]) -> None:
        """See :class:`coplay.players.policy.Policy`."""
        self._decisions.clear()

    def clear_cache(self) -> None:
        """See :class:`coplay.players.policy.Policy`."""
        self._decisions.clear()

    # ------------------------------------------------------------------ acting

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Sample a reply to each request, scoring each (slot, observation) once for as long as the slot does not change."""
        keys = [(slot_of(request), Key(request.seat, request.observation)) for request in requests]
        decisions = self.decide(keys)
        return [self.sample(r.seat, decision, r.draw) for r, decision in zip(requests, decisions, strict=True)]

    def decide(self, keys: Sequence[tuple[int, Key]]) -> list[Decision]:
        """The distribution for each (slot, key)."""
        missing = list(dict.fromkeys(key for key in keys if key not in self._decisions))
        if missing:
            self._make_room(len(missing))
            slots = [slot for slot, _ in missing]
            with torch.no_grad():
                scores = self.score(slots, [key for _, key in missing])
                values = [None] * len(missing) if self.values is None else self.values(slots, scores.hidden_RH)
                logprobs_RV = torch.log_softmax(scores.logits_RV, dim=-1).cpu().numpy()
            rows: dict[str, list[int]] = {}
            for i, (_, key) in enumerate(missing):
                rows.setdefault(key.seat, []).append(i)
            for seat, own in rows.items():
                probs_RA = np.exp(logprobs_RV[np.ix_(own, self.legal(seat))].astype(np.float64))
                for i, probs in zip(own, probs_RA.tolist(), strict=True):
                    self._decisions[missing[i]] = Decision(logprobs_RV[i], tuple(probs), values[i])
        return [self._decisions[key] for key in keys]

    def sample(self, seat: str, decision: Decision, draw: float) -> Reply:
        """Turn a uniform draw into a reply: legal replies first, in order, then the rest of the vocabulary.

        Of a distribution that is not finite the last legal reply stands in; its log-probability is not finite either, which ends the seed.
        """
        legal, actions = self.legal(seat), self.actions(seat)
        edges = list(accumulate(decision.legal_probs))
        for action, reply, edge in zip(actions, legal, edges, strict=True):
            if draw < edge:
                return self._reply(seat, decision, reply, action)
        rest_V = np.exp(decision.logprobs_V.astype(np.float64))
        rest_V[list(legal)] = 0.0
        cumulative_V = np.cumsum(rest_V)
        # no illegal replies exist and rounding left the draw above the last edge; or a probability is NaN, and any reply will do
        if not cumulative_V[-1] > 0.0:
            return self._reply(seat, decision, legal[-1], actions[-1])
        threshold = min(draw - edges[-1], cumulative_V[-1] * (1.0 - 1e-12))
        return self._reply(seat, decision, int(np.searchsorted(cumulative_V, threshold, side="right")), None)

    def _reply(self, seat: str, decision: Decision, reply: int, action: str | None) -> Reply:
        return Reply(
            text=self.reply_text(seat, reply),
            action=action,
            tokens=(reply,),
            logprobs=(float(decision.logprobs_V[reply]),),
            value=decision.value,
            probs=decision.legal_probs,
        )

    def _make_room(self, wanted: int) -> None:
        if not self._decisions:
            return
        size = next(iter(self._decisions.values())).logprobs_V.nbytes
        while self._decisions and (len(self._decisions) + wanted) * size > _CACHED_BYTES:
            del self._decisions[next(iter(self._decisions))]

    # ------------------------------------------------------------------ scoring again

    def score_replies(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> ReplyScores:
        """See :class:`coplay.players.policy.Policy`; entropies are over the legal replies alone."""
        scores = self.score(slots, [Key(turn.seat, turn.observation) for turn in turns], grad=grad)
        device = scores.logits_RV.device
        replies_R1 = torch.tensor([turn.reply.tokens for turn in turns], device=device)
        with torch.set_grad_enabled(grad):
            logprobs_R = torch.log_softmax(scores.logits_RV, dim=-1).gather(1, replies_R1)[:, 0]
            return ReplyScores(logprobs_R, restricted_entropy(self._legal_logits(scores, turns)), scores.hidden_RH)

    def _legal_logits(self, scores: Scores, turns: Sequence[Turn]) -> Tensor:
        """The logits of the legal replies, [R, A]."""
        seats = list(dict.fromkeys(turn.seat for turn in turns))
        if len({self.legal(seat) for seat in seats}) == 1:
            return scores.logits_RV[:, list(self.legal(seats[0]))]
        legal_RA = torch.tensor([self.legal(turn.seat) for turn in turns], device=scores.logits_RV.device)
        return scores.logits_RV.gather(1, legal_RA)

    def score_tokens(self, slots: Sequence[int], turns: Sequence[Turn], *, grad: bool = False) -> TokenScores:
        """See :class:`coplay.players.policy.Policy`; a reply is one token."""
        return one_token_scores(self.score_replies(slots, turns, grad=grad))

    def reply_key(self, turn: Turn) -> tuple[str | tuple[int, ...], ...]:
        """See :class:`coplay.players.policy.Policy`."""
        return (turn.seat, repr(turn.observation), turn.reply.tokens)
