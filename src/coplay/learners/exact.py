"""Learners that climb exact gradients against their co-player's memory-one policy: the naive learner and LOLA.

They learn nothing from the payoffs of the games played. What they take from them is who they play against: the co-player's policy, asked
for where it has one, estimated from the games where it remembers more (:mod:`coplay.learners.memory_one`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coplay.games.exact import discounted_rounds, value
from coplay.games.matrix import MatrixGame, first_observations
from coplay.games.records import Episode, Occupant
from coplay.learners.base import RngPath, UpdateMetrics
from coplay.learners.lola import lola_objective
from coplay.learners.memory_one import PolicyCounts, read_policy
from coplay.learners.settings import ExactGradient, Lola
from coplay.learners.tabular import SoftmaxLearner
from coplay.players.choice import Key
from coplay.players.tabular import TabularPolicy

_LEAST = 1e-12
"""Probabilities below this are taken for it, so that a deterministic co-player has logits."""


class ExactLearner(SoftmaxLearner[TabularPolicy]):
    """A naive learner with the exact gradient of its own value, or with LOLA's; all seeds at once.

    The policy has last-round memory; ``rounds`` is T, for ``horizon=episode``. LOLA's settings make a LOLA learner.
    """

    def __init__(
        self, name: str, policy: TabularPolicy, *, seeds: Sequence[int], rounds: int, exact: ExactGradient
    ) -> None:
        super().__init__(name, policy, seeds=seeds)
        assert isinstance(policy.game, MatrixGame), "exact gradients are of two-seat matrix games"
        self.game: MatrixGame = policy.game
        self.seat = policy.seat
        self.exact = exact
        self.rounds = None if exact.horizon == "infinite" else rounds
        self.observations = first_observations(self.game, self.seat, policy.memory)
        self.counts = PolicyCounts(self.game, self.game.other(self.seat), seeds=self.seeds)
        self._theirs: Tensor | None = None

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Take the co-player's policy as it was in these games; for seeds without games, one that is uniform."""
        theirs = self.game.other(self.seat)
        seated: dict[int, Occupant] = {episode.seed: episode.seated[theirs] for episode in episodes}
        played = [seed for seed in self.seeds if seed in seated]
        policies = read_policy([seated[seed] for seed in played], self.game, theirs, seeds=played)
        if policies is None:
            self._theirs = None
            self.counts.add(episodes)
        else:
            self._theirs = self.counts.policy()  # of no games
            self._theirs[[self.slots[seed] for seed in played]] = policies

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """One step along the gradient.

        Returns:
            For each seed ``value``, the payoff per round that the pair of policies is worth to it by the horizon and discount of its
            settings, before the step; and ``gradient``, the gradient's length.
        """
        theirs = self.counts.policy() if self._theirs is None else self._theirs
        logits = {self.seat: self._logits(), self.game.other(self.seat): theirs.clamp(min=_LEAST).log()}
        objective_P = self._objective(logits)
        values_P = self._values(logits)

        def nothing_reaches(slot: int) -> bool:  # a value may have no slope where a logit has one
            return not self.moving.reaches(self._logits()[slot, 0, 0], slot)

        climbed = self.ascend(
            objective_P.sum(),
            self.exact.learning_rate,
            slots=list(self.slots.values()),
            zero_is_wrong=nothing_reaches,
        )
        self._theirs = None
        self.counts.clear()
        return {
            seed: {"value": own_value, **own}
            for seed, own_value, own in zip(self.seeds, values_P.tolist(), climbed, strict=True)
        }

    def _logits(self) -> Tensor:
        """The own logits [P, 1 + n·m, A] in double precision, differentiable by the table."""
        slots = [slot for slot in range(len(self.seeds)) for _ in self.observations]
        keys = [Key(self.seat, observation) for observation in self.observations]
        scores = self.policy.score(slots, keys * len(self.seeds), grad=True)
        return scores.logits_RV.double().view(len(self.seeds), len(self.observations), -1)

    def _objective(self, logits: Mapping[str, Tensor]) -> Tensor:
        rate = self.exact.co_player_rate if isinstance(self.exact, Lola) else 0.0
        return lola_objective(
            self.game, logits, self.seat, rounds=self.rounds, discount=self.exact.discount, co_player_rate=rate
        )

    @torch.no_grad()
    def _values(self, logits: Mapping[str, Tensor]) -> Tensor:
        policies = {seat: own.softmax(-1) for seat, own in logits.items()}
        values = value(self.game, policies, rounds=self.rounds, discount=self.exact.discount)
        return values[self.seat] / discounted_rounds(rounds=self.rounds, discount=self.exact.discount)
