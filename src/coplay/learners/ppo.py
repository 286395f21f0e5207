"""PPO over rounds: the learner of ShapeLLM (appendix A.3).

TRL 0.11.4's PPO with three differences: advantages are estimated over the rounds of an episode or trial instead of the tokens of
one reply, an optional entropy bonus looks at the legal replies alone, and what was broken there is mended. The naive learner and
the shaper are this learner with different memory and update schedule. All seeds learn together, each in its own slot: losses are
averaged within a slot and summed over slots, so every slot gets the gradient of a run of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics, part, prefixed
from coplay.learners.credit import RunningMoments, whiten
from coplay.learners.losses import linear_schedule, lr_factor
from coplay.learners.movement import Movement, cannot_learn, movement_of, seed_of
from coplay.learners.ppo_batch import Batch, SeedProgress, Transition, advantages_along, minibatches
from coplay.learners.ppo_passes import Losses, PPOPasses
from coplay.learners.ratios import SHARE, scores_anew
from coplay.learners.settings import PPO
from coplay.learners.value_heads import ValueHeads
from coplay.models.optimiser import SlotAdam
from coplay.players.network import NetworkPolicy
from coplay.players.policy import Policy
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
        # no moments for slots behind the learner's: past selves and frozen co-players never step
        rates = [ppo.learning_rate] * (max(slots) + 1)
        self.policy_adam = SlotAdam(parameters, rates, eps=ppo.adam_eps, weight_decay=ppo.weight_decay)
        self.head_adam = SlotAdam([self.heads.weights], [head_rate] * len(self.seeds))
        self.moving = movement_of(name, policy, self.slots)
        self.passes = PPOPasses(policy, self.heads, ppo, slots, self.moving)
        heads = {i: seed_of(name, seed) for i, seed in enumerate(self.seeds)}
        self.heads_moving = Movement("value head", [self.heads.weights], heads)
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
            self.state[position].scaled(scores_N, self.ppo, metrics[self.seeds[position]])
            for position, scores_N in zip(rows_of, torch.split(scores_R, sizes), strict=True)
        ]
        if self.ppo.kl_coef:
            kl_R = logprobs_R - torch.tensor(self.policy.reference_logprobs(turns))
            scores_SN = [
                self.state[position].penalised(scores_N, kl_N, self.ppo, metrics[self.seeds[position]])
                for position, scores_N, kl_N in zip(rows_of, scores_SN, torch.split(kl_R, sizes), strict=True)
            ]
        rewards_R = torch.cat(scores_SN)
        advantages_R = advantages_along(sequences, rewards_R, values_R, self.ppo)
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
        size = self.ppo.microbatch_size or self.ppo.minibatch
        for rows in (missing[start : start + size] for start in range(0, len(missing), size)):
            slots = [self.slots[self.seeds[positions[i]]] for i in rows]
            with torch.no_grad():
                hidden_RH = self.policy.score_replies(slots, [steps[i].turn for i in rows]).hidden_RH
                estimates = self.heads([positions[i] for i in rows], hidden_RH).tolist()
            for i, value in zip(rows, estimates, strict=True):
                values[i] = value
        return values

    def _optimise(self, batch: Batch, rng_path: RngPath, metrics: Mapping[int, dict[str, float | str]]) -> None:
        """Minibatch steps. Every seed shuffles its own rows; step k of all seeds shares one forward and backward pass, where that saves time."""
        figures: dict[int, dict[str, list[float]]] = {position: {} for position in batch.rows_of}
        trusted = set() if scores_anew(self.policy, self.ppo.clip) else set(batch.rows_of)
        for epoch in range(self.ppo.epochs):
            orders = {
                position: stream(self.seeds[position], "minibatch", self.name, *rng_path, epoch).permutation(len(rows))
                + rows.start
                for position, rows in batch.rows_of.items()
            }
            steps = minibatches(orders, self.ppo.minibatch, together=self.policy.shares_passes)
            if epoch == 0 and not trusted:
                batch = self._scored_anew(batch, steps, batch.rows_of)
            for rows_of in steps:
                R = torch.from_numpy(np.concatenate(list(rows_of.values()))).to(self.device)
                found = self._losses(batch, R)
                first = trusted & rows_of.keys()
                if first:
                    far_R = (found.figures_RK[:, 1] - 1.0).abs() > SHARE * self.ppo.clip
                    wrong, trusted = first & set(batch.seeds_R[R[far_R]].tolist()), trusted - first
                    if wrong:
                        del found  # a pass whose backward pass is still to come may change how the next one is computed
                        batch = self._scored_anew(batch, [one for one in steps if wrong & one.keys()], wrong)
                        found = self._losses(batch, R)
                self._minibatch(batch, rows_of, R, found, figures, metrics)
        for position, series in figures.items():
            metrics[self.seeds[position]].update({key: sum(values) / len(values) for key, values in series.items()})

    def _scored_anew(
        self, batch: Batch, steps: Sequence[Mapping[int, np.ndarray]], positions: Collection[int]
    ) -> Batch:
        """The batch with old log-probabilities and values of these seeds from passes like those that train on them; see ratios."""
        logprobs_R, values_R = batch.old_logprobs_R.clone(), batch.old_values_R.clone()
        for rows_of in steps:
            R = torch.from_numpy(np.concatenate(list(rows_of.values()))).to(self.device)
            for N in (R[places_N] for places_N in self.passes.parts(batch, R)):
                seeds_N = batch.seeds_R[N]
                slots = [self.slots[self.seeds[position]] for position in seeds_N.tolist()]
                scores = self.passes.scores(slots, batch, N)
                own_N = torch.isin(seeds_N, torch.tensor(list(positions), device=self.device))
                logprobs_R[N[own_N]] = scores.logprobs_R.detach()[own_N]
                if self.ppo.critic:
                    values_R[N[own_N]] = self.heads(seeds_N, scores.hidden_RH.detach()).detach()[own_N]
                del scores  # before the next pass; see above
        return replace(batch, old_logprobs_R=logprobs_R, old_values_R=values_R)

    def _minibatch(
        self,
        batch: Batch,
        rows_of: Mapping[int, np.ndarray],
        R: Tensor,
        found: Losses,
        figures: Mapping[int, dict[str, list[float]]],
        metrics: Mapping[int, dict[str, float | str]],
    ) -> None:
        """One optimiser step for every seed with rows left, unless it would do harm."""
        loss_R, figures_RK = found
        seeds_R = batch.seeds_R[R]
        sizes_P = torch.bincount(seeds_R, minlength=len(self.seeds)).clamp(min=1)
        zeros_PK = torch.zeros(len(self.seeds), figures_RK.shape[1], device=self.device)
        sums_PK = zeros_PK.index_add_(0, seeds_R, figures_RK)
        means = (sums_PK / sizes_P[:, None]).tolist()
        stepping = []
        for position in rows_of:
            loss, ratio, *rest = means[position]
            metrics[self.seeds[position]].setdefault("clipped_first", rest[-1])
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
            for position in self._step(loss_R, batch, R, sizes_P, stepping):
                metrics[self.seeds[position]].setdefault(DIVERGED, "the gradient is not finite")

    def _losses(self, batch: Batch, R: Tensor) -> Losses:
        """The losses of these rows, from nothing else's gradients on."""
        self.policy_adam.zero_grad()
        self.head_adam.zero_grad()
        return self.passes.losses(batch, R, entropy_coef=entropy_coef_at(self._updates, self.ppo))

    def _step(
        self, loss_R: Tensor | None, batch: Batch, R: Tensor, sizes_P: Tensor, stepping: Sequence[int]
    ) -> list[int]:
        """Step these seeds along their mean losses; returns those whose gradient is not finite."""
        ppo, seeds_R = self.ppo, batch.seeds_R[R]
        if loss_R is not None:
            steps_P = torch.zeros(len(self.seeds), dtype=torch.bool, device=self.device)
            steps_P[list(stepping)] = True
            # where(): a skipped seed's loss may be NaN, and 0 * NaN would spoil the others'
            loss_R = torch.where(steps_P[seeds_R], loss_R / sizes_P[seeds_R], torch.zeros_like(loss_R))
            loss_R.sum().backward()  # type: ignore[no-untyped-call]
        slots = [self.slots[self.seeds[position]] for position in stepping]
        if ppo.max_grad_norm is not None:
            self.policy_adam.clip_grad_norm(ppo.max_grad_norm)
        factor = lr_factor(
            self._updates + 1, warmup=ppo.lr_warmup_updates, decay=ppo.lr_decay_updates, end=ppo.lr_end_factor
        )

        def nothing_reaches(slot: int) -> bool:
            own = R[seeds_R == self._position_of_slot[slot]].tolist()
            return cannot_learn(self.moving, self.policy, slot, [batch.turns[row] for row in own])

        stopped = self.moving.adam_step(self.policy_adam, slots, scale=factor, zero_is_wrong=nothing_reaches)
        bad = {self._position_of_slot[slot] for slot in stopped}
        if ppo.critic:
            bad.update(self.heads_moving.adam_step(self.head_adam, stepping))
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
