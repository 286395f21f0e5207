"""Tabular learners: a softmax over memory states. The same experiments in seconds, and an oracle for the estimators.

A policy is linear in the features of an observation: logits = base(observation) + features(observation) @ theta. With independent
states the features are one indicator a state, so every state learns alone. With sharing, a feature common to all states carries part
of what is learnt, as an adapter on one language model does: what is learnt in one state shows in all (findings on shaping turn on it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor, nn

from coplay.games.base import Game
from coplay.games.memory import COUNTING, START, Joint, Memory, Observation, state_in_words
from coplay.games.records import Turn
from coplay.models.scoring import Scores
from coplay.players.automaton import Automaton, memory_one, shown
from coplay.players.choice import ChoicePolicy, Key
from coplay.players.policy import TableParameters, cached

_CACHED = 100_000
"""How many observations' features are cached before starting afresh."""


@dataclass(frozen=True)
class InitialPolicy:
    """Where a tabular policy starts, for two-action games: P(first action) by memory state."""

    start: float = 0.5
    """At the start of an episode or trial."""
    after: tuple[float, ...] | None = None
    """After each joint action, in the order of ``own_states`` (own, co-player's); None for ``start`` everywhere."""

    def answering(self, reciprocity: float, states: Sequence[Joint]) -> InitialPolicy:
        """The same policy with weaker answers to the co-player's last action.

        After the own action a and the co-player's b, p(a, b) becomes ``m(a) + reciprocity * (p(a, b) - m(a))``, with m(a) the mean of
        p(a, .): what is done on average after each own action stays, and how much it depends on the co-player shrinks.

        Args:
            reciprocity: 1 keeps the policy, 0 makes it blind to what the co-player did.
            states: the joint actions that ``after`` is about, in its order.
        """
        if self.after is None:
            return self
        own_means = {}
        for own, *_ in states:
            alike = [p for (a, *_), p in zip(states, self.after, strict=True) if a == own]
            own_means[own] = sum(alike) / len(alike)
        after = tuple(
            own_means[own] + reciprocity * (p - own_means[own]) for (own, *_), p in zip(states, self.after, strict=True)
        )
        return InitialPolicy(self.start, after)


class TabularPolicy(ChoicePolicy, TableParameters):
    """A linear softmax policy over the features of an observation.

    Args:
        game: the rules; every round is one choice among a few actions.
        seat: whose policy it is. It may sit in other seats that have the same actions.
        memory: what the seat is shown; counts add features.
        sharing: in [0, 1]; 0 gives independent states, 1 a single distribution for all states of the last round.
        initial: where the policy starts. Only games with two actions a seat can start from anything but uniform.
    """

    reference = -1

    def __init__(
        self,
        name: str,
        game: Game,
        seat: str,
        memory: Memory,
        *,
        slots: int,
        sharing: float = 0.0,
        initial: InitialPolicy | None = None,
    ) -> None:
        super().__init__(name, memory)
        assert game.actions is not None
        self.game, self.seat, self.sharing = game, seat, sharing
        self.states = game.own_states(seat)
        self._index = {state: 1 + i for i, state in enumerate(self.states)}
        self._actions = game.actions[seat]
        self._legal = tuple(range(len(self._actions)))
        self.initial = initial or InitialPolicy()
        self.counting = memory in COUNTING
        self.width = len(self._features(START))
        self.theta = nn.Parameter(torch.zeros(slots, self.width, len(self._actions)))
        self._rows: dict[Observation, np.ndarray] = {}

    def legal(self, seat: str) -> tuple[int, ...]:
        """All actions."""
        return self._legal

    def actions(self, seat: str) -> tuple[str, ...]:
        """The game's."""
        return self._actions

    def score(self, slots: Sequence[int], keys: Sequence[Key], *, grad: bool = False) -> Scores:
        """See :class:`coplay.players.choice.ChoicePolicy`."""
        features_RF, base_RA = self._lookup([key.observation for key in keys])
        with torch.set_grad_enabled(grad):
            theta_RFA = self.theta.index_select(0, torch.tensor([max(slot, 0) for slot in slots]))
            if self.reference in slots:  # the initial policy: nothing learnt
                learnt_R = torch.tensor(slots) != self.reference
                theta_RFA = torch.where(
                    learnt_R[:, None, None], theta_RFA, torch.zeros_like(theta_RFA)
                )  # 0 * NaN is NaN
            return Scores(base_RA + torch.einsum("rf,rfa->ra", features_RF, theta_RFA), features_RF)

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        """Log-probabilities under the initial policy."""
        _, base_RA = self._lookup([turn.observation for turn in turns])
        chosen = torch.tensor([turn.reply.tokens[0] for turn in turns], dtype=torch.long)
        logprobs: list[float] = torch.log_softmax(base_RA, dim=-1).gather(1, chosen[:, None])[:, 0].tolist()
        return logprobs

    def reply_text(self, seat: str, reply: int) -> str:
        """The action's label."""
        return self.game.label(seat, self._actions[reply])

    def prompt_text(self, turn: Turn) -> str:
        """The memory state in words."""
        return state_in_words(self.states, turn.observation)

    def automaton(self, seat: str, slot: int | None, joints: Sequence[Joint]) -> Automaton | None:
        """See :class:`coplay.players.automaton.Automatic`; none with memories of more than a round, and none that is not finite."""
        observations = shown(self.memory, joints)
        if observations is None or slot is None:
            return None
        decisions = self.decide([(slot, Key(seat, observation)) for observation in observations])
        edges = [(*accumulate(one.legal_probs[:-1]), math.inf) for one in decisions]
        return None if any(map(math.isnan, sum(edges, ()))) else memory_one(self._actions, joints, edges)

    def _lookup(self, observations: Sequence[Observation]) -> tuple[Tensor, Tensor]:
        """The features of each observation, and its initial logits."""
        rows = cached(self._rows, observations, lambda missing: map(self._row, missing), most=_CACHED)
        rows_RX = torch.from_numpy(np.concatenate(rows).reshape(len(rows), -1))
        return rows_RX[:, : self.width].contiguous(), rows_RX[:, self.width :].contiguous()

    def _row(self, observation: Observation) -> np.ndarray:
        return np.array([*self._features(observation), *self._base(observation)], dtype=np.float32)

    def _features(self, observation: Observation) -> list[float]:
        """An indicator of the last round and a shared one; with counts, also each state's share, alone and by last round."""
        index = 0 if observation.last is None else self._index.get(observation.last, 0)
        indicator = [float(i == index) for i in range(1 + len(self.states))]
        features = [(1.0 - self.sharing) ** 0.5 * x for x in indicator] + [self.sharing**0.5]
        if not self.counting:
            return features
        counts = observation.counts or (0,) * len(self.states)
        total = sum(counts)
        shares = [count / total if total else 0.0 for count in counts]
        return features + shares + [x * share for x in indicator for share in shares]

    def _base(self, observation: Observation) -> list[float]:
        """Initial logits."""
        if self.initial.after is None or observation.last not in self._index:
            p = self.initial.start
        else:
            p = self.initial.after[self._index[observation.last] - 1]
        return [math.log(p / (1.0 - p)), 0.0] if len(self._actions) == 2 else [0.0] * len(self._actions)
