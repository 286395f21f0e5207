"""From the name of an environment to what a game has to know of it before anything is played; what cannot be played is refused here."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pettingzoo
from gymnasium.spaces import Discrete

from coplay.adapters.hosted import Known
from coplay.adapters.naming import name_and_parameters
from coplay.adapters.pettingzoo.episodes import episode_of
from coplay.adapters.pettingzoo.words import documentation
from coplay.adapters.replayed import Replayed, Running, sample_episodes
from coplay.errors import CoplayError, UsageError, suggestion
from coplay.games.base import MOST_PAYOFF
from coplay.user_code import load_any, load_module, own_code

PREFIX = "pettingzoo"
"""What names of these games begin with, before a colon."""

SAMPLES, MOST_MOVES = 10, 1_000
"""Episodes that are played by chance before a game is accepted, and their most moves."""


@dataclass(frozen=True)
class Facts:
    """What is known of an environment."""

    title: str
    """Its own name for itself."""
    documentation: str
    """What it says of itself to those who play."""
    seats: tuple[str, ...]
    """Its possible agents."""
    max_choices: int
    """The most actions that an agent has."""
    lowest: float
    """The lowest payoff of the sample, or what the environment takes for an illegal action if that is less."""
    start: Callable[[int], Running]
    """Begins an episode."""


@cache
def facts_of(name: str) -> Facts:
    """What is known of an environment. It has been played by chance.

    Args:
        name: see :func:`coplay.adapters.pettingzoo.game.pettingzoo_game`.

    Raises:
        UsageError: if there is no such environment, or it cannot be played, saying why.
    """
    what = f"game {PREFIX}:{name}"
    make = _maker(name, what)
    with own_code(what):
        env = make()
        kind = episode_of(env)
    if kind is None:
        raise UsageError(
            f"{what} is of type {type(env).__name__}; an environment of PettingZoo is an AECEnv or a ParallelEnv"
        )
    with own_code(what):
        seats = tuple(map(str, env.possible_agents))
        spaces = {seat: env.action_space(seat) for seat in seats}
        told, illegal = documentation(env), _illegal_reward(env)
        title = str((getattr(env, "metadata", None) or {}).get("name") or name)
        env.close()
    for seat, space in spaces.items():
        if not isinstance(space, Discrete):
            raise UsageError(
                f"{what} cannot be played: the actions of {seat} are of type {type(space).__name__}, and only Discrete ones have words"
            )

    def start(seed: int) -> Running:
        return kind(make(), seats, seed)

    try:
        ends = sample_episodes(lambda seed: Replayed(start, what, seed), _any_action, SAMPLES, most=MOST_MOVES)
    except CoplayError as error:
        said = str(error).removeprefix(f"{what}: ")
        raise UsageError(f"{what} cannot be played: {said.removeprefix(what).strip()}") from None
    returns = [paid for end in ends for paid in end.moment.returns]
    if not all(abs(paid) <= MOST_PAYOFF for paid in returns):
        raise UsageError(f"{what} cannot be played: it pays {max(returns, key=abs)}")
    size = max(int(space.n) for space in spaces.values())
    return Facts(title, told, seats, size, min(*returns, illegal), start)


def _any_action(known: Known, chance: Any) -> str:
    found: str = chance.choice(known.legal)
    return found


def _illegal_reward(env: Any) -> float:
    """What PettingZoo's ``TerminateIllegalWrapper`` takes for an illegal action; 0 without one."""
    while env is not None:
        if hasattr(env, "_illegal_value"):
            return float(env._illegal_value)
        env = vars(env).get("env") or vars(env).get("aec_env")
    return 0.0


def _maker(name: str, what: str) -> Callable[[], Any]:
    """What makes a new environment."""
    written, settings = name_and_parameters(name, what, example="rps_v2(num_actions=5,max_cycles=3)")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it greets on standard output
    place, colon, attribute = _place(written, what).partition(":")
    try:
        module = load_module(place)
    except UsageError as error:
        family = place.split(".")[1] if place.startswith("pettingzoo.") else ""
        hint = f"; PettingZoo's {family} family: pip install 'pettingzoo[{family}]'" if family else ""
        raise UsageError(f"{what}: {error}{hint}") from None
    if not colon:
        attribute = "parallel_env" if hasattr(module, "parallel_env") else "env"
    found = load_any(f"{place}:{attribute}")
    if not callable(found):
        raise UsageError(
            f"{what}: {place}:{attribute} is of type {type(found).__name__}; name a class or function that makes an environment"
        )
    return partial(found, **settings)


def _place(written: str, what: str) -> str:
    """The module, and what it has, that a name stands for: one of PettingZoo's own, or the name as it is."""
    own = {one: f"pettingzoo.{family}.{one}" for family, one in _own_environments()}
    short = written.rpartition("/")[2].replace("-", "_")
    if short in own:
        return own[short]
    if "/" in written or (":" not in written and "." not in written and not _is_module(written)):
        classic = [one for one, place in own.items() if ".classic." in place]
        raise UsageError(
            f"{what}: PettingZoo has no environment {written!r}, and there is no module of that name.{suggestion(short, own)} PettingZoo's"
            f" classic ones: {', '.join(classic)}; your own: {PREFIX}:MODULE or {PREFIX}:MODULE:NAME."
        )
    return written


def _is_module(name: str) -> bool:
    if (Path.cwd() / f"{name}.py").exists():
        return True
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _own_environments() -> list[tuple[str, str]]:
    """Family and name of PettingZoo's own environments, by their files: importing them may need more than is installed."""
    root = Path(pettingzoo.__file__).parent
    files = sorted(root.glob("*/*_v[0-9]*.py"))
    return [(file.parent.name, file.stem) for file in files]
