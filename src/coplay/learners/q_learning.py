"""Tabular Q-learning on the last round (Watkins & Dayan, 1992): the co-player of the literature on learning in repeated games.

With s the last joint action as the seat sees it, a the own action, r the payoff and s' the joint action that followed:

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a))

and r alone as the target after an episode's last round, unless the game is taken as endless. Moves are epsilon-greedy: with
probability ε any action, all alike, else the best one; ties are shared evenly. The N parallel games of a seed share one table and are
gone through in order, round by round.

The page with the equation: docs/theory/other_learners.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from coplay.games.base import Game
from coplay.games.memory import Joint, Memory, own_view, state_in_words
from coplay.games.records import Action, Episode, Reply, Request, Turn
from coplay.learners.base import DIVERGED, RngPath, SeedState, UpdateMetrics
from coplay.learners.losses import linear_schedule
from coplay.learners.settings import QLearning
from coplay.players.base import OneByOne
from coplay.players.policy import slot_of
from coplay.players.scripted import sample


class QTransition(NamedTuple):
    """One round as a Q-learner remembers it; states are lines of its table."""

    state: int
    action: int
    payoff: float
    next_state: int | None
    """None where the game ended."""
    next_choices: int | None = None
    """How many choices there are in the next state; None for as many as the table has."""


def epsilon_greedy(values_A: npt.NDArray[np.float64], *, epsilon: float) -> tuple[float, ...]:
    """With probability epsilon any action, all alike, else the best one; ties are shared evenly. NaN if a value is NaN."""
    best_A = values_A == values_A.max()
    best = best_A.sum()
    if best == 0:  # not even the largest value equals itself
        return (math.nan,) * len(values_A)
    probs_A = epsilon / len(values_A) + (1.0 - epsilon) * best_A / best
    return tuple(probs_A.tolist())


def q_target(transition: QTransition, values_SA: npt.NDArray[np.float64], *, discount: float) -> float:
    """What Q(s, a) moves towards: ``r + γ max_a' Q(s', a')``, or r alone where the game ended (docs/theory/other_learners.md).

    Args:
        transition: one reply; its next state and choices are a row and the first columns of the table.
        values_SA: the table, states by actions, in units of payoffs.
        discount: γ.
    """
    if transition.next_state is None:
        return transition.payoff
    return transition.payoff + discount * float(values_SA[transition.next_state, : transition.next_choices].max())


class ValueTable(OneByOne):
    """A player with a value for each choice in each state, a table a slot; epsilon-greedy.

    Args:
        name: what to call it.
        game: the rules.
        memory: ``none`` or ``last_round``.
        shape: P tables of so many states and choices.
        initial_value: every value at the start.
    """

    def __init__(
        self, name: str, game: Game, memory: Memory, *, shape: tuple[int, int, int], initial_value: float
    ) -> None:
        self.name, self.game, self.memory = name, game, memory
        self.values: npt.NDArray[np.float64] = np.full(shape, initial_value, dtype=np.float64)
        """[P, states, A]."""
        self.epsilons = [0.0] * len(self.values)
        """Probability of a random action, for each table."""

    @abstractmethod
    def transitions(self, episode: Episode, seat: str, *, infinite_horizon: bool) -> list[QTransition | None]:
        """What a seat's replies of an episode teach, in order; None for those that teach nothing."""

    def choose(self, request: Request, state: int, choices: Sequence[Action]) -> Reply:
        """An epsilon-greedy reply, without its text."""
        slot = slot_of(request)
        probs = epsilon_greedy(self.values[slot, state, : len(choices)], epsilon=self.epsilons[slot])
        i = sample(probs, request.draw)
        return Reply("", choices[i], tokens=(i,), logprobs=(float(np.log(probs[i])),), probs=probs)


