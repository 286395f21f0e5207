"""An episode of a PettingZoo environment, agent after agent or all at once, as :class:`coplay.adapters.replayed.Replayed` leads it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pettingzoo import AECEnv, ParallelEnv

from coplay.adapters.hosted import Known
from coplay.adapters.pettingzoo.words import action_words, legal_indices, observation_text
from coplay.adapters.replayed import Moment, Running
from coplay.errors import CoplayError
from coplay.games.records import Action


class _Episode(Running):
    """What both kinds have in common.

    Args:
        env: a new environment.
        seats: its possible agents.
        seed: for its ``reset``.
    """

    def __init__(self, env: Any, seats: Sequence[str], seed: int) -> None:
        self.env, self.seats = env, tuple(seats)
        self.totals = dict.fromkeys(self.seats, 0.0)
        self.indices: dict[str, dict[str, int]] = {}
        """Of each agent that is asked, the numbers of its actions by their words."""
        self.moment = self._settled(self._reset(seed))

    def step(self, actions: Mapping[int, Action]) -> None:
        """See :class:`coplay.adapters.replayed.Running`."""
        chosen = {self.seats[player]: action for player, action in actions.items()}
        self.moment = self._settled(
            self._act({seat: self.indices[seat][str(action)] for seat, action in chosen.items()})
        )

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    @abstractmethod
    def _reset(self, seed: int) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        """Begin; see :meth:`_act`."""

    @abstractmethod
    def _act(self, actions: dict[str, int]) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        """Take the actions, count what is paid. Returns of each agent that is shown something observation, info and whether it is to act."""

    def _settled(self, shown: dict[str, tuple[Any, Mapping[str, Any], bool]]) -> Moment:
        self.indices = {}
        known: dict[str, Known] = {}
        for seat, (observation, info, asked) in shown.items():
            legal: tuple[str, ...] = ()
            if asked:
                space = self.env.action_space(seat)
                size, start = int(space.n), int(space.start)
                words = action_words(self.env, info, size, start)
                self.indices[seat] = {words[i]: start + i for i in legal_indices(observation, info, size)}
                legal = tuple(self.indices[seat])
            known[seat] = Known(observation_text(observation), legal)
        return Moment(
            tuple(player for player, seat in enumerate(self.seats) if seat in self.indices),
            tuple(known.get(seat) for seat in self.seats),
            tuple(self.totals[seat] for seat in self.seats),
        )


class AECEpisode(_Episode):
    """Agents act one after another. What one is paid is what ``last()`` says at its turns, that after its end included."""

    def _reset(self, seed: int) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        self.env.reset(seed=seed)
        return self._next()

    def _act(self, actions: dict[str, int]) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        (action,) = actions.values()
        self.env.step(action)
        return self._next()

    def _next(self) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        """Go past agents that are over."""
        env = self.env
        shown: dict[str, tuple[Any, Mapping[str, Any], bool]] = {}
        for _ in range(2 * len(self.seats) + 1):
            if not env.agents:
                return shown
            agent = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            self.totals[agent] += float(reward)
            asked = not (terminated or truncated)
            shown[agent] = (observation, info, asked)
            if asked:
                return shown
            env.step(None)
        raise CoplayError(
            f"agent {env.agent_selection!r} is over, and stays among the environment's agents after step(None)"
        )


class ParallelEpisode(_Episode):
    """All agents act at once."""

    def _reset(self, seed: int) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        observations, infos = self.env.reset(seed=seed)
        return self._shown(observations, infos)

    def _act(self, actions: dict[str, int]) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        observations, rewards, _, _, infos = self.env.step(actions)
        for agent, reward in rewards.items():
            self.totals[agent] += float(reward)
        return self._shown(observations, infos)

    def _shown(self, observations: Any, infos: Any) -> dict[str, tuple[Any, Mapping[str, Any], bool]]:
        acting = set(self.env.agents)
        return {agent: (shown, infos.get(agent, {}), agent in acting) for agent, shown in observations.items()}


def episode_of(env: Any) -> type[_Episode] | None:
    """The kind of episode that an environment has; None if it is no environment of PettingZoo."""
    if isinstance(env, ParallelEnv):
        return ParallelEpisode
    return AECEpisode if isinstance(env, AECEnv) else None
