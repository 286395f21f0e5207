"""Tabular Q-learning on the last round (Watkins & Dayan, 1992): the co-player of the literature on learning in repeated games.

With s the last joint action as the seat sees it, a the own action, r the payoff and s' the joint action that followed:

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a))

and r alone as the target after an episode's last round, unless the game is taken as endless. Moves are epsilon-greedy: with
probability ε any action, all alike, else the best one; ties are shared evenly. The N parallel games of a seed share one table and are
gone through in order, round by round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from coplay.algorithms.base import Occasion, UpdateMetrics
from coplay.config import QLearning
from coplay.games.matrix import Joint, MatrixGame
from coplay.games.memory import Memory, Observation, own_view
from coplay.losses import linear_schedule
from coplay.players.scripted import sample
from coplay.players.tabular import state_in_words
from coplay.types import Episode, Move, View


class QTransition(NamedTuple):
    """One round as a Q-learner remembers it; states are lines of its table."""

    state: int
    action: int
    payoff: float
    next_state: int | None
    """None where the game ended."""


class QTable:
    """The values of every action in every memory state.

    Args:
        game: the rules.
        seat: whose table it is.
        slots: P, the number of tables, one a seed.
        initial_value: every value at the start.
    """

    def __init__(self, game: MatrixGame, seat: str, *, slots: int, initial_value: float = 0.0) -> None:
        self.states = game.own_states(seat)
        shape = (slots, 1 + len(self.states), len(game.actions[seat]))
        self.parameter = nn.Parameter(torch.full(shape, initial_value, dtype=torch.float64), requires_grad=False)
        self.values: npt.NDArray[np.float64] = self.parameter.detach().numpy()
        """[P, 1 + n·m, A], the same memory as the parameter: the start, then the states of ``own_states``."""

    def line(self, last: Joint | None) -> int:
        """Where in the table a memory state stands."""
        return 0 if last is None else 1 + self.states.index(last)

    def probabilities(self, slot: int, line: int, *, epsilon: float) -> tuple[float, ...]:
        """The epsilon-greedy distribution over the seat's actions."""
        values_A = self.values[slot, line]
        best_A = values_A == values_A.max()
        probs_A = epsilon / len(values_A) + (1.0 - epsilon) * best_A / best_A.sum()
        return tuple(probs_A.tolist())

    def parameters(self) -> list[nn.Parameter]:
        """The table."""
        return [self.parameter]

    def prompt_text(self, observation: Observation) -> str:
        """The memory state in words."""
        return state_in_words(self.states, observation)


class QLearner:
    """A Q-learner, all seeds at once, a table each.

    Args:
        name: what to call it in tables.
        game: the rules.
        seat: where it sits.
        seeds: the seeds, in the order of their tables.
        memory: ``none`` or ``last_round``.
        q: hyper-parameters.
    """

    def __init__(
        self, name: str, game: MatrixGame, seat: str, *, seeds: Sequence[int], memory: Memory, q: QLearning
    ) -> None:
        self.name, self.game, self.seat, self.memory, self.q = name, game, seat, memory, q
        self.seeds = list(seeds)
        self.position = {seed: i for i, seed in enumerate(self.seeds)}
        self.policy = QTable(game, seat, slots=len(self.seeds), initial_value=q.initial_value)
        self.updates = 0
        self._collected: dict[int, list[QTransition]] = {seed: [] for seed in self.seeds}

    @property
    def epsilon(self) -> float:
        """The share of moves that is random now."""
        return linear_schedule(
            self.q.epsilon_initial, self.q.epsilon_final, step=self.updates, steps=self.q.epsilon_updates
        )

    def act(self, views: Sequence[View]) -> list[Move]:
        """An epsilon-greedy move for each view."""
        return [self._move(view) for view in views]

    def _move(self, view: View) -> Move:
        line = self.policy.line(view.observation.last)
        probs = self.policy.probabilities(self.position[view.seed], line, epsilon=self.epsilon)
        action = sample(probs, view.draw)
        return Move(
            action=self.game.actions[self.seat][action],
            reply=self.game.labels[self.seat][action],
            token=action,
            logprob=float(np.log(probs[action])),
            probs=probs,
        )

    def forget(self) -> None:
        """Nothing here is computed ahead."""

    def collect(self, episodes: Sequence[Episode]) -> None:
        """Remember the rounds in which both replies were legal, in the order they were played."""
        for t in range(max((len(episode.states) for episode in episodes), default=0)):
            for episode in episodes:
                transition = self._transition(episode, t)
                if transition is not None:
                    self._collected[episode.seed].append(transition)

    def _transition(self, episode: Episode, t: int) -> QTransition | None:
        turn, joint = episode.traces[self.seat].turns[t], episode.states[t]
        if joint is None or turn.payoff is None:
            return None
        own = own_view(self.seat, joint)
        ends = episode.finished and t == len(episode.states) - 1 and not self.q.endless
        return QTransition(
            state=self.policy.line(turn.observation.last),
            action=self.game.actions[self.seat].index(own[0]),
            payoff=turn.payoff,
            next_state=None if ends else self.policy.line(own if self.memory is Memory.LAST_ROUND else None),
        )

    def update(self, occasion: Occasion) -> UpdateMetrics:
        """Go through the collected rounds once.

        Returns:
            For each seed ``epsilon``, the share of random moves until now, and ``td_error``, the mean size of the differences
            between targets and values.
        """
        metrics: UpdateMetrics = {}
        for position, seed in enumerate(self.seeds):
            errors = [abs(self._learn(position, transition)) for transition in self._collected[seed]]
            metrics[seed] = {"epsilon": self.epsilon}
            if errors:
                metrics[seed]["td_error"] = sum(errors) / len(errors)
            self._collected[seed] = []
        self.updates += 1
        return metrics

    def _learn(self, position: int, transition: QTransition) -> float:
        values_SA = self.policy.values[position]
        target = transition.payoff
        if transition.next_state is not None:
            target += self.q.discount * float(values_SA[transition.next_state].max())
        error = target - float(values_SA[transition.state, transition.action])
        values_SA[transition.state, transition.action] += self.q.learning_rate * error
        return error

    def tensors(self) -> dict[str, Tensor]:
        """The number of updates, on which the schedule of epsilon depends."""
        return {"updates": torch.tensor(self.updates)}

    def load_tensors(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`tensors` returned."""
        self.updates = int(state["updates"])
