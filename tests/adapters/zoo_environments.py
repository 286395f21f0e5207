"""Environments of PettingZoo that are hosted in the tests, some of which cannot be played."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from coplay.adapters.pettingzoo import CoplayAECEnv, CoplayParallelEnv


def ipd() -> CoplayParallelEnv:
    return CoplayParallelEnv("ipd", rounds=4)


def auction() -> CoplayParallelEnv:
    return CoplayParallelEnv("auction", rounds=3, window=3)


def kuhn() -> CoplayAECEnv:
    return CoplayAECEnv("kuhn", rounds=2, window=2)


def mediated() -> CoplayAECEnv:
    return CoplayAECEnv("ipd-3:talk=0+mediator", rounds=2)


def in_text() -> CoplayParallelEnv:
    return CoplayParallelEnv("ipd", mode="text")


def three() -> int:
    return 3


class Race(ParallelEnv):  # type: ignore[misc]
    """Three run; who takes the most steps is out first. It is cut off after four turns.

    Args:
        broken: what is wrong with it.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "race"}

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.possible_agents = ["a", "b", "c"]
        self.render_mode = None

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(-np.inf, np.inf, (3, 2), np.float64)

    def action_space(self, agent: str) -> Any:
        return spaces.Box(0, 1) if self.broken == "continuous" else spaces.Discrete(3, start=1)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.chance = np.random.default_rng(None if self.broken == "chance" else seed)
        self.agents, self.at, self.turn = self.possible_agents[:], dict.fromkeys(self.possible_agents, 0), 0
        return self.shown(), {agent: {} for agent in self.agents}

    def shown(self) -> Any:
        if self.broken == "picture":
            return {agent: np.zeros((40, 40)) for agent in self.agents}
        wind = self.chance.random() if self.broken == "chance" else self.chance.integers(4)
        return {
            agent: np.array([[self.at[agent], self.turn], [wind, 0.1], [len(self.agents), -1]]) for agent in self.agents
        }

    def step(self, actions: Any) -> Any:
        if self.broken == "raises" and self.turn == 2:
            raise RuntimeError("the track is wet")
        assert set(actions) == set(self.agents)
        self.turn += 0 if self.broken == "endless" else 1
        for agent, action in actions.items():
            assert action in (1, 2, 3)
            self.at[agent] += action
        ahead = {agent for agent in self.agents if self.at[agent] >= 6 and self.broken != "endless"}
        observations = self.shown()
        rewards = {agent: 1.5 if agent in ahead else -0.25 * actions[agent] for agent in self.agents}
        cut = self.turn == 4
        ended = {agent: agent in ahead for agent in self.agents}
        truncated = dict.fromkeys(self.agents, cut)
        infos: dict[str, Any] = {agent: {} for agent in self.agents}
        if self.broken == "pays too much":
            rewards = dict.fromkeys(self.agents, 1e12)
        self.agents = [] if cut else [agent for agent in self.agents if agent not in ahead]
        return observations, rewards, ended, truncated, infos


class Nim(AECEnv):  # type: ignore[misc]
    """Two take one or two of the sticks in turn; who takes the last loses.

    ## Rules
    The first number is of sticks that are left, the second your lucky number.

    ## Version History
    * v0
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "nim"}

    def __init__(self, sticks: int = 5, broken: str = "") -> None:
        self.sticks, self.broken = sticks, broken
        self.possible_agents = ["first", "second"]
        self.render_mode = None

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(0, 9, (2,))

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def get_action_meanings(self) -> list[str]:
        return ["one", "two"]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        lucky = np.random.default_rng(seed).integers(10, size=2)
        self.lucky = dict(zip(self.possible_agents, lucky, strict=True))
        self.left, self.agents = self.sticks, self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Any:
        mask = np.array([0, 0] if self.broken == "mask" else [1, int(self.left > 1)], np.int8)
        return {"observation": np.array([self.left, self.lucky[agent]], np.float32), "action_mask": mask}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        assert self.left > action
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.left -= action + 1
        if self.left == 0:
            self.rewards = {agent: -1.0, other: 1.0 + 0.5 * int(self.lucky[other])}
            self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = other
