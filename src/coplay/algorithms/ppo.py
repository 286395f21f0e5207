"""PPO over rounds: the learner of ShapeLLM (appendix A.3).

TRL 0.11.4's PPO with three differences: advantages are estimated over the rounds of an episode or trial instead of the tokens of
one reply, an optional entropy bonus looks at the legal replies alone, and what was broken there is mended. The naive learner and
the shaper are this learner with different memory and update schedule. All seeds learn together, each in its own slot: losses are
averaged within a slot and summed over slots, so every slot gets the gradient of a run of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from coplay.algorithms.acting import Actor
from coplay.algorithms.value_heads import ValueHeads
from coplay.config import PPO
from coplay.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages, whiten
from coplay.games.memory import Memory, Observation
from coplay.losses import clipped_policy_loss, clipped_value_loss, linear_schedule, rate_share, restricted_entropy
from coplay.models.optimiser import SlotAdam
from coplay.players.policy import Policy
from coplay.rng import stream
from coplay.types import Episode, Move, View


class Transition(NamedTuple):
    """One round as its learner remembers it."""

    observation: Observation
    reply: int
    logprob: float
    value: float
    score: float
    ends_episode: bool


@dataclass
class SeedState:
    """What one seed's learner carries from update to update, besides parameters."""

    moments: RunningMoments = field(default_factory=RunningMoments)
    """Of all scores so far."""
    kl_coef: float = 0.0
    """The adaptive KL coefficient."""
    updates: int = 0
    """Updates so far, skipped ones included."""


@dataclass(frozen=True)
class Batch:
    """The transitions of an update, all seeds in one; rows of a seed are contiguous."""

    seeds_R: Tensor
    """Position of the row's seed."""
    observations: list[Observation]
    replies_R: Tensor
    old_logprobs_R: Tensor
    old_values_R: Tensor
    advantages_R: Tensor
    """Whitened within each seed."""
    returns_R: Tensor
    rows_of: dict[int, range]
    """Rows of each seed that takes part, by position."""


