"""The Q-learner: when a table of values learns, how it explores, and when it counts as converged.

The page with the equations: docs/theory/other_learners.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coplay.games.records import Episode
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics
from coplay.learners.losses import exponential_schedule, linear_schedule
from coplay.learners.movement import seed_of, unmoved
from coplay.learners.q_learning import QTransition, ValueTable, q_target
from coplay.learners.settings import QLearning


class QLearner:
    """A Q-learner, all seeds at once, a table each."""

    def __init__(self, name: str, table: ValueTable, *, seeds: Sequence[int], q: QLearning) -> None:
        self.name, self.table, self.q = name, table, q
        self.player = table
        self.slots = {seed: i for i, seed in enumerate(seeds)}
        self.updates = dict.fromkeys(seeds, 0)
        self.changed = dict.fromkeys(seeds, 0)
        """With ``convergence``: how many updates there were when a best action last changed."""
        self._waiting = set(seeds)
        """The seeds whose tables have not been seen to change; see :mod:`coplay.learners.movement`."""
        self._best_PS = table.values.argmax(-1) if q.convergence else None
        self._collected: dict[int, list[QTransition]] = {seed: [] for seed in seeds}
        self._set_epsilons()

    def epsilon(self, seed: int) -> float:
        """The probability of a random action now."""
        q, step = self.q, self.updates[seed]
        if q.epsilon_schedule == "exponential":
            return exponential_schedule(q.epsilon_initial, q.epsilon_final, rate=q.epsilon_rate, step=step)
        return linear_schedule(q.epsilon_initial, q.epsilon_final, step=step, steps=q.epsilon_updates)

    def _set_epsilons(self) -> None:
        self.table.epsilons = [self.epsilon(seed) for seed in self.slots]

    def clear_cache(self) -> None:
        """Nothing here is computed ahead."""

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Keep what was learnt from each reply, in the order of play: reply by reply over all games."""
        found = [
            (episode.seed, self.table.transitions(episode, seat, infinite_horizon=self.q.infinite_horizon))
            for episode in episodes
            for seat in episode.seats_of(self.name)
        ]
        for t in range(max((len(transitions) for _, transitions in found), default=0)):
            for seed, transitions in found:
                transition = transitions[t] if t < len(transitions) else None
                if transition is not None:
                    self._collected[seed].append(transition)

    def update(self, rng_path: RngPath) -> UpdateMetrics:
        """Go through the collected rounds once.

        Returns:
            For each seed ``epsilon``, the probability of random actions until now, and ``td_error``, the mean size of the differences
            between targets and values; :data:`~coplay.learners.base.DIVERGED` if one of them is not finite. With ``convergence`` also
            ``stable``, the updates since the best action of a state last changed, and ``converged``, whether they are enough.

        Raises:
            Unmoved: if a difference has not changed the table.
        """
        metrics: UpdateMetrics = {}
        for seed, slot in self.slots.items():
            errors = [abs(self._learn(seed, slot, transition)) for transition in self._collected[seed]]
            metrics[seed] = {"epsilon": self.epsilon(seed)}
            if errors:
                mean = sum(errors) / len(errors)
                metrics[seed]["td_error"] = mean
                if not math.isfinite(mean):
                    metrics[seed][DIVERGED] = "a difference between target and value is not finite"
            self._collected[seed] = []
            self.updates[seed] += 1
            if self._best_PS is not None:
                stable = self.updates[seed] - self.changed[seed]
                metrics[seed] |= {"stable": float(stable), "converged": float(stable >= self.q.convergence)}
        self._set_epsilons()
        return metrics

    def _learn(self, seed: int, slot: int, transition: QTransition) -> float:
        values_SA = self.table.values[slot]
        target = q_target(transition, values_SA, discount=self.q.discount)
        value = float(values_SA[transition.state, transition.action])
        error = target - value
        if math.isfinite(error):
            values_SA[transition.state, transition.action] = value + self.q.learning_rate * error
            if seed in self._waiting and value + self.q.learning_rate * error != value:
                if self.table.values[slot, transition.state, transition.action] == value:
                    raise unmoved(
                        seed_of(self.name, seed),
                        f"has not moved: a value that was {error:g} away from its target is as it was",
                        "what the table of values hands out are copies",
                    )
                self._waiting.discard(seed)
            if self._best_PS is not None:
                best = values_SA[transition.state].argmax()
                if best != self._best_PS[slot, transition.state]:
                    self._best_PS[slot, transition.state] = best
                    self.changed[seed] = self.updates[seed] + 1
        return error

    def state_dict(self, seed: int) -> SeedState:
        """The seed's table, its number of updates, on which the schedule of epsilon depends, and when a best action last changed."""
        state = self.table.state(self.slots[seed]) | {"updates": torch.tensor(self.updates[seed])}
        return state if self._best_PS is None else state | {"changed": torch.tensor(self.changed[seed])}

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        slot = self.slots[seed]
        self.table.load_state(slot, state)
        self.updates[seed] = int(state["updates"])
        if self._best_PS is not None:
            self.changed[seed] = int(state["changed"])
            self._best_PS[slot] = self.table.values[slot].argmax(-1)
        self._set_epsilons()
