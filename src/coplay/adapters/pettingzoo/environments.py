"""Any game as an environment of PettingZoo, every seat an agent: all at once (:class:`CoplayParallelEnv`), or one after another (:class:`CoplayAECEnv`).

Agents are the game's seats. What one does is hidden from the others until the phase is over, and what is private stays so. Replies that cannot be
parsed cost what the game says. A round that is void for a seat pays it 0, with ``void`` in its info. Episodes end by termination: their length is
part of the game.
"""

from __future__ import annotations

import secrets
from typing import Any

from coplay.adapters.encodings import DISCRETE, DiscreteEncoding, make_encoding, rules_of
from coplay.adapters.outside import OutsidePlay
from coplay.errors import UsageError, missing_extra
from coplay.games.catalogue import GameSpec
from coplay.games.memory import Memory
from coplay.games.records import Round
from coplay.rng import draws

try:
    from pettingzoo import AECEnv, ParallelEnv

    from coplay.adapters.spaces import action_space, observation_space
except ImportError:
    raise missing_extra("pettingzoo", "pettingzoo") from None

MOST_SEED = 2**31
"""Seeds that are chosen where none is given are below this."""


class CoplayEnv:
    """What both kinds of environment have in common: their arguments, spaces and text.

    Args:
        game: the game, by name or object; see :func:`coplay.make_game`.
        mode: ``discrete``: features and the indices of actions; ``text``: prompts and replies.
        window: H, how many of the last rounds the features show; in mode ``discrete``.
        memory: what prompts tell of the past; in mode ``text``.
        rounds: most rounds of an episode; by default the game's own.
        render_mode: ``ansi`` for :meth:`render`.

    Raises:
        UsageError: for an unknown game, or one that cannot be played in this mode.
    """

    def __init__(
        self,
        game: GameSpec,
        *,
        mode: str = DISCRETE,
        window: int = 1,
        memory: Memory | str = Memory.LAST_ROUND,
        rounds: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        rules, length = rules_of(game, rounds)
        encoding = make_encoding(rules, rules.seats, mode, window=window, memory=memory)
        self.play = OutsidePlay(encoding, {}, rounds=length)
        """The game in progress: complete, with what is private."""
        self.metadata = {
            "name": rules.name,
            "description": rules.description,
            "render_modes": ["ansi"],
            "is_parallelizable": _asks_all(self.play),
        }
        self.render_mode = render_mode
        self.possible_agents = list(rules.seats)
        self.agents: list[str] = []
        self.observation_spaces = {seat: observation_space(encoding, seat) for seat in rules.seats}
        self.action_spaces = {seat: action_space(encoding, seat) for seat in rules.seats}

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def feature_names(self, agent: str) -> tuple[str, ...]:
        """What the numbers of an agent's observation stand for, in mode ``discrete``."""
        encoding = self.play.encoding
        return encoding.names[agent] if isinstance(encoding, DiscreteEncoding) else ()

    def render(self) -> str | None:
        """The rounds that are over as text: what was done, and what it paid; None without a render mode."""
        return None if self.render_mode is None else rendered(self.play)

    def close(self) -> None:
        """Nothing is kept open."""

    def _begin(self, seed: int | None) -> None:
        if seed is None and not self.play.seeded:
            seed = secrets.randbelow(MOST_SEED)
        self.play.reset(seed)
        self.agents = list(self.possible_agents)

    def _infos(self, void: dict[str, bool]) -> dict[str, dict[str, Any]]:
        return {seat: {**self.play.infos[seat], "void": void[seat]} for seat in self.possible_agents}


class CoplayParallelEnv(CoplayEnv, ParallelEnv):  # type: ignore[misc]
    """A game whose phases ask all seats at once; see :class:`CoplayAECEnv` for all other games, and :class:`CoplayEnv` for its arguments.

    The game is played with :meth:`reset` and :meth:`step`, as PettingZoo says. ``reset(seed)`` begins the games of
    ``coplay.match(…, seed=seed)``, and each further ``reset()`` the next one of these.
    """

    def __init__(self, game: GameSpec, **settings: Any) -> None:
        super().__init__(game, **settings)
        if not self.metadata["is_parallelizable"]:
            raise UsageError(f"in game {self.play.game.name!r} seats act one after another; use CoplayAECEnv")

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode; ``options`` are not used.

        Returns:
            Observations and infos by agent.
        """
        self._begin(seed)
        return dict(self.play.shown), self._infos(dict.fromkeys(self.possible_agents, False))

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play a phase.

        Args:
            actions: one for each agent.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent; all empty when the episode was over before.

        Raises:
            UsageError: if an agent's action is missing, or a later phase does not ask all agents.
            CoplayError: for what is no action of the agent at all.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        asked = list(self.play.waiting)
        missing = [seat for seat in asked if seat not in actions]
        if missing:
            raise UsageError(f"step() needs an action of each agent; there is none of {', '.join(missing)}")
        for seat in asked:
            self.play.act(seat, actions[seat])
        over = self.play.over
        if not over and set(self.play.waiting) != set(self.possible_agents):
            raise UsageError(f"in game {self.play.game.name!r} not all seats act in each phase; use CoplayAECEnv")
        rewards, void = self.play.settled()
        seats = self.possible_agents
        if over:
            self.agents = []
        return (
            dict(self.play.shown),
            rewards,
            dict.fromkeys(seats, over),
            dict.fromkeys(seats, False),
            self._infos(void),
        )


class CoplayAECEnv(CoplayEnv, AECEnv):  # type: ignore[misc]
    """Any game, its agents asked one after another; seats that act at once are asked in the game's order and learn of each other afterwards.

    An agent that is not asked now is shown what it was shown last, with nothing legal. ``reset(seed)`` begins the games of
    ``coplay.match(…, seed=seed)``, and each further ``reset()`` the next one of these. It takes the arguments of :class:`CoplayEnv`.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; ``options`` are not used."""
        self._begin(seed)
        seats = self.possible_agents
        self.rewards = dict.fromkeys(seats, 0.0)
        self._cumulative_rewards = dict.fromkeys(seats, 0.0)
        self.terminations = dict.fromkeys(seats, False)
        self.truncations = dict.fromkeys(seats, False)
        self.infos = self._infos(dict.fromkeys(seats, False))
        self._skip_agent_selection = None
        self.agent_selection = next(iter(self.play.waiting))

    def observe(self, agent: str) -> Any:
        """What an agent knows: as it is asked now, or was asked last."""
        return self.play.shown[agent]

    def step(self, action: Any) -> None:
        """Take the action of ``agent_selection``; None once its episode is over.

        Raises:
            CoplayError: for what is no action of the agent at all.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self.play.act(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards, void = self.play.settled()
        self._accumulate_rewards()
        self.infos = self._infos(void)
        if self.play.over:
            self.terminations = dict.fromkeys(self.possible_agents, True)
            self._deads_step_first()
        else:
            self.agent_selection = next(iter(self.play.waiting))


def rendered(play: OutsidePlay) -> str:
    """The rounds of an episode that are over, a line each, all that was done and paid."""

    def line(one: Round) -> str:
        acts = "; ".join(f"{act.seat} {act.phase}: {play.game.show(act.action)}" for act in one.acts)
        paid = ", ".join(f"{seat} {'void' if x is None else f'{x:g}'}" for seat, x in (one.payoffs or {}).items())
        return f"round {one.number + 1}: {acts} | {paid}"

    return "\n".join(map(line, play.episode.rounds))


def _asks_all(play: OutsidePlay) -> bool:
    """Whether the first phase of a game asks all seats."""
    game = play.game
    first = Round(0, game.deal(draws(0, "first phase", n=game.draws).tolist(), ()))
    phase = game.next_phase(first)
    return phase is not None and set(phase.seats) == set(game.seats)