class PPOLearner:
    """A player that learns, all seeds at once.

    Args:
        name: what to call it in tables, e.g. ``naive``.
        seat: where it sits; names its streams of chance.
        policy: its distributions over replies.
        actions: the seat's actions.
        seeds: the seeds, in the order of their slots.
        slots: the policy's slot of each seed.
        memory: what it is shown of the past.
        ppo: hyper-parameters.
    """

    def __init__(
        self,
        name: str,
        seat: str,
        policy: Policy,
        actions: Sequence[str],
        *,
        seeds: Sequence[int],
        slots: Sequence[int],
        memory: Memory,
        ppo: PPO,
    ) -> None:
        self.name, self.seat, self.policy, self.memory, self.ppo = name, seat, policy, memory, ppo
        self.seeds = list(seeds)
        self.slots = dict(enumerate(slots))
        self.position = {seed: i for i, seed in enumerate(self.seeds)}
        parameters = policy.parameters()
        self.device = parameters[0].device
        self.heads = ValueHeads(seat, self.seeds, policy.width, self.device)
        self.actor = Actor(policy, actions, self.heads)
        head_rate = ppo.learning_rate if ppo.head_learning_rate is None else ppo.head_learning_rate
        self.policy_adam = SlotAdam(parameters, [ppo.learning_rate] * parameters[0].shape[0], eps=ppo.adam_eps)
        self.head_adam = SlotAdam([self.heads.weights], [head_rate] * len(self.seeds))
        self.state = [SeedState(kl_coef=ppo.kl_coef) for _ in self.seeds]
        self._collected: dict[int, dict[int, list[Transition]]] = {seed: {} for seed in self.seeds}

    # ------------------------------------------------------------------ acting

    def act(self, views: Sequence[View]) -> list[Move]:
        """Sample a reply for each view."""
        keys = [(self.position[view.seed], view.observation) for view in views]
        decisions = self.actor.decide(keys, self.slots)
        return [self.actor.sample(decision, view.draw) for decision, view in zip(decisions, views, strict=True)]

    def forget(self) -> None:
        """Drop all that was computed ahead, so that what follows depends on parameters alone, to the last digit."""
        self.actor.forget()
        self.policy.forget()

    # ------------------------------------------------------------------ learning

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the learner's side of these games. Rounds that the co-player's illegal reply voided are dropped."""
        for episode in episodes:
            transitions = self._collected[episode.seed].setdefault(episode.game, [])
            kept = [turn for turn in episode.traces[self.seat].turns if turn.payoff is not None]
            for i, turn in enumerate(kept):
                move = turn.move
                assert move.token is not None and move.logprob is not None and move.value is not None
                assert turn.payoff is not None
                transitions.append(
                    Transition(turn.observation, move.token, move.logprob, move.value, turn.payoff, i == len(kept) - 1)
                )

    def update(self, occasion: tuple[int | str, ...]) -> dict[int, dict[str, float | str]]:
        """Learn from what was collected, then forget it.

        Args:
            occasion: names the streams that shuffle the minibatches, e.g. ``(trial, episode)``.

        Returns:
            For each seed, metrics of the update; a skipped seed has a ``note`` that says why.
        """
        metrics: dict[int, dict[str, float | str]] = {seed: {} for seed in self.seeds}
        batch = self._batch(metrics)
        if batch is not None:
            self._optimise(batch, occasion, metrics)
        for state in self.state:
            state.updates += 1
        self._collected = {seed: {} for seed in self.seeds}
        self.actor.forget()
        return metrics

    def _batch(self, metrics: Mapping[int, dict[str, float | str]]) -> Batch | None:
        """Scores to rewards to advantages. Seeds with too few transitions are left out."""
        sequences: list[list[Transition]] = []
        rows_of: dict[int, range] = {}
        start = 0
        for position, seed in enumerate(self.seeds):
            own = [steps for steps in self._collected[seed].values() if steps]
            n = sum(map(len, own))
            if n < 2:
                metrics[seed]["note"] = f"update skipped: {n} transitions are too few to estimate advantages"
                continue
            sequences += own
            rows_of[position] = range(start, start + n)
            start += n
        if not rows_of:
            return None
        steps = [step for sequence in sequences for step in sequence]
        observations, replies = [step.observation for step in steps], [step.reply for step in steps]
        scores_R = torch.tensor([step.score for step in steps])
        logprobs_R = torch.tensor([step.logprob for step in steps])
        values_R = torch.tensor([step.value for step in steps])
        kl_R = logprobs_R - torch.tensor(self.policy.reference_logprobs(observations, replies))
        sizes = [len(rows) for rows in rows_of.values()]
        rewards_R = torch.cat(
            [
                self._rewards(position, scores, kl, metrics[self.seeds[position]])
                for position, scores, kl in zip(
                    rows_of, torch.split(scores_R, sizes), torch.split(kl_R, sizes), strict=True
                )
            ]
        )
        advantages_R = self._advantages(sequences, rewards_R, values_R)
        return Batch(
            seeds_R=torch.tensor([position for position, rows in rows_of.items() for _ in rows]).to(self.device),
            observations=observations,
            replies_R=torch.tensor(replies).to(self.device),
            old_logprobs_R=logprobs_R.to(self.device),
            old_values_R=values_R.to(self.device),
            advantages_R=torch.cat([whiten(part) for part in torch.split(advantages_R, sizes)]).to(self.device),
            returns_R=(advantages_R + values_R).to(self.device),
            rows_of=rows_of,
        )

    def _rewards(self, position: int, scores_N: Tensor, kl_N: Tensor, metrics: dict[str, float | str]) -> Tensor:
        """One seed's scaled scores minus the KL penalty, r = score / std - beta * (log pi - log pi_ref)."""
        ppo, state = self.ppo, self.state[position]
        if ppo.score_scaling:
            state.moments.update(scores_N)
            scale = state.moments.std
            if scale < 1e-6:
                metrics["note"] = "scores not scaled: they have not varied so far"
                scale = 1.0
            scores_N = (scores_N - state.moments.mean * ppo.score_normalisation) / scale
        kl = float(kl_N.mean())
        metrics["kl"], metrics["kl_coef"] = kl, state.kl_coef
        rewards_N = scores_N - state.kl_coef * kl_N
        if ppo.kl_adaptive:
            state.kl_coef = adapted_kl_coefficient(
                state.kl_coef, kl, target=ppo.kl_target, horizon=ppo.kl_horizon, samples=len(scores_N)
            )
        return rewards_N

    def _advantages(self, sequences: Sequence[Sequence[Transition]], rewards_R: Tensor, values_R: Tensor) -> Tensor:
        """GAE along each game's sequence, cut where the config says; in the order of the rows."""
        lengths = [len(sequence) for sequence in sequences]
        cut = self.ppo.gae_chain == "episode"
        ends = [torch.tensor([*(cut and step.ends_episode for step in sequence[:-1]), True]) for sequence in sequences]

        def pad(parts: Sequence[Tensor]) -> Tensor:
            return nn.utils.rnn.pad_sequence(list(parts), batch_first=True)

        advantages_BT = generalised_advantages(
            pad(torch.split(rewards_R, lengths)),
            pad(torch.split(values_R, lengths)),
            pad(ends),
            gamma=self.ppo.gamma,
            lam=self.ppo.lam,
        )
        return torch.cat([row[:length] for row, length in zip(advantages_BT, lengths, strict=True)])

    def _optimise(
        self, batch: Batch, occasion: tuple[int | str, ...], metrics: Mapping[int, dict[str, float | str]]
    ) -> None:
        """Minibatch steps. Every seed shuffles its own rows; step k of all seeds shares one forward and backward pass."""
        sums: dict[int, dict[str, list[float]]] = {position: {} for position in batch.rows_of}
        for epoch in range(self.ppo.epochs):
            orders = {
                position: stream(self.seeds[position], "minibatch", self.seat, *occasion, epoch).permutation(len(rows))
                + rows.start
                for position, rows in batch.rows_of.items()
            }
            longest = max(map(len, orders.values()))
            for start in range(0, longest, self.ppo.minibatch):
                rows_of = {
                    position: order[start : start + self.ppo.minibatch]
                    for position, order in orders.items()
                    if start < len(order)
                }
                self._step(batch, rows_of, sums, metrics)
        for position, series in sums.items():
            metrics[self.seeds[position]].update({key: sum(values) / len(values) for key, values in series.items()})

    def _step(
        self,
        batch: Batch,
        rows_of: Mapping[int, np.ndarray],
        sums: Mapping[int, dict[str, list[float]]],
        metrics: Mapping[int, dict[str, float | str]],
    ) -> None:
        """One optimiser step for every seed with rows left."""
        ppo = self.ppo
        rows = np.concatenate(list(rows_of.values()))
        R = torch.from_numpy(rows).to(self.device)
        seeds_R = batch.seeds_R[R]
        scores = self.policy.score(
            [self.slots[position] for position, part in rows_of.items() for _ in part],
            [batch.observations[row] for row in rows.tolist()],
            grad=True,
        )
        hidden_RH = scores.hidden_RH if ppo.value_gradient == "trunk" else scores.hidden_RH.detach()
        logprobs_R = torch.log_softmax(scores.logits_RV, dim=-1).gather(1, batch.replies_R[R][:, None])[:, 0]
        entropy_R = restricted_entropy(scores.logits_RV[:, list(self.policy.legal)])
        policy_R = clipped_policy_loss(logprobs_R, batch.old_logprobs_R[R], batch.advantages_R[R], clip=ppo.clip)
        value_R = clipped_value_loss(
            self.heads(seeds_R, hidden_RH), batch.old_values_R[R], batch.returns_R[R], clip=ppo.value_clip
        )
        entropy_coef = linear_schedule(
            ppo.entropy_initial, ppo.entropy_final, step=self.state[0].updates, steps=ppo.entropy_updates
        )
        loss_R = policy_R + ppo.value_coef * value_R - entropy_coef * entropy_R
        ratio_R = torch.exp(logprobs_R - batch.old_logprobs_R[R])
        clipped_R = ((ratio_R - 1.0).abs() > ppo.clip).float()

        sizes_P = torch.bincount(seeds_R, minlength=len(self.seeds)).clamp(min=1)
        figures_RK = torch.stack([loss_R, ratio_R, policy_R, value_R, entropy_R, clipped_R], dim=1).detach()
        sums_PK = torch.zeros(len(self.seeds), figures_RK.shape[1], device=self.device).index_add_(
            0, seeds_R, figures_RK
        )
        means = (sums_PK / sizes_P[:, None]).tolist()
        stepping = []
        for position in rows_of:
            loss, ratio, *figures = means[position]
            reason = _unfit(loss, ratio, ppo.ratio_threshold)
            if reason:
                metrics[self.seeds[position]]["note"] = f"optimiser step skipped: {reason}"
                continue
            stepping.append(position)
            for key, figure in zip(("policy_loss", "value_loss", "entropy", "clipped"), figures, strict=True):
                sums[position].setdefault(key, []).append(figure)
        if not stepping:
            return
        steps_P = torch.zeros(len(self.seeds), dtype=torch.bool, device=self.device)
        steps_P[stepping] = True
        self.policy_adam.zero_grad()
        self.head_adam.zero_grad()
        # where(): a skipped seed's loss may be NaN, and 0 * NaN would spoil the others'
        loss_R = torch.where(steps_P[seeds_R], loss_R / sizes_P[seeds_R], torch.zeros_like(loss_R))
        loss_R.sum().backward()  # type: ignore[no-untyped-call]
        slots = [self.slots[position] for position in stepping]
        if ppo.max_grad_norm is not None:
            self.policy_adam.clip_grad_norm(ppo.max_grad_norm)
        share = rate_share(
            self.state[0].updates + 1, warmup=ppo.warmup_updates, decay=ppo.decay_updates, final=ppo.final_rate
        )
        self.policy_adam.step(slots, scale=share)
        self.head_adam.step(stepping)
        self.policy.touch(slots)

    # ------------------------------------------------------------------ checkpoints

    def tensors(self) -> dict[str, Tensor]:
        """Everything a checkpoint must hold of this learner but the policy's own parameters."""
        state = {"heads": self.heads.weights.detach().clone()}
        state |= {f"policy_adam.{key}": value for key, value in self.policy_adam.state_dict().items()}
        state |= {f"head_adam.{key}": value for key, value in self.head_adam.state_dict().items()}
        numbers = [
            [s.moments.mean, s.moments.variance, s.moments.count, s.kl_coef, float(s.updates)] for s in self.state
        ]
        state["seed_state"] = torch.tensor(numbers, dtype=torch.float64)
        return state

    @torch.no_grad()
    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""
        self.heads.weights.copy_(state["heads"])
        for name, adam in (("policy_adam.", self.policy_adam), ("head_adam.", self.head_adam)):
            adam.load_state_dict({k.removeprefix(name): v for k, v in state.items() if k.startswith(name)})
        self.state = [
            SeedState(RunningMoments(mean, variance, count), kl_coef, int(updates))
            for mean, variance, count, kl_coef, updates in state["seed_state"].tolist()
        ]
        self.actor.forget()


def _unfit(loss: float, ratio: float, threshold: float) -> str:
    """Why an optimiser step with this mean loss and mean probability ratio would do harm; empty if it would not."""
    if not math.isfinite(loss):
        return "the loss is not finite"
    return f"the mean probability ratio {ratio:.3g} exceeds {threshold:g}" if ratio > threshold else ""
