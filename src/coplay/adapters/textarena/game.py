"""An environment of TextArena as a game of coplay; see :mod:`coplay.adapters.hosted` for what it has in common with those of other libraries.

- Seats are its players with its numbers, ``player-0`` and so on, which act one after another. What they read is TextArena's text.
- Replies are open: TextArena reads the last 1,000 characters of any text, says what is wrong with it, and takes what that costs itself.
- A payoff is the player's score where the environment keeps ``scores``; elsewhere TextArena's reward, which tells who won.
- Every episode has an environment of its own, and its own random numbers: a used one keeps the texts of the game before, and ``reset`` seeds
  Python's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from coplay.adapters.hosted import Known
from coplay.adapters.naming import name_and_parameters
from coplay.adapters.replayed import Moment, Replayed, Running, sample_episodes
from coplay.adapters.seeded import SeededGame
from coplay.adapters.textarena.package import MOST_CHARACTERS, textarena
from coplay.errors import CoplayError, UsageError, suggestion
from coplay.games.records import Action, Phase, Request, Round
from coplay.text.rendering import lines
from coplay.user_code import own_code

PREFIX = "textarena"
"""What names of these games begin with, before a colon."""

PLAYERS = "players"
"""The parameter that says how many play; all others are the environment's own."""

COUNTS = (2, 3, 4, 5, 6, 1)
"""Numbers of players that are tried where none is given, in this order."""

SAMPLES, MOST_MOVES = 3, 1_000
"""Episodes that are played by chance before a game is accepted, and their most moves."""

NONSENSE = ("[cooperate]", "[0]", "[1 1]", "hello")
"""What is replied in these."""


class ArenaEpisode(Running):
    """An episode in progress.

    Args:
        env: a new environment.
        players: how many play.
        seed: for its ``reset``.
    """

    def __init__(self, env: Any, players: int, seed: int) -> None:
        self.env, self.players = env, players
        env.reset(num_players=players, seed=seed)
        self.moment = self._asked((0.0,) * players)

    def step(self, actions: Mapping[int, Action]) -> None:
        """Give the reply of the player that is asked."""
        (text,) = actions.values()
        done, _ = self.env.step(action=str(text))
        self.moment = self._over() if done else self._asked(self.moment.returns)

    def close(self) -> None:
        """It holds nothing open; its rewards were read before."""

    def _asked(self, returns: tuple[float, ...]) -> Moment:
        player, text = self.env.get_observation()
        known = [Known(str(text).strip(), ()) if one == player else None for one in range(self.players)]
        return Moment((player,), tuple(known), returns)

    def _over(self) -> Moment:
        rewards, _ = self.env.close()
        paid = (self.env.state.game_state or {}).get("scores")
        found = paid if isinstance(paid, Mapping) and set(paid) == set(range(self.players)) else rewards
        return Moment((), (None,) * self.players, tuple(float(found[one]) for one in range(self.players)))


@dataclass(frozen=True)
class ArenaGame(SeededGame):
    """See the module. Made by :func:`textarena_game`."""

    name: str
    """``textarena:`` and the environment, with its parameters."""
    rounds: int = 1
    """Games of an episode."""
    description: str = field(init=False)
    """TextArena's name for it."""
    seats: tuple[str, ...] = field(init=False)
    """Its players."""

    null_payoff = 0.0

    def __post_init__(self) -> None:
        """Look up how many play."""
        name, _, players = _facts(self.environment)
        described = f"{name}, an environment of TextArena. Every round is a complete game."
        object.__setattr__(self, "description", described)
        object.__setattr__(self, "seats", tuple(f"player-{number}" for number in range(players)))

    @property
    def environment(self) -> str:
        """The name without its prefix."""
        return self.name.partition(":")[2]

    def start(self, seed: int) -> Running:
        """A new environment, reset with that seed."""
        return _begun(self.environment, seed)

    def choices(self, request: Request) -> Sequence[Action] | None:
        """None: replies are open."""
        return None

    def examples(self, request: Request) -> Sequence[Action]:
        """Some texts, which need not mean anything in the game."""
        return NONSENSE

    def parse_action(self, request: Request, text: str) -> Action | None:
        """What TextArena reads of it; every reply is an action."""
        return text[-MOST_CHARACTERS:]

    def render_action(self, request: Request, action: Action) -> str:
        """The text itself."""
        return str(action)

    def rules(self, seat: str) -> str:
        """Nothing: TextArena's text begins with the rules."""
        return ""

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """TextArena's text, with all that came before in the game."""
        known: Known = now.deal.known[-1]
        return lines(known.text)


def textarena_game(name: str) -> ArenaGame:
    """An environment of TextArena as a game.

    Args:
        name: its id, such as ``IteratedPrisonersDilemma-v0``, with parameters of its own in parentheses, and ``players``, how many play; by default
            two, or the first number above that it takes.

    Raises:
        UsageError: if TextArena is not installed or has no such environment, or it cannot be played, saying why.
    """
    _facts(name)
    return ArenaGame(f"{PREFIX}:{name}")


def _begun(environment: str, seed: int) -> Running:
    name, settings, players = _facts(environment)
    return ArenaEpisode(textarena().make(name, **settings), players, seed)


@cache
def _facts(environment: str) -> tuple[str, dict[str, Any], int]:
    """The id, its parameters, and how many play. It has been played by chance."""
    arena, what = textarena(), f"game {PREFIX}:{environment}"
    name, settings = name_and_parameters(environment, what, example="IteratedPrisonersDilemma-v0(num_rounds=3)")
    known = [one for one in arena.envs.registration.ENV_REGISTRY if not one.endswith(("-raw", "-train"))]
    if name not in arena.envs.registration.ENV_REGISTRY:
        raise UsageError(f"{what}: TextArena has no environment {name!r}.{suggestion(name, known)}")
    wanted = settings.pop(PLAYERS, None)
    failed: CoplayError | None = None
    for players in COUNTS if wanted is None else (wanted,):

        def start(seed: int, players: int = players) -> Running:
            with own_code("TextArena"):
                return ArenaEpisode(arena.make(name, **settings), players, seed)

        try:
            sample_episodes(lambda seed, start=start: Replayed(start, what, seed), _anything, SAMPLES, most=MOST_MOVES)  # type: ignore[misc]
        except CoplayError as error:
            failed = failed or error
        else:
            return name, settings, players
    raise UsageError(f"{what} cannot be played: {str(failed).removeprefix(what).lstrip(': ')}") from None


def _anything(known: Known, chance: random.Random) -> str:
    return chance.choice(NONSENSE)
