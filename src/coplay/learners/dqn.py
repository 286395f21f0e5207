"""Q-learning with a network and replay (Mnih et al., 2015), by default without a future: a contextual bandit, Q(s, a) = E[r | s, a].

Each optimiser step draws replies from the buffer and lowers the mean of 1/2 (Q(s, a) - y)^2 with

    y = r + γ max_a' Q⁻(s', a')

and r alone where γ = 0, or after an episode's last reply. Q⁻ is a copy of the network that is renewed every ``target_every`` steps. The loss is
squared because its minimum is the mean of the targets; the minimum of Huber's is not, where payoffs vary.

(Learning to Mediate Equilibrium Selection in LLM Games, section 3.4.) The page with the equations: docs/theory/other_learners.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics, part, prefixed
from coplay.learners.losses import linear_schedule
from coplay.learners.movement import Movement, seed_of
from coplay.learners.q_network import QNetwork
from coplay.learners.replay import Replay, Step, steps_of
from coplay.learners.settings import DQN
from coplay.models.optimiser import SlotAdam
from coplay.rng import stream


class DQNLearner:
    """A network of values, all seeds at once, each in its own slot; ``name`` names its random streams. See docs/theory/other_learners.md."""

    def __init__(self, name: str, network: QNetwork, *, seeds: Sequence[int], dqn: DQN) -> None:
        self.name, self.network, self.dqn = name, network, dqn
        self.player = network
        self.slots = {seed: i for i, seed in enumerate(seeds)}
        parameters = network.parameters()
        self.adam = SlotAdam(parameters, [dqn.learning_rate] * len(self.slots), eps=dqn.adam_eps)
        who = {slot: seed_of(name, seed) for seed, slot in self.slots.items()}
        self.moving = Movement("network of values", parameters, who)
        self.target = deepcopy(network.network) if dqn.discount else None
        self.replay = Replay(len(self.slots), dqn.buffer, len(network.features), following=dqn.discount > 0)
        self.updates = dict.fromkeys(seeds, 0)
        self.steps = [0] * len(self.slots)
        self._collected: dict[int, list[Step]] = {seed: [] for seed in seeds}
        self._set_epsilons()

    def epsilon(self, seed: int) -> float:
        """The probability of a random choice now."""
        dqn = self.dqn
        return linear_schedule(
            dqn.epsilon_initial, dqn.epsilon_final, step=self.updates[seed], steps=dqn.epsilon_updates
        )

    def _set_epsilons(self) -> None:
        self.network.epsilons = [self.epsilon(seed) for seed in self.slots]

    def clear_cache(self) -> None:
        """Nothing here is computed ahead."""

    # ------------------------------------------------------------------ learning

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Keep the learner's own replies of these games; those of rounds that are void for the seat are dropped."""
        for episode in episodes:
            for seat in episode.seats_of(self.name):
                self._collected[episode.seed] += steps_of(episode, seat)

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """Put what was collected into the buffers, and learn from replies drawn from them.

        Args:
            rng_path: names the streams that draw from the buffers, e.g. ``(trial, episode)``.

        Returns:
            For each seed ``epsilon``, the probability of random choices until now, and the means over its steps of ``loss`` and ``value``, that
            of the choices drawn; ``note`` if it took no step; :data:`~coplay.learners.base.DIVERGED` if a loss or gradient is not finite.
        """
        metrics: UpdateMetrics = {seed: {"epsilon": self.epsilon(seed)} for seed in self.slots}
        drawn: dict[int, np.ndarray] = {}
        for seed, slot in self.slots.items():
            own = self._collected[seed]
            self.replay.add(slot, own)
            if not own:
                metrics[seed] = {"note": "update skipped: no replies to learn from"}
            elif self.replay.size(slot) < self.dqn.least:
                metrics[seed]["note"] = f"update skipped: the buffer holds fewer than {self.dqn.least} replies"
            else:
                rng = stream(seed, "replay", self.name, *rng_path)
                drawn[seed] = rng.integers(0, self.replay.size(slot), (self.dqn.steps, self.dqn.minibatch))
        if drawn:
            self._optimise(drawn, metrics)
        for seed in self.slots:
            self.updates[seed] += 1
        self._set_epsilons()
        self._collected = {seed: [] for seed in self.slots}
        return metrics

    def _optimise(self, drawn: Mapping[int, np.ndarray], metrics: UpdateMetrics) -> None:
        """All steps of the seeds that learn, each on the replies drawn for it."""
        seeds = list(drawn)
        slots_S1 = torch.tensor([[self.slots[seed]] for seed in seeds])
        places_KSB = torch.from_numpy(np.stack([drawn[seed] for seed in seeds], axis=1))
        figures: dict[int, list[tuple[float, float]]] = {seed: [] for seed in seeds}
        for places_SB in places_KSB:
            loss_S, value_S = self._loss(slots_S1, self.replay.at(slots_S1, places_SB))
            finite_S = torch.isfinite(loss_S)
            stepping = [seed for seed, finite in zip(seeds, finite_S.tolist(), strict=True) if finite]
            self.moving.connected(loss_S, slots_S1[:, 0].tolist())
            self.adam.zero_grad()
            # where(): a loss that is not finite would spoil the others' gradients even if multiplied by 0
            torch.where(finite_S, loss_S, torch.zeros_like(loss_S)).sum().backward()  # type: ignore[no-untyped-call]
            bad = self._step([self.slots[seed] for seed in stepping])
            for seed, loss, value in zip(seeds, loss_S.tolist(), value_S.tolist(), strict=True):
                if seed not in stepping or self.slots[seed] in bad:
                    what = "gradient" if seed in stepping else "loss"
                    metrics[seed].setdefault(DIVERGED, f"the {what} is not finite")
                else:
                    figures[seed].append((loss, value))
        for seed, of_seed in figures.items():
            for key, column in zip(("loss", "value"), zip(*of_seed, strict=True), strict=False):
                metrics[seed][key] = sum(column) / len(column)

    def _loss(self, slots_S1: Tensor, drawn: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The mean loss of each seed, with gradients, and the mean value of its choices, [S]."""
        seeds, size = drawn["choice"].shape
        slots_R = slots_S1.expand(seeds, size).flatten().numpy()
        targets_R = drawn["payoff"].flatten()
        if self.target is not None:
            counts_R1 = drawn["choices"].flatten()[:, None]
            with torch.no_grad():
                _, next_RA = self.target(slots_R, drawn["following"].flatten(0, 1))
                illegal_RA = torch.arange(next_RA.shape[1]) >= counts_R1
                best_R = next_RA.masked_fill(illegal_RA, -torch.inf).amax(dim=1)
            best_R = torch.where(counts_R1[:, 0] > 0, best_R, torch.zeros_like(best_R))
            targets_R = targets_R + self.dqn.discount * best_R
        _, values_RA = self.network.network(slots_R, drawn["features"].flatten(0, 1))
        values_R = values_RA.gather(1, drawn["choice"].flatten()[:, None])[:, 0]
        loss_R = 0.5 * (values_R - targets_R) ** 2
        return loss_R.view(seeds, size).mean(1), values_R.detach().view(seeds, size).mean(1)

    def _step(self, slots: Sequence[int]) -> list[int]:
        """One optimiser step for these slots; returns those whose gradient is not finite."""
        if not slots:
            return []
        if self.dqn.max_grad_norm is not None:
            self.adam.clip_grad_norm(self.dqn.max_grad_norm)

        def nothing_reaches(slot: int) -> bool:
            _, values_RA = self.network.network([slot], torch.zeros(1, len(self.network.features)))
            return not self.moving.reaches(values_RA.sum(), slot)

        bad = self.moving.adam_step(self.adam, slots, zero_is_wrong=nothing_reaches)
        for slot in slots:
            self.steps[slot] += 1
            if self.target is not None and self.steps[slot] % self.dqn.target_every == 0:
                self.target.load_slot_state(slot, self.network.slot_state(slot))
        return bad

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self, seed: int) -> SeedState:
        """See :class:`coplay.learners.base.Learner`; the buffer is part of it."""
        slot = self.slots[seed]
        progress = [self.steps[slot], self.replay.added[slot], self.updates[seed]]
        return {
            **prefixed("policy.", self.network.slot_state(slot)),
            **prefixed("adam.", self.adam.slot_state(slot)),
            **prefixed("target.", self.target.slot_state(slot) if self.target is not None else {}),
            **prefixed("replay.", self.replay.slot_state(slot)),
            "progress": torch.tensor(progress, dtype=torch.long),
        }

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """See :class:`coplay.learners.base.Learner`."""
        slot = self.slots[seed]
        self.steps[slot], added, self.updates[seed] = state["progress"].tolist()
        self.network.load_slot_state(slot, part(state, "policy."))
        self.adam.load_slot_state(slot, part(state, "adam."))
        if self.target is not None:
            self.target.load_slot_state(slot, part(state, "target."))
        self.replay.load_slot_state(slot, part(state, "replay."), added=added)
        self._set_epsilons()
