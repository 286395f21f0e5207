"""A game in which a model that verifiers asks sits in one seat, and players of coplay in the others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from coplay.adapters.encodings import TextEncoding, rules_of
from coplay.adapters.outside import OutsidePlay, others_of, seat_of
from coplay.adapters.verifiers.package import vf
from coplay.adapters.verifiers.tasks import GameTask, GameTasksetConfig
from coplay.games.memory import Memory

ID = "coplay-verifiers"
"""The name by which verifiers finds this environment."""

PAYOFF = "payoff"
"""The name of the reward: the sum of the seat's payoffs."""


class SeatEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The games, and the model that plays them."""

    taskset: GameTasksetConfig = GameTasksetConfig(id=ID)
    """The games; see :class:`coplay.adapters.verifiers.tasks.GameTasksetConfig`."""
    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The model in the seat. It needs no machine of its own."""


class SeatEnv(vf.Env[SeatEnvConfig]):  # type: ignore[misc]
    """See the module. A game is a conversation: the rules and what is asked first, the model's reply, what came of it and what is asked next.

    Args:
        config: see :class:`SeatEnvConfig`.

    Raises:
        UsageError: for an unknown game, seat or player.
    """

    def __init__(self, config: SeatEnvConfig) -> None:
        super().__init__(config)
        wanted = config.taskset
        self.game, self.rounds = rules_of(wanted.game, wanted.rounds)
        self.seat = seat_of(self.game, wanted.seat)
        self._others = others_of(self.game, self.seat, wanted.against)
        self._turn = asyncio.Lock()

    async def run(self, task: GameTask, agents: Any) -> None:
        """Play a game. Its payoffs are recorded as the reward, however it ends; ``finished`` says whether all of it was played."""
        play = OutsidePlay(TextEncoding(self.game, memory=Memory.CHAT), self._others, rounds=self.rounds)
        await self._at_once(play.reset, task.data.seed, game=task.data.number)
        async with agents.player.interaction(task) as interaction:
            while not play.over:
                asked = play.infos[self.seat]["messages"][-1]["content"]
                segment = await interaction.turn(asked)
                if segment.terminated:
                    break
                await self._at_once(play.act, self.seat, _reply(segment))
        _record(interaction.trace, play, self.seat)

    async def _at_once(self, call: Any, *args: Any, **named: Any) -> None:
        """Let coplay's players act in a thread, one game at a time: they may take long, and share what they are made of."""
        async with self._turn:
            await asyncio.to_thread(call, *args, **named)


def _reply(segment: Any) -> str:
    """What the model replied, as it came."""
    for message in reversed(segment.messages):
        if message.role == "assistant":
            return message.content if isinstance(message.content, str) else ""
    return ""


def _record(trace: Any, play: OutsidePlay, seat: str) -> None:
    episode = play.episode
    turns = episode.turns[seat]
    trace.record_reward(PAYOFF, episode.total(seat))
    trace.record_metrics(
        {
            "finished": float(play.over),
            "rounds": float(len(episode.rounds)),
            "illegal": sum(turn.reply.action is None for turn in turns) / max(1, len(turns)),
            **{f"payoff/{other}": episode.total(other) for other in play.game.seats if other != seat},
        }
    )
    trace.info["rounds"] = [
        {
            "acts": [{"seat": act.seat, "phase": act.phase, "action": play.game.show(act.action)} for act in one.acts],
            "payoffs": dict(one.payoffs or {}),
        }
        for one in episode.rounds
    ]


def environment(
    game: str,
    seat: str | None = None,
    *,
    against: str | Sequence[str] | Mapping[str, str] = "tit_for_tat",
    rounds: int | None = None,
    games: int = 100,
    seed: int = 0,
) -> SeatEnv:
    """A seat of a game as an environment of verifiers.

    Its tasks are the games of ``coplay.match(game, …, seed=seed)``: the same deals, and the same random numbers for the other players.

    Args:
        game: the game by name, as :func:`coplay.make_game` takes it.
        seat: the model's seat; by default the game's first.
        against: who sits in the other seats, by the names that :func:`coplay.match` takes: one for all, one for each in the game's order, or by seat.
            Runs, endpoints and objects of your own (``MODULE:NAME``) are such names too.
        rounds: most rounds of a game; by default the game's own.
        games: how many tasks there are.
        seed: the seed.

    Returns:
        The environment. The reward of a rollout is ``payoff``, the sum of the seat's payoffs.

    Raises:
        UsageError: if verifiers is not installed, or for an unknown game, seat or player.
    """
    others = against if isinstance(against, str) else dict(against) if isinstance(against, Mapping) else list(against)
    settings = {"id": ID, "game": game, "seat": seat, "against": others, "rounds": rounds, "games": games, "seed": seed}
    return SeatEnv(SeatEnvConfig(taskset=GameTasksetConfig(**settings)))


def load_environment(config: SeatEnvConfig | None = None, **settings: Any) -> SeatEnv:
    """The same, as loaders of environments call it: with a config, or with the arguments of :func:`environment`."""
    return environment(**settings) if config is None else SeatEnv(config)
