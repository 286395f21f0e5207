"""REINFORCE with Monte-Carlo returns (Williams, 1992), on a table.

With G_t = Σ_{k≥t} γ^{k-t} r_k the return from round t on and b_t a baseline that does not depend on the game's own moves,

    g = mean over games of Σ_t γ^t (G_t - b_t) ∇ log π(a_t | s_t),     E[g] = ∇ E[Σ_t γ^t r_t]

The factor γ^t, which many implementations leave out, makes the second equation true. The baseline is the mean return of the seed's
*other* games from the same round on; with one game there is none. Episodes that are cut apart (``return_chain=episode``) are averaged
over, like games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coplay.algorithms.base import Occasion, UpdateMetrics
from coplay.algorithms.tabular import SoftmaxLearner
from coplay.config import Reinforce
from coplay.credit import leave_one_out, returns_to_go
from coplay.losses import restricted_entropy
from coplay.players.tabular import TabularPolicy
from coplay.types import Episode, Turn


class ReinforceLearner(SoftmaxLearner):
    """A REINFORCE learner, all seeds at once.

    Args:
        name: what to call it in tables.
        policy: its distributions over actions, one slot a seed.
        seeds: the seeds, in the order of their slots.
        reinforce: hyper-parameters.
    """

    def __init__(self, name: str, policy: TabularPolicy, *, seeds: Sequence[int], reinforce: Reinforce) -> None:
        super().__init__(name, policy, seeds=seeds)
        self.reinforce = reinforce
        self._collected: dict[int, dict[int, list[list[Turn]]]] = {seed: {} for seed in self.seeds}

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the learner's turns, episode by episode of each parallel game."""
        for episode in episodes:
            turns = list(episode.traces[self.seat].turns)
            self._collected[episode.seed].setdefault(episode.game, []).append(turns)

    def update(self, occasion: Occasion) -> UpdateMetrics:
        """One step along the estimated gradient.

        Returns:
            For each seed ``entropy``, the mean over the rounds played, and ``gradient``, the estimate's length.
        """
        metrics: UpdateMetrics = {seed: {} for seed in self.seeds}
        slots: list[int] = []
        turns: list[Turn] = []
        weights: list[Tensor] = []
        for position, seed in enumerate(self.seeds):
            groups = self._groups(seed)
            for group in groups:
                group_turns, group_weights = self._credited(group)
                turns += group_turns
                weights.append(group_weights / len(groups))
                slots += [position] * len(group_turns)
        if turns:
            self._step(slots, turns, torch.cat(weights), metrics)
        self._collected = {seed: {} for seed in self.seeds}
        return metrics

    def _groups(self, seed: int) -> list[list[list[Turn]]]:
        """The sequences of a seed that are each other's baseline: one a game, or one a game for each episode."""
        games = list(self._collected[seed].values())
        if not games:
            return []
        if self.reinforce.return_chain == "trial":
            return [[[turn for episode in game for turn in episode] for game in games]]
        return [[game[e] for game in games] for e in range(len(games[0]))]

    def _credited(self, group: Sequence[Sequence[Turn]]) -> tuple[list[Turn], Tensor]:
        """The turns that count, and γ^t (G_t - b_t) / (number of games) of each. Voided rounds pay nothing and are not credited."""
        discount = self.reinforce.discount
        payoffs_BT = torch.tensor([[turn.payoff or 0.0 for turn in turns] for turns in group], dtype=torch.float64)
        returns_BT = returns_to_go(payoffs_BT, discount=discount)
        if self.reinforce.baseline == "leave_one_out" and len(group) > 1:
            returns_BT = leave_one_out(returns_BT)
        weights_BT = discount ** torch.arange(returns_BT.shape[1]).double() * returns_BT / len(group)
        counts_BT = torch.tensor([[turn.payoff is not None for turn in turns] for turns in group])
        return [turn for turns in group for turn in turns if turn.payoff is not None], weights_BT[counts_BT]

    def _step(
        self,
        slots: Sequence[int],
        turns: Sequence[Turn],
        weights_R: Tensor,
        metrics: Mapping[int, dict[str, float | str]],
    ) -> None:
        """Climb, and say how it went."""
        replies_R = torch.tensor([turn.move.token for turn in turns])
        scores = self.policy.score(slots, [turn.observation for turn in turns], grad=True)
        logprobs_R = torch.log_softmax(scores.logits_RV, -1).gather(1, replies_R[:, None])[:, 0]
        objective = (weights_R.to(logprobs_R) * logprobs_R).sum()
        (gradient_PFA,) = torch.autograd.grad(objective, self.policy.theta)
        lengths = self.climb(gradient_PFA, self.reinforce.learning_rate)
        entropies_R = restricted_entropy(scores.logits_RV.detach())
        owners_R = torch.tensor(list(slots))
        for position, length in enumerate(lengths):
            own = metrics[self.seeds[position]]
            if length is None:
                own["note"] = "update skipped: the gradient is not finite"
            elif bool((owners_R == position).any()):
                own["gradient"] = length
                own["entropy"] = float(entropies_R[owners_R == position].mean())
