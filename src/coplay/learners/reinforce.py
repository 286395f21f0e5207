"""REINFORCE with Monte-Carlo returns (Williams, 1992), on a table.

With G_t = Σ_{k≥t} γ^{k-t} r_k the return from round t on and b_t a baseline that does not depend on the game's own moves,

    g = mean over games of Σ_t γ^t (G_t - b_t) ∇ log π(a_t | s_t),     E[g] = ∇ E[Σ_t γ^t r_t]

The factor γ^t, which many implementations leave out, makes the second equation true. The baseline is the mean return of the seed's
*other* games from the same round on; with one game there is none. Episodes that are cut apart (``return_chain=episode``) are averaged
over, like games.

The page with the equations: docs/theory/other_learners.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from coplay.games.records import Episode, Turn
from coplay.learners.base import DIVERGED, RngPath, UpdateMetrics
from coplay.learners.credit import leave_one_out, returns_to_go
from coplay.learners.movement import cannot_learn
from coplay.learners.settings import Reinforce
from coplay.learners.tabular import SoftmaxLearner
from coplay.players.information_table import InformationTable
from coplay.players.tabular import TabularPolicy


def reinforce_weights(payoffs_BT: Tensor, *, discount: float, baseline: bool) -> Tensor:
    """The factor of ``∇ log π(a_t | s_t)`` in the estimate, ``γ^t (G_t - b_t) / B`` (docs/theory/other_learners.md). Shape [B, T].

    Args:
        payoffs_BT: payoffs of B games, 0 in void rounds and behind the end.
        discount: γ.
        baseline: whether b is the mean return of the other games; a single game has none, b = 0.
    """
    returns_BT = returns_to_go(payoffs_BT, discount=discount)
    if baseline and len(payoffs_BT) > 1:
        returns_BT = leave_one_out(returns_BT)
    return discount ** torch.arange(payoffs_BT.shape[1]).double() * returns_BT / len(payoffs_BT)


class Credit(NamedTuple):
    """A turn with the payoff of its round; None where the round is void for the seat."""

    turn: Turn
    payoff: float | None


class ReinforceLearner(SoftmaxLearner[TabularPolicy | InformationTable]):
    """A REINFORCE learner, all seeds at once."""

    def __init__(
        self, name: str, policy: TabularPolicy | InformationTable, *, seeds: Sequence[int], reinforce: Reinforce
    ) -> None:
        super().__init__(name, policy, seeds=seeds)
        self.reinforce = reinforce
        self._collected: dict[int, dict[tuple[int, str], list[list[Credit]]]] = {seed: {} for seed in self.seeds}

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the learner's turns, episode by episode of each parallel game."""
        for episode in episodes:
            for seat in episode.seats_of(self.name):
                turns = [Credit(turn, payoff) for turn, payoff in episode.paid_turns(seat)]
                self._collected[episode.seed].setdefault((episode.game, seat), []).append(turns)

    def update(self, rng_path: RngPath) -> UpdateMetrics:
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

    def _groups(self, seed: int) -> list[list[list[Credit]]]:
        """The sequences of a seed that are each other's baseline: one a game, or one a game for each episode."""
        own = self._collected[seed]
        groups: list[list[list[Credit]]] = []
        # a game's other seat is no baseline: it depends on the own moves
        for seat in dict.fromkeys(seat for _, seat in own):
            games = [episodes for (_, one), episodes in own.items() if one == seat]
            if self.reinforce.return_chain == "trial":
                groups.append([[turn for episode in game for turn in episode] for game in games])
            else:
                groups += [[game[e] for game in games] for e in range(len(games[0]))]
        return groups

    def _credited(self, group: Sequence[Sequence[Credit]]) -> tuple[list[Turn], Tensor]:
        """The turns that count and their weights. Void rounds pay nothing and are not credited."""
        rounds = max(map(len, group))
        padded = [[*turns, *[None] * (rounds - len(turns))] for turns in group]
        payoffs_BT = torch.tensor(
            [[0.0 if one is None else one.payoff or 0.0 for one in turns] for turns in padded], dtype=torch.float64
        )
        baseline = self.reinforce.baseline == "leave_one_out"
        weights_BT = reinforce_weights(payoffs_BT, discount=self.reinforce.discount, baseline=baseline)
        counts_BT = torch.tensor([[one is not None and one.payoff is not None for one in turns] for turns in padded])
        return [one.turn for turns in group for one in turns if one.payoff is not None], weights_BT[counts_BT]

    def _step(
        self,
        slots: Sequence[int],
        turns: Sequence[Turn],
        weights_R: Tensor,
        metrics: Mapping[int, dict[str, float | str]],
    ) -> None:
        """Climb, and say how it went."""
        scores = self.policy.score_replies(slots, turns, grad=True)
        logprobs_R = scores.logprobs_R
        objective = (weights_R.to(logprobs_R) * logprobs_R).sum()

        def nothing_reaches(slot: int) -> bool:
            own = [turn for one, turn in zip(slots, turns, strict=True) if one == slot]
            return cannot_learn(self.moving, self.policy, slot, own)

        learning = list(dict.fromkeys(slots))
        climbed = self.ascend(objective, self.reinforce.learning_rate, slots=learning, zero_is_wrong=nothing_reaches)
        entropies_R = scores.entropies_R.detach()
        owners_R = torch.tensor(list(slots))
        for position, own in enumerate(climbed):
            own_R = owners_R == position
            if "gradient" in own and bool(own_R.any()):
                own["entropy"] = float(entropies_R[own_R].mean())
            if DIVERGED in own or "entropy" in own:  # seeds without games have nothing to tell
                metrics[self.seeds[position]].update(own)
