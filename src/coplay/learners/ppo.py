"""PPO over rounds: the learner of ShapeLLM (appendix A.3).

TRL 0.11.4's PPO with three differences: advantages are estimated over the rounds of an episode or trial instead of the tokens of
one reply, an optional entropy bonus looks at the legal replies alone, and what was broken there is mended. The naive learner and
the shaper are this learner with different memory and update schedule. All seeds learn together, each in its own slot: losses are
averaged within a slot and summed over slots, so every slot gets the gradient of a run of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics, part, prefixed
from coplay.learners.credit import RunningMoments, adapted_kl_coefficient, generalised_advantages, whiten
from coplay.learners.losses import kl_penalised_rewards, linear_schedule, lr_factor, ppo_loss
from coplay.learners.ppo_batch import Batch, SeedProgress, Transition
from coplay.learners.settings import PPO
from coplay.learners.value_heads import ValueHeads
from coplay.models.optimiser import SlotAdam
from coplay.players.network import NetworkPolicy
from coplay.players.policy import Policy, ReplyScores
from coplay.rng import stream


def entropy_coef_at(update: int, ppo: PPO) -> float:
    """The weight of the entropy bonus in an update, counted from 0."""
    return linear_schedule(
        ppo.entropy_initial,
        ppo.entropy_final,
        step=update,
        steps=ppo.entropy_updates,
        delay=ppo.entropy_delay_updates,
    )


class PPOLearner:
    """PPO on any policy, all seeds at once, each in its slot of the policy; ``name`` names its random streams."""

    def __init__(self, name: str, policy: Policy, *, seeds: Sequence[int], slots: Sequence[int], ppo: PPO) -> None:
        self.name, self.policy, self.ppo = name, policy, ppo
        self.player = policy
        self.seeds = list(seeds)
        self.slots = dict(zip(seeds, slots, strict=True))
        self.position = {seed: i for i, seed in enumerate(self.seeds)}
        self._position_of_slot = {slot: i for i, slot in enumerate(slots)}
        parameters = policy.parameters()
        self.device = parameters[0].device
        self.heads = ValueHeads(name, self.seeds, policy.width, self.device)
        policy.values = self._values if ppo.critic else None
        head_rate = ppo.learning_rate if ppo.head_learning_rate is None else ppo.head_learning_rate
        self.policy_adam = SlotAdam(
            parameters, [ppo.learning_rate] * parameters[0].shape[0], eps=ppo.adam_eps, weight_decay=ppo.weight_decay
        )
        self.head_adam = SlotAdam([self.heads.weights], [head_rate] * len(self.seeds))
        self.state = [SeedProgress(kl_coef=ppo.kl_coef) for _ in self.seeds]
        self._collected: dict[int, dict[tuple[int, str], list[Transition]]] = {seed: {} for seed in self.seeds}

    def _values(self, slots: Sequence[int], hidden_RH: Tensor) -> list[float | None]:
        """The value heads' estimates; None for slots of nobody who learns, such as past selves."""
        positions = [self._position_of_slot.get(slot, -1) for slot in slots]
        estimates: list[float] = self.heads([max(p, 0) for p in positions], hidden_RH).tolist()
        return [None if position < 0 else value for position, value in zip(positions, estimates, strict=True)]

    @property
    def _updates(self) -> int:
        """Updates so far. Seeds update together; one that has diverged is not told of those before a resume."""
        return max(state.updates for state in self.state)

    def clear_cache(self) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        self.policy.clear_cache()

    # ------------------------------------------------------------------ learning

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Keep the learner's own replies of these games. Those of rounds that are void for the seat are dropped."""
        for episode in episodes:
            for seat in episode.seats_of(self.name):
                transitions = self._collected[episode.seed].setdefault((episode.game, seat), [])
                scored = episode.scored_turns(seat)
                for i, (turn, score) in enumerate(scored):
                    transitions.append(Transition(turn, turn.reply.value, score, i == len(scored) - 1))

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """Learn from what was collected, then discard it.

        Args:
            rng_path: names the streams that shuffle the minibatches, e.g. ``(trial, episode)``.

        Returns:
            For each seed, metrics of the update; a skipped seed has a ``note`` that says why. One whose loss or gradient is not finite has
            not stepped, and has :data:`~coplay.learners.base.DIVERGED`.
        """
        metrics: UpdateMetrics = {seed: {} for seed in self.seeds}
        batch = self._batch(metrics)
        if batch is not None:
            self._optimise(batch, rng_path, metrics)
        for state in self.state:
            state.updates += 1
        self._collected = {seed: {} for seed in self.seeds}
        self.policy.bump_version([])
        return metrics

    def _batch(self, metrics: Mapping[int, dict[str, float | str]]) -> Batch | None:
        """Scores to rewards to advantages. Seeds with too few transitions are left out."""
        sequences: list[list[Transition]] = []
        rows_of: dict[int, range] = {}
        start = 0
        for position, seed in enumerate(self.seeds):
            own = [steps for steps in self._collected[seed].values() if steps]
            n = sum(map(len, own))
            if n < (2 if self.ppo.whiten else 1):
                metrics[seed]["note"] = f"update skipped: {n} transitions are too few to estimate advantages"
                continue
            sequences += own
            rows_of[position] = range(start, start + n)
            start += n
        if not rows_of:
            return None
        steps = [step for sequence in sequences for step in sequence]
        turns = [step.turn for step in steps]
        positions = [position for position, rows in rows_of.items() for _ in rows]
        scores_R = torch.tensor([step.score for step in steps])
        logprobs_R = torch.tensor([sum(turn.reply.logprobs) for turn in turns])
        values_R = torch.tensor(self._old_values(steps, positions))
        sizes = [len(rows) for rows in rows_of.values()]
        scores_SN = [
            self._scaled(position, scores_N, metrics[self.seeds[position]])
            for position, scores_N in zip(rows_of, torch.split(scores_R, sizes), strict=True)
        ]
        if self.ppo.kl_coef:
            kl_R = logprobs_R - torch.tensor(self.policy.reference_logprobs(turns))
            scores_SN = [
                self._penalised(position, scores_N, kl_N, metrics[self.seeds[position]])
                for position, scores_N, kl_N in zip(rows_of, scores_SN, torch.split(kl_R, sizes), strict=True)
            ]
        rewards_R = torch.cat(scores_SN)
        advantages_R = self._advantages(sequences, rewards_R, values_R)
        returns_R = (
            advantages_R + values_R if self.ppo.critic else values_R
        )  # without a critic nothing is to be predicted
        if self.ppo.whiten:
            advantages_R = torch.cat([whiten(part) for part in torch.split(advantages_R, sizes)])
        return Batch(
            seeds_R=torch.tensor(positions).to(self.device),
            turns=turns,
            replies=self.policy.read(turns) if isinstance(self.policy, NetworkPolicy) else None,
            old_logprobs_R=logprobs_R.to(self.device),
            old_values_R=values_R.to(self.device),
            advantages_R=advantages_R.to(self.device),
            returns_R=returns_R.to(self.device),
            rows_of=rows_of,
        )

    def _old_values(self, steps: Sequence[Transition], positions: Sequence[int]) -> list[float]:
        """The value estimates made before each reply; computed now where the player did not make them. 0 without a critic."""
        if not self.ppo.critic:
            return [0.0] * len(steps)
        missing = [i for i, step in enumerate(steps) if step.value is None]
        values = [0.0 if step.value is None else step.value for step in steps]
        size = self.ppo.minibatch
        for rows in (missing[start : start + size] for start in range(0, len(missing), size)):
            slots = [self.slots[self.seeds[positions[i]]] for i in rows]
            with torch.no_grad():
                hidden_RH = self.policy.score_replies(slots, [steps[i].turn for i in rows]).hidden_RH
                estimates = self.heads([positions[i] for i in rows], hidden_RH).tolist()
            for i, value in zip(rows, estimates, strict=True):
                values[i] = value
        return values

    def _scaled(self, position: int, scores_N: Tensor, metrics: dict[str, float | str]) -> Tensor:
        """One seed's scores in units of their running deviation, around their running mean if asked."""
        ppo, moments = self.ppo, self.state[position].moments
        if not ppo.score_scaling:
            return scores_N
        moments.update(scores_N)
        scale = moments.std
        if scale < 1e-6:
            metrics["note"] = "scores not scaled: they have not varied so far"
            scale = 1.0
        return (scores_N - moments.mean * ppo.score_normalisation) / scale

    def _penalised(self, position: int, scores_N: Tensor, kl_N: Tensor, metrics: dict[str, float | str]) -> Tensor:
        """One seed's scaled scores minus the KL penalty, whose coefficient then adapts."""
        ppo, state = self.ppo, self.state[position]
        kl = float(kl_N.mean())
        metrics["kl"], metrics["kl_coef"] = kl, state.kl_coef
        rewards_N = kl_penalised_rewards(scores_N, kl_N, kl_coef=state.kl_coef)
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

        rewards_BT, values_BT, ends_BT = (
            nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
            for parts in (torch.split(rewards_R, lengths), torch.split(values_R, lengths), ends)
        )
        advantages_BT = generalised_advantages(rewards_BT, values_BT, ends_BT, gamma=self.ppo.gamma, lam=self.ppo.lam)
        return torch.cat([row[:length] for row, length in zip(advantages_BT, lengths, strict=True)])

    def _optimise(self, batch: Batch, rng_path: RngPath, metrics: Mapping[int, dict[str, float | str]]) -> None:
        """Minibatch steps. Every seed shuffles its own rows; step k of all seeds shares one forward and backward pass, where that saves time."""
        figures: dict[int, dict[str, list[float]]] = {position: {} for position in batch.rows_of}
        for epoch in range(self.ppo.epochs):
            orders = {
                position: stream(self.seeds[position], "minibatch", self.name, *rng_path, epoch).permutation(len(rows))
                + rows.start
                for position, rows in batch.rows_of.items()
            }
            most = max(map(len, orders.values()))
            for start in range(0, most, self.ppo.minibatch):
                rows_of = {
                    position: order[start : start + self.ppo.minibatch]
                    for position, order in orders.items()
                    if start < len(order)
                }
                for together in [rows_of] if self.policy.shares_passes else [{one: rows_of[one]} for one in rows_of]:
                    self._minibatch(batch, together, figures, metrics)
        for position, series in figures.items():
            metrics[self.seeds[position]].update({key: sum(values) / len(values) for key, values in series.items()})

    def _minibatch(
        self,
        batch: Batch,
        rows_of: Mapping[int, np.ndarray],
        figures: Mapping[int, dict[str, list[float]]],
        metrics: Mapping[int, dict[str, float | str]],
    ) -> None:
        """One optimiser step for every seed with rows left, unless it would do harm."""
        R = torch.from_numpy(np.concatenate(list(rows_of.values()))).to(self.device)
        seeds_R = batch.seeds_R[R]
        loss_R, figures_RK = self._loss(batch, R)
        sizes_P = torch.bincount(seeds_R, minlength=len(self.seeds)).clamp(min=1)
        zeros_PK = torch.zeros(len(self.seeds), figures_RK.shape[1], device=self.device)
        sums_PK = zeros_PK.index_add_(0, seeds_R, figures_RK)
        means = (sums_PK / sizes_P[:, None]).tolist()
        stepping = []
        for position in rows_of:
            loss, ratio, *rest = means[position]
            if ratio > self.ppo.ratio_threshold:
                reason = f"the mean probability ratio {ratio:.3g} exceeds {self.ppo.ratio_threshold:g}"
                metrics[self.seeds[position]]["note"] = f"optimiser step skipped: {reason}"
                continue
            if not math.isfinite(loss):
                metrics[self.seeds[position]].setdefault(DIVERGED, "the loss is not finite")
                continue
            stepping.append(position)
            for key, figure in zip(("policy_loss", "value_loss", "entropy", "clipped"), rest, strict=True):
                if self.ppo.critic or key != "value_loss":
                    figures[position].setdefault(key, []).append(figure)
        if stepping:
            for position in self._step(loss_R, seeds_R, sizes_P, stepping):
                metrics[self.seeds[position]].setdefault(DIVERGED, "the gradient is not finite")

    def _loss(self, batch: Batch, R: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each row, with gradients, and its figures [R, K]: loss, ratio, policy loss, value loss, entropy, clipped."""
        ppo, seeds_R = self.ppo, batch.seeds_R[R]
        slots = [self.slots[self.seeds[position]] for position in seeds_R.tolist()]
        scores = self._scores(slots, batch, R)
        hidden_RH = scores.hidden_RH if ppo.value_gradient == "trunk" else scores.hidden_RH.detach()
        entropy_coef = entropy_coef_at(self._updates, ppo)
        terms = ppo_loss(
            scores.logprobs_R,
            batch.old_logprobs_R[R],
            batch.advantages_R[R],
            self.heads(seeds_R, hidden_RH) if ppo.critic else batch.old_values_R[R],
            batch.old_values_R[R],
            batch.returns_R[R],
            scores.entropies_R,
            clip=ppo.clip,
            value_clip=ppo.value_clip,
            value_coef=ppo.value_coef,
            entropy_coef=entropy_coef,
        )
        ratio_R = torch.exp(scores.logprobs_R - batch.old_logprobs_R[R])
        clipped_R = ((ratio_R - 1.0).abs() > ppo.clip).float()
        figures = [terms.loss_R, ratio_R, terms.policy_R, terms.value_R, scores.entropies_R, clipped_R]
        return terms.loss_R, torch.stack(figures, dim=1).detach()

    def _scores(self, slots: Sequence[int], batch: Batch, R: Tensor) -> ReplyScores:
        """What the policy says of these rows now."""
        if batch.replies is not None and isinstance(self.policy, NetworkPolicy):
            return self.policy.score(slots, batch.replies.rows(R), grad=True)
        return self.policy.score_replies(slots, [batch.turns[row] for row in R.tolist()], grad=True)

    def _step(self, loss_R: Tensor, seeds_R: Tensor, sizes_P: Tensor, stepping: Sequence[int]) -> list[int]:
        """Step these seeds along their mean losses; returns those whose gradient is not finite."""
        ppo = self.ppo
        steps_P = torch.zeros(len(self.seeds), dtype=torch.bool, device=self.device)
        steps_P[list(stepping)] = True
        self.policy_adam.zero_grad()
        self.head_adam.zero_grad()
        # where(): a skipped seed's loss may be NaN, and 0 * NaN would spoil the others'
        loss_R = torch.where(steps_P[seeds_R], loss_R / sizes_P[seeds_R], torch.zeros_like(loss_R))
        loss_R.sum().backward()  # type: ignore[no-untyped-call]
        slots = [self.slots[self.seeds[position]] for position in stepping]
        if ppo.max_grad_norm is not None:
            self.policy_adam.clip_grad_norm(ppo.max_grad_norm)
        factor = lr_factor(
            self._updates + 1, warmup=ppo.lr_warmup_updates, decay=ppo.lr_decay_updates, end=ppo.lr_end_factor
        )
        bad = {self._position_of_slot[slot] for slot in self.policy_adam.step(slots, scale=factor)}
        if ppo.critic:
            bad.update(self.head_adam.step(stepping))
        self.policy.bump_version(slots)
        return sorted(bad)

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self, seed: int) -> SeedState:
        """See :class:`coplay.learners.base.Learner`."""
        slot, position = self.slots[seed], self.position[seed]
        own = self.state[position]
        moments = own.moments
        numbers = [moments.mean, moments.variance, moments.count, own.kl_coef, float(own.updates)]
        return {
            **prefixed("policy.", self.policy.slot_state(slot)),
            "head": self.heads.weights.detach()[position].clone(),
            **prefixed("policy_adam.", self.policy_adam.slot_state(slot)),
            **prefixed("head_adam.", self.head_adam.slot_state(position)),
            "progress": torch.tensor(numbers, dtype=torch.float64),
        }

    @torch.no_grad()
    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        slot, position = self.slots[seed], self.position[seed]
        self.policy.load_slot_state(slot, part(state, "policy."))
        self.heads.weights[position] = state["head"]
        self.policy_adam.load_slot_state(slot, part(state, "policy_adam."))
        self.head_adam.load_slot_state(position, part(state, "head_adam."))
        mean, variance, count, kl_coef, updates = state["progress"].tolist()
        self.state[position] = SeedProgress(RunningMoments(mean, variance, count), kl_coef, int(updates))
