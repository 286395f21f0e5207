"""Tabular Q-learning on the last round (Watkins & Dayan, 1992): the co-player of the literature on learning in repeated games.

With s the last joint action as the seat sees it, a the own action, r the payoff and s' the joint action that followed:

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a))

and r alone as the target after an episode's last round, unless the game is taken as endless. Moves are epsilon-greedy: with
probability ε any action, all alike, else the best one; ties are shared evenly. The N parallel games of a seed share one table and are
gone through in order, round by round.

The learner: :mod:`coplay.learners.q_learner`. The page with the equation: docs/theory/other_learners.md.
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
from coplay.learners.base import SeedState
from coplay.players.base import OneByOne
from coplay.players.policy import slot_of
from coplay.players.sampling import sample

InitialValues = float | Sequence[float]
"""Values at the start: one for all, or one for each choice."""


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
    values = values_A.tolist()  # a few numbers: plain ones are compared faster than arrays
    if math.isnan(sum(values)) and any(map(math.isnan, values)):
        return (math.nan,) * len(values)
    most = max(values)
    any_of_them = epsilon / len(values)
    best = any_of_them + (1.0 - epsilon) / values.count(most)
    return tuple([best if value == most else any_of_them for value in values])


def q_target(transition: QTransition, values_SA: npt.NDArray[np.float64], *, discount: float) -> float:
    """What Q(s, a) moves towards: ``r + γ max_a' Q(s', a')``, or r alone where the game ended (docs/theory/other_learners.md).

    Args:
        transition: one reply; its next state and choices are a row and the first columns of the table.
        values_SA: the table, states by actions, in units of payoffs.
        discount: γ.
    """
    if transition.next_state is None:
        return transition.payoff
    best: float = max(values_SA[transition.next_state, : transition.next_choices].tolist())
    return transition.payoff + discount * best


class ValueTable(OneByOne):
    """A player with a value for each choice in each state, a table a slot; epsilon-greedy.

    Args:
        name: what to call it.
        game: the rules.
        memory: ``none`` or ``last_round``.
        shape: P tables of so many states and choices.
        initial: the values at the start, every one or those of the choices of each state.
    """

    def __init__(
        self, name: str, game: Game, memory: Memory, *, shape: tuple[int, int, int], initial: InitialValues
    ) -> None:
        self.name, self.game, self.memory = name, game, memory
        self.values: npt.NDArray[np.float64] = np.full(shape, initial, dtype=np.float64)
        """[P, states, A]."""
        self.epsilons = [0.0] * len(self.values)
        """Probability of a random action, for each table."""

    def state(self, slot: int) -> SeedState:
        """All that a checkpoint must hold of one table."""
        return {"values": torch.from_numpy(self.values[slot].copy())}

    def load_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state` returned."""
        self.values[slot] = state["values"].numpy()

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
        self, name: str, game: Game, seat: str, memory: Memory, *, slots: int, initial: InitialValues = 0.0
    ) -> None:
        assert game.actions is not None
        self.actions = game.actions[seat]
        self.states = game.own_states(seat)
        self._line = {state: 1 + i for i, state in enumerate(self.states)}
        shape = (slots, 1 + len(self.states), len(self.actions))
        super().__init__(name, game, memory, shape=shape, initial=initial)

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