class QTable(ValueTable):
    """Values of every action in every memory state, for games whose rounds are one choice among a few actions.

    The states are the start, then those of ``own_states``.
    """

    tells_probabilities: ClassVar[bool] = True

    def __init__(
        self, name: str, game: Game, seat: str, memory: Memory, *, slots: int, initial_value: float = 0.0
    ) -> None:
        assert game.actions is not None
        self.actions = game.actions[seat]
        self.states = game.own_states(seat)
        self._line = {state: 1 + i for i, state in enumerate(self.states)}
        shape = (slots, 1 + len(self.states), len(self.actions))
        super().__init__(name, game, memory, shape=shape, initial_value=initial_value)

    def line(self, last: Joint | None) -> int:
        """Where in the table a memory state stands; a round that was not parsed counts as the start."""
        return 0 if last is None else self._line.get(last, 0)

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        reply = self.choose(request, self.line(request.observation.last), self.actions)
        return reply._replace(text=self.game.label(request.seat, self.actions[reply.tokens[0]]))

    def prompt_text(self, turn: Turn) -> str:
        """The memory state in words."""
        return state_in_words(self.states, turn.observation)

    def transitions(self, episode: Episode, seat: str, *, infinite_horizon: bool) -> list[QTransition | None]:
        """See :class:`ValueTable`; rounds that are void teach nothing."""
        index, last = self.game.seats.index(seat), len(episode.rounds) - 1
        found: list[QTransition | None] = []
        for t, (turn, payoff, outcome) in enumerate(
            zip(episode.turns[seat], episode.payoffs(seat), episode.outcomes, strict=True)
        ):
            if outcome.void or payoff is None or turn.reply.action is None:
                found.append(None)
                continue
            ends = episode.finished and t == last and not infinite_horizon
            own = own_view(index, outcome.conduct) if self.memory is Memory.LAST_ROUND else None
            action = self.actions.index(str(turn.reply.action))
            found.append(
                QTransition(self.line(turn.observation.last), action, payoff, None if ends else self.line(own))
            )
        return found


class QLearner:
    """A Q-learner, all seeds at once, a table each."""

    def __init__(self, name: str, table: ValueTable, *, seeds: Sequence[int], q: QLearning) -> None:
        self.name, self.table, self.q = name, table, q
        self.player = table
        self.slots = {seed: i for i, seed in enumerate(seeds)}
        self.updates = dict.fromkeys(seeds, 0)
        self._collected: dict[int, list[QTransition]] = {seed: [] for seed in seeds}
        self._set_epsilons()

    def epsilon(self, seed: int) -> float:
        """The probability of a random action now."""
        return linear_schedule(
            self.q.epsilon_initial, self.q.epsilon_final, step=self.updates[seed], steps=self.q.epsilon_updates
        )

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
            between targets and values; :data:`~coplay.learners.base.DIVERGED` if one of them is not finite.
        """
        metrics: UpdateMetrics = {}
        for seed, slot in self.slots.items():
            errors = [abs(self._learn(slot, transition)) for transition in self._collected[seed]]
            metrics[seed] = {"epsilon": self.epsilon(seed)}
            if errors:
                mean = sum(errors) / len(errors)
                metrics[seed]["td_error"] = mean
                if not math.isfinite(mean):
                    metrics[seed][DIVERGED] = "a difference between target and value is not finite"
            self._collected[seed] = []
            self.updates[seed] += 1
        self._set_epsilons()
        return metrics

    def _learn(self, slot: int, transition: QTransition) -> float:
        values_SA = self.table.values[slot]
        target = q_target(transition, values_SA, discount=self.q.discount)
        value = float(values_SA[transition.state, transition.action])
        error = target - value
        if math.isfinite(error):
            values_SA[transition.state, transition.action] = value + self.q.learning_rate * error
        return error

    def state_dict(self, seed: int) -> SeedState:
        """The seed's table, and its number of updates, on which the schedule of epsilon depends."""
        values = torch.from_numpy(self.table.values[self.slots[seed]].copy())
        return {"values": values, "updates": torch.tensor(self.updates[seed])}

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        self.table.values[self.slots[seed]] = state["values"].numpy()
        self.updates[seed] = int(state["updates"])
        self._set_epsilons()
