"""An environment of PettingZoo as a game of coplay; see :mod:`coplay.adapters.hosted` for what it has in common with those of other libraries.

- Seats are its possible agents. In a parallel environment all of them act at once, in an ``AECEnv`` one after another.
- Actions have the environment's words, or numbers; a mask says which are legal. What a seat reads is its observation, written out.
- A payoff is the sum of a seat's rewards over the environment's episode, however that ends, by truncation too.
- All chance comes from the seed of its ``reset``, which is dealt with the round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coplay.adapters.pettingzoo.facts import PREFIX, facts_of
from coplay.adapters.replayed import Running
from coplay.adapters.seeded import SeededGame
from coplay.text.rendering import join, lines


@dataclass(frozen=True)
class ZooGame(SeededGame):
    """See the module. Made by :func:`pettingzoo_game`."""

    name: str
    """``pettingzoo:`` and the environment, with its parameters."""
    rounds: int = 1
    """Games of an episode."""
    null_payoff: float = 0.0
    """What a seat gets for a reply that cannot be parsed."""
    description: str = field(init=False)
    """PettingZoo's name for it."""
    seats: tuple[str, ...] = field(init=False)
    """Its possible agents."""
    max_choices: int = field(init=False)
    """The most actions that an agent has."""

    def __post_init__(self) -> None:
        """Look up what the environment is."""
        facts = facts_of(self.environment)
        described = f"{facts.title}, an environment of PettingZoo. Every round is a complete episode of it."
        for key, value in {"description": described, "seats": facts.seats, "max_choices": facts.max_choices}.items():
            object.__setattr__(self, key, value)

    @property
    def environment(self) -> str:
        """The name without its prefix."""
        return self.name.partition(":")[2]

    def start(self, seed: int) -> Running:
        """A new environment, reset with that seed."""
        return facts_of(self.environment).start(seed)

    def call(self, seat: str) -> str:
        """The environment's own name of an agent."""
        return seat

    def rules(self, seat: str) -> str:
        """Who the seat is, and what the environment says of itself."""
        facts = facts_of(self.environment)
        others = [one for one in self.seats if one != seat]
        alone = f" with {join(others)}" if others else ""
        return lines(f"You are {seat}. You play {facts.title}{alone}.", facts.documentation)


def pettingzoo_game(name: str) -> ZooGame:
    """An environment of PettingZoo as a game.

    Args:
        name: one of PettingZoo's own, ``rps_v2`` or ``classic/rps-v2``; a module with ``parallel_env`` or ``env``; or ``MODULE:NAME``, a class or
            function that makes environments. Parameters stand in parentheses: ``rps_v2(num_actions=5,max_cycles=3)``.

    Returns:
        The game. A reply that cannot be parsed costs one point more than the worst of ten episodes played by chance, and than the environment's own
        penalty for an illegal action; ``null_payoff`` sets it.

    Raises:
        UsageError: if there is no such environment, or it cannot be played, saying why: its actions are not discrete, its observations are pictures, it
            fails, or is not the same when it is played again.
    """
    return ZooGame(f"{PREFIX}:{name}", null_payoff=facts_of(name).lowest - 1.0)
