"""Policies written for PettingZoo's observations, as players in the seats of any game. Needs neither PettingZoo nor Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coplay.adapters.encodings import DISCRETE, Encoding, make_encoding, rules_of
from coplay.errors import CoplayError
from coplay.games.catalogue import GameSpec
from coplay.games.memory import Memory
from coplay.games.records import Reply, Request
from coplay.players.base import OneByOne, player_error
from coplay.user_code import one_line

Policy = Callable[[Any, dict[str, Any]], Any]
"""From an observation and its info to an action, all as in the environments of :mod:`coplay.adapters.pettingzoo`."""


@dataclass(frozen=True)
class PolicyPlayer(OneByOne):
    """A policy in a seat."""

    name: str
    """What to call it in tables."""
    policy: Policy
    """Chooses the action. For replies that do not depend on the batch, take all chance from ``info["draw"]``."""
    encoding: Encoding
    """What it is shown, and how its actions are read."""

    @property
    def memory(self) -> Memory:
        """The encoding's."""
        return self.encoding.memory

    @property
    def window(self) -> int:
        """The encoding's."""
        return self.encoding.window

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        observation, info = self.encoding.shown(request)
        try:
            action = self.policy(observation, info)
        except (Exception, SystemExit) as error:  # whatever the user's code raises
            raise player_error(self.name, request, f"failed: {one_line(error)}") from error
        try:
            return self.encoding.reply(request, action)
        except CoplayError as error:
            raise player_error(self.name, request, f"returned what is no action: {error}") from None


def policy_player(
    policy: Policy,
    game: GameSpec,
    *,
    mode: str = DISCRETE,
    window: int = 1,
    memory: Memory | str = Memory.LAST_ROUND,
    rounds: int | None = None,
    name: str | None = None,
) -> PolicyPlayer:
    """A player that does what a policy says, for any seat of a game.

    Args:
        policy: called as ``policy(observation, info)``; returns the index of an action, or text.
        game: the game to be played.
        mode: ``discrete`` or ``text``, as the policy's environment had it.
        window: likewise.
        memory: likewise.
        rounds: rounds of a game, where its words or rules depend on that; by default the game's own.
        name: what to call it in tables; by default the policy's own name.

    Raises:
        UsageError: if the game cannot be played in that mode.

    Example:
        >>> import coplay
        >>> player = policy_player(lambda observation, info: info["actions"].index("defect"), "ipd", name="defector")
        >>> coplay.match("ipd", player, "tit_for_tat", rounds=5, episodes=1).summary()["seats"]["row"]["total"]
        8.0
    """
    rules, _ = rules_of(game, rounds)
    encoding = make_encoding(rules, rules.seats, mode, window=window, memory=memory)
    return PolicyPlayer(name or str(getattr(policy, "__name__", "policy")), policy, encoding)
