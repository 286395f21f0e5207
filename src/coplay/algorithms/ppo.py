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
from coplay.config import PPO
from coplay.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages, whiten
from coplay.games.memory import Memory, Observation
from coplay.losses import clipped_policy_loss, clipped_value_loss, linear_schedule, restricted_entropy
from coplay.models.optimiser import SlotAdam
from coplay.players.policy import Policy
from coplay.rng import stream, stream_seed
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


class ValueHeads:
    """One linear value head a seed: V = w . h + b."""

    def __init__(self, learner: str, seeds: Sequence[int], width: int, device: torch.device) -> None:
        weights = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(stream_seed(seed, "value head", learner))
            # torch.nn.Linear's own initialisation
            weights.append((torch.rand(width + 1, generator=generator) * 2.0 - 1.0) / math.sqrt(width))
        self.weights = nn.Parameter(torch.stack(weights).to(device))

    def __call__(self, positions: Sequence[int] | Tensor, hidden_RH: Tensor) -> Tensor:
        """Values [R] of hidden states [R, H] under the heads of these seeds' positions."""
        weights_RH = self.weights.index_select(0, torch.as_tensor(positions, device=self.weights.device))
        return (weights_RH[:, :-1] * hidden_RH).sum(-1) + weights_RH[:, -1]


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
        self.policy_adam = SlotAdam([(parameters, [ppo.learning_rate] * parameters[0].shape[0])])
        self.head_adam = SlotAdam([([self.heads.weights], [head_rate] * len(self.seeds))])
        self.state = [SeedState(kl_coef=ppo.kl_coef) for _ in self.seeds]
        self._collected: dict[int, dict[int, list[Transition]]] = {seed: {} for seed in self.seeds}

    # ------------------------------------------------------------------ acting

    def act(self, views: Sequence[View]) -> list[Move]:
        """Sample a reply for each view."""
        keys = [(self.position[view.seed], view.observation) for view in views]
        decisions = self.actor.decide(keys, self.slots)
        return [self.actor.sample(decision, view.draw) for decision, view in zip(decisions, views, strict=True)]

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
        """Scores to rewards to advantages, seed by seed."""
        observations: list[Observation] = []
        rows_of: dict[int, range] = {}
        parts: dict[str, list[Tensor]] = {
            key: [] for key in ("seed", "reply", "logprob", "value", "advantage", "return")
        }
        for position, seed in enumerate(self.seeds):
            sequences = [steps for steps in self._collected[seed].values() if steps]
            n = sum(map(len, sequences))
            if n < 2:
                metrics[seed]["note"] = f"update skipped: {n} transitions are too few to estimate advantages"
                continue
            steps = [step for sequence in sequences for step in sequence]
            rewards = self._rewards(position, steps, metrics[seed])
            values = torch.tensor([step.value for step in steps])
            advantages = self._advantages(sequences, rewards, values)
            rows_of[position] = range(len(observations), len(observations) + n)
            observations += [step.observation for step in steps]
            parts["seed"].append(torch.full((n,), position))
            parts["reply"].append(torch.tensor([step.reply for step in steps]))
            parts["logprob"].append(torch.tensor([step.logprob for step in steps]))
            parts["value"].append(values)
            parts["return"].append(advantages + values)
            parts["advantage"].append(whiten(advantages))
        if not rows_of:
            return None
        seeds_R, replies_R, logprobs_R, values_R, advantages_R, returns_R = (
            torch.cat(part).to(self.device) for part in parts.values()
        )
        return Batch(seeds_R, observations, replies_R, logprobs_R, values_R, advantages_R, returns_R, rows_of)

    def _rewards(self, position: int, steps: Sequence[Transition], metrics: dict[str, float | str]) -> Tensor:
        """Scaled scores minus the KL penalty, r = score / std - beta * (log pi - log pi_ref)."""
        ppo, state = self.ppo, self.state[position]
        scores = torch.tensor([step.score for step in steps])
        if ppo.score_scaling:
            state.moments.update(scores)
            scale = state.moments.std
            if scale < 1e-6:
                metrics["note"] = "scores not scaled: they have not varied so far"
                scale = 1.0
            scores = (scores - state.moments.mean * ppo.score_normalisation) / scale
        logprobs = torch.tensor([step.logprob for step in steps])
        reference = torch.tensor(
            self.policy.reference_logprobs([step.observation for step in steps], [step.reply for step in steps])
        )
        kl = logprobs - reference
        rewards = scores - state.kl_coef * kl
        metrics["kl"], metrics["kl_coef"] = float(kl.mean()), state.kl_coef
        if ppo.kl_adaptive:
            state.kl_coef = adapted_kl_coefficient(
                state.kl_coef, float(kl.mean()), target=ppo.kl_target, horizon=ppo.kl_horizon, samples=len(steps)
            )
        return rewards

    def _advantages(self, sequences: Sequence[Sequence[Transition]], rewards: Tensor, values: Tensor) -> Tensor:
        """GAE along each game's sequence, cut where the config says; in the order of the rows."""
        lengths = [len(sequence) for sequence in sequences]
        ends = [
            torch.tensor([(self.ppo.gae_chain == "episode" and s.ends_episode) or s is sequence[-1] for s in sequence])
            for sequence in sequences
        ]

        def pad(parts: Sequence[Tensor]) -> Tensor:
            return nn.utils.rnn.pad_sequence(list(parts), batch_first=True)

        advantages_BT = generalised_advantages(
            pad(torch.split(rewards, lengths)),
            pad(torch.split(values, lengths)),
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
        ratio_R = torch.exp(logprobs_R.detach() - batch.old_logprobs_R[R])

        stepping, weights = [], []
        start = 0
        for position, part in rows_of.items():
            own = slice(start, start + len(part))
            start += len(part)
            reason = _unfit(loss_R[own], ratio_R[own], ppo.ratio_threshold)
            if reason:
                metrics[self.seeds[position]]["note"] = f"optimiser step skipped: {reason}"
                weights.append(torch.zeros(len(part)))
                continue
            stepping.append(position)
            weights.append(torch.full((len(part),), 1.0 / len(part)))
            series = sums[position]
            clipped = ((ratio_R[own] - 1.0).abs() > ppo.clip).float()
            for key, values in (
                ("policy_loss", policy_R[own]),
                ("value_loss", value_R[own]),
                ("entropy", entropy_R[own]),
                ("clipped", clipped),
            ):
                series.setdefault(key, []).append(float(values.detach().mean()))
        if not stepping:
            return
        weights_R = torch.cat(weights).to(self.device)
        self.policy_adam.zero_grad()
        self.head_adam.zero_grad()
        # where(): a skipped seed's loss may be NaN, and 0 * NaN would spoil the others'
        torch.where(weights_R > 0, loss_R * weights_R, torch.zeros_like(loss_R)).sum().backward()  # type: ignore[no-untyped-call]
        slots = [self.slots[position] for position in stepping]
        self.policy_adam.step(slots)
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


def _unfit(loss_R: Tensor, ratio_R: Tensor, threshold: float) -> str:
    """Why an optimiser step on these rows would do harm; empty if it would not."""
    if not bool(torch.isfinite(loss_R).all()):
        return "the loss is not finite"
    mean = float(ratio_R.mean())
    return f"the mean probability ratio {mean:.3g} exceeds {threshold:g}" if mean > threshold else ""
